package server

import (
	"context"
	"errors"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// ErrorDomain is the domain of every ErrorInfo.
const ErrorDomain = "retrial.dev"

// statuses maps each domain code to its status and the reason of its ErrorInfo. It is the only such map.
var statuses = map[fixture.Code]struct {
	code   codes.Code
	reason string
}{
	fixture.CodeUnknown:         {codes.Internal, "INTERNAL"},
	fixture.CodeInvalid:         {codes.InvalidArgument, "INVALID"},
	fixture.CodeNotFound:        {codes.NotFound, "NOT_FOUND"},
	fixture.CodeExists:          {codes.AlreadyExists, "ALREADY_EXISTS"},
	fixture.CodeConflict:        {codes.Aborted, "CONFLICT"},
	fixture.CodePrecondition:    {codes.FailedPrecondition, "PRECONDITION"},
	fixture.CodeCorrupt:         {codes.DataLoss, "CORRUPT"},
	fixture.CodeUnavailable:     {codes.Unavailable, "UNAVAILABLE"},
	fixture.CodeUnauthenticated: {codes.Unauthenticated, "UNAUTHENTICATED"},
	fixture.CodeDenied:          {codes.PermissionDenied, "DENIED"},
	fixture.CodeBusy:            {codes.ResourceExhausted, "BUSY"},
	fixture.CodeTooLarge:        {codes.InvalidArgument, "TOO_LARGE"},
}

// maxErrorText bounds the message of a status, and maxViolation that of a field violation: both travel in a trailer.
const (
	maxErrorText = 6 << 10
	maxViolation = 1 << 10
)

// toStatus turns a domain error into a status. An error that the domain does not know is logged, and the caller is told
// nothing of it.
func toStatus(log *zap.Logger, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	code := fixture.CodeOf(err)
	if code == fixture.CodeUnknown {
		if s, ok := status.FromError(err); ok {
			return s.Err()
		}
		log.Error("internal error", zap.Error(err))
		return withDetails(status.New(codes.Internal, "internal error; the server's log says more"), statuses[code].reason, nil)
	}
	msg := err.Error()
	msg = strings.ToValidUTF8(fixture.Cut(msg, maxErrorText), "\uFFFD")
	m := statuses[code]
	if code == fixture.CodeCorrupt {
		log.Error("damaged store", zap.Error(err))
	}
	return withDetails(status.New(m.code, msg), m.reason, err)
}

func withDetails(s *status.Status, reason string, err error) error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: ErrorDomain}
	var e *fixture.Error
	if errors.As(err, &e) && e.Field != "" {
		violation := &errdetails.BadRequest_FieldViolation{Field: e.Field, Description: strings.ToValidUTF8(fixture.Cut(e.Err.Error(), maxViolation), "\uFFFD")}
		if with, detailErr := s.WithDetails(info, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{violation}}); detailErr == nil {
			return with.Err()
		}
	}
	if with, detailErr := s.WithDetails(info); detailErr == nil {
		return with.Err()
	}
	return s.Err()
}

// stamped adds the request's id to the ErrorInfo of a status of ours, so that who reports the error can be found in the log.
func stamped(err error, requestID string) error {
	s, ok := status.FromError(err)
	if err == nil || !ok || requestID == "" {
		return err
	}
	p := s.Proto()
	for i, d := range p.GetDetails() {
		var info errdetails.ErrorInfo
		if d.UnmarshalTo(&info) != nil || info.GetDomain() != ErrorDomain {
			continue
		}
		info.Metadata = map[string]string{"request_id": requestID}
		if with, detailErr := anypb.New(&info); detailErr == nil {
			p.Details[i] = with
		}
	}
	return status.ErrorProto(p)
}

func invalid(field string, err error) error {
	return &fixture.Error{Code: fixture.CodeInvalid, Op: "request", Field: field, Err: err}
}

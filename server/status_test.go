package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Every code has a status and a reason of its own, so that a new one cannot be forgotten.
func TestEveryCodeHasAStatus(t *testing.T) {
	reasons := map[string]fixture.Code{}
	for _, code := range fixture.Codes() {
		m, ok := statuses[code]
		if !ok || m.code == codes.OK || m.reason == "" {
			t.Errorf("code %d has no status", code)
			continue
		}
		if other, twice := reasons[m.reason]; twice {
			t.Errorf("codes %d and %d have the reason %s", code, other, m.reason)
		}
		reasons[m.reason] = code
		if code == fixture.CodeUnknown {
			continue
		}
		err := toStatus(zap.NewNop(), fmt.Errorf("open version 7: %w", &fixture.Error{Code: code, Op: "commit", Subject: "f-1", Field: "verdict", Err: errors.New("missing")}))
		s := status.Convert(err)
		if s.Code() != m.code || !strings.Contains(s.Message(), "commit f-1: field verdict: missing") {
			t.Errorf("code %d: got %v", code, err)
		}
		info, violation := details(s)
		if info.GetReason() != m.reason || info.GetDomain() != ErrorDomain || violation.GetField() != "verdict" {
			t.Errorf("code %d: details %v, %v", code, info, violation)
		}
	}
	if len(statuses) != len(fixture.Codes()) {
		t.Error("the map has codes that do not exist")
	}
}

func details(s *status.Status) (info *errdetails.ErrorInfo, violation *errdetails.BadRequest_FieldViolation) {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.BadRequest:
			violation = d.GetFieldViolations()[0]
		}
	}
	return info, violation
}

// What the domain does not know is logged and not told; what the caller did itself comes back as it is.
func TestStatusOfOtherErrors(t *testing.T) {
	core, logs := observer.New(zap.ErrorLevel)
	err := toStatus(zap.New(core), errors.New("password=hunter2"))
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "hunter2") || logs.Len() != 1 {
		t.Errorf("got %v, %d lines logged", err, logs.Len())
	}
	for in, want := range map[error]codes.Code{
		fmt.Errorf("send: %w", context.Canceled):         codes.Canceled,
		fmt.Errorf("send: %w", context.DeadlineExceeded): codes.DeadlineExceeded,
		status.Error(codes.ResourceExhausted, "message"): codes.ResourceExhausted,
	} {
		if got := status.Code(toStatus(zap.NewNop(), in)); got != want {
			t.Errorf("%v: got %s, want %s", in, got, want)
		}
	}
	if toStatus(zap.NewNop(), nil) != nil {
		t.Error("no error became one")
	}
	long := toStatus(zap.NewNop(), fixture.NewError(fixture.CodeInvalid, "", "", errors.New(strings.Repeat("x", 1<<20))))
	if n := len(status.Convert(long).Message()); n > maxErrorText+20 {
		t.Errorf("a message of %d bytes would travel in a trailer", n)
	}
}

// A panic in a handler is an internal error and no more.
func TestPanicIsAnInternalError(t *testing.T) {
	core, logs := observer.New(zap.ErrorLevel)
	err := toStatus(zap.New(core), recovered(zap.New(core), "/m", func() error { panic("secret") }))
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") || logs.FilterMessage("panic in a handler").Len() != 1 {
		t.Errorf("got %v", err)
	}
}

package checkerhost

import (
	"context"
	"errors"
	"io"
	"maps"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// checker is a Host with its parameters: a replayer.Checker.
type checker struct {
	h          *Host
	parameters map[string][]byte
}

// Description implements replayer.Checker.
func (c *checker) Description() replayer.Description {
	d := c.h.desc
	parameters := make(map[string]string, len(c.parameters))
	for name, value := range c.parameters {
		parameters[name] = string(value)
	}
	return replayer.Description{
		Name: d.GetName(), Version: d.GetVersion(), BuildDigest: d.GetBuildDigest(),
		Verdicts: d.GetVerdicts(), ReasonCodes: d.GetReasonCodes(), CallsStubs: d.GetCallsStubs(),
		ConfigurationVersion: d.GetConfigurationVersion(), Parameters: parameters,
	}
}

// Open implements replayer.Checker.
func (c *checker) Open(ctx context.Context) (replayer.Stream, error) {
	// The stream ends with the run, but the checker is not told of the run's deadline: one that hits it first would be
	// taken for the run.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, cancel)
	s, err := c.h.conn.NewStream(inner, &checkerv1.CheckerService_ServiceDesc.Streams[0], checkerv1.CheckerService_Check_FullMethodName, grpc.ForceCodecV2(newCodec()))
	if err != nil {
		return nil, c.h.fault(ctx, err)
	}
	open := &checkerv1.CheckRequest{Open: &checkerv1.Open{Parameters: maps.Clone(c.parameters)}}
	if err := s.SendMsg(open); err != nil && !errors.Is(err, io.EOF) {
		return nil, c.h.fault(ctx, err)
	}
	return &stream{ctx: ctx, h: c.h, s: s}, nil
}

type stream struct {
	ctx context.Context // the caller's: that of s ends with the stream
	h   *Host
	s   grpc.ClientStream
	in  answers
}

// Send implements replayer.Stream.
func (s *stream) Send(batch []replayer.Request) error {
	err := s.s.SendMsg(requests(batch))
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.h.fault(s.ctx, err)
}

// CloseSend implements replayer.Stream.
func (s *stream) CloseSend() error { return s.s.CloseSend() }

// Recv implements replayer.Stream.
func (s *stream) Recv() ([]replayer.Answer, error) {
	err := s.s.RecvMsg(&s.in)
	switch {
	case err == nil:
		return s.in.list, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, s.h.fault(s.ctx, err)
	}
}

// fault says what a broken stream is: the caller's own cancellation, or the checker's fault.
func (h *Host) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	code := gate.CheckerFailed
	switch status.Code(err) {
	case codes.Internal, codes.ResourceExhausted, codes.Unimplemented, codes.InvalidArgument, codes.Canceled, codes.DeadlineExceeded:
		code = gate.CheckerProtocol
	}
	return &replayer.Fault{Code: code, Message: h.explain(err).Error()}
}

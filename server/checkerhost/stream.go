package checkerhost

import (
	"context"
	"errors"
	"io"
	"maps"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
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
		Verdicts: d.GetVerdicts(), ReasonCodes: d.GetReasonCodes(),
		ConfigurationVersion: d.GetConfigurationVersion(), Parameters: parameters,
	}
}

// Open implements replayer.Checker.
func (c *checker) Open(ctx context.Context) (replayer.Stream, error) {
	// The stream ends with the run, but the checker is not told of the run's deadline: one that hits it first would be
	// taken for the run.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, cancel)
	losses := c.h.link.losses()
	s, err := c.h.conn.NewStream(inner, &checkerv1.CheckerService_ServiceDesc.Streams[0], checkerv1.CheckerService_Check_FullMethodName, grpc.ForceCodecV2(newCodec()))
	if err != nil {
		cancel()
		return nil, unopened(c.h.fault(ctx, err, losses))
	}
	if err := c.h.recognise(ctx); err != nil {
		cancel()
		return nil, err
	}
	open := &checkerv1.CheckRequest{Open: &checkerv1.Open{Parameters: maps.Clone(c.parameters)}}
	if err := s.SendMsg(open); err != nil && !errors.Is(err, io.EOF) {
		return nil, c.h.fault(ctx, err, losses)
	}
	return &stream{ctx: ctx, h: c.h, s: s, losses: losses}, nil
}

// unopened says of the fault of a stream that never was whether the checker is lost: it was asked nothing, whatever became of
// the connection.
func unopened(err error) error {
	var fault *replayer.Fault
	if errors.As(err, &fault) && fault.Code == gate.CheckerFailed {
		fault.Lost = true
	}
	return err
}

type stream struct {
	ctx    context.Context // the caller's: that of s ends with the stream
	h      *Host
	s      grpc.ClientStream
	losses int64 // of the host's connections, before the stream was opened
	in     answers
}

// Send implements replayer.Stream.
func (s *stream) Send(batch []replayer.Request) error {
	err := s.s.SendMsg(requests(batch))
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.h.fault(s.ctx, err, s.losses)
}

// CloseSend implements replayer.Stream.
func (s *stream) CloseSend() error { return s.s.CloseSend() }

// Recv implements replayer.Stream.
func (s *stream) Recv() ([]replayer.Answer, error) {
	err := s.s.RecvMsg(&s.in)
	switch {
	case err == nil:
		// A stream of which nothing was sent when its connection was lost, grpc opens on the next one.
		return s.in.list, s.h.recognise(s.ctx)
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, s.h.fault(s.ctx, err, s.losses)
	}
}

// recognise asks a checker again who it is where the connection is not the one on which it said so: another build may listen
// there by now, and answer in the name of the one that was described.
func (h *Host) recognise(ctx context.Context) error {
	n := h.link.connections()
	if n == h.described.Load() {
		return nil
	}
	losses := h.link.losses()
	d, err := h.ask(ctx)
	switch {
	case err != nil:
		return h.fault(ctx, err, losses)
	case !proto.Equal(d, h.desc):
		return &replayer.Fault{Code: gate.CheckerProtocol, Message: "the connection was lost, and what listens there now describes itself otherwise than before"}
	}
	h.described.Store(n)
	return nil
}

// fault says what a broken stream is: the caller's own cancellation, or the checker's fault. losses are those of the host's
// connections before the stream was opened.
func (h *Host) fault(ctx context.Context, err error, losses int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if breach := h.link.broken(); breach != nil {
		return &replayer.Fault{Code: gate.CheckerProtocol, Message: fixture.Printable(breach.Error(), 500)}
	}
	code, lost := gate.CheckerFailed, false
	switch status.Code(err) {
	case codes.Internal, codes.ResourceExhausted, codes.Unimplemented, codes.InvalidArgument, codes.Canceled, codes.DeadlineExceeded:
		code = gate.CheckerProtocol
	case codes.Unavailable:
		lost = h.link.hasLost(losses)
	}
	return &replayer.Fault{Code: code, Message: h.explain(err).Error(), Lost: lost}
}

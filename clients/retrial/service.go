package retrial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// Results are sent when a batch is done, when there are this many bytes of them, or when the first of them is this old.
const (
	flushBytes = 1 << 20
	flushAfter = 20 * time.Millisecond
)

// service is the contract over a Checker.
type service struct {
	checkerv1.UnimplementedCheckerServiceServer
	checker Checker
	begin   func() // called when the host asks who the checker is, before it asks any case; may be nil
}

// Describe implements the contract.
func (s *service) Describe(context.Context, *checkerv1.DescribeRequest) (*checkerv1.DescribeResponse, error) {
	if s.begin != nil {
		s.begin()
	}
	return describe(s.checker.Describe())
}

// Check implements the contract. The messages on the stream are those of the codec.
func (s *service) Check(stream grpc.BidiStreamingServer[checkerv1.CheckRequest, checkerv1.CheckResponse]) error {
	var in batch
	var out results
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	params, err := bind(s.checker.Describe(), in.open)
	switch {
	case !in.opened || len(in.cases) > 0:
		err = errors.New("the first request must open the stream, and carry no cases")
	case err != nil:
		err = fmt.Errorf("open: %w", err)
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	for {
		err := stream.RecvMsg(&in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if in.opened || len(in.cases) == 0 {
			return status.Error(codes.InvalidArgument, "every request but the first must carry cases, and nothing else")
		}
		if err := s.batch(stream, &in, &out, params); err != nil {
			return err
		}
	}
}

// batch decides the cases of one request, in their order.
func (s *service) batch(stream grpc.ServerStream, in *batch, out *results, params map[string]any) error {
	out.buf = out.buf[:0]
	started := time.Now()
	for i := range in.cases {
		c := &in.cases[i]
		c.params = params
		outcome, err := s.decide(stream.Context(), &c.Case)
		out.add(c, outcome, err)
		if len(out.buf) < flushBytes && time.Since(started) < flushAfter {
			continue
		}
		if err := stream.SendMsg(out); err != nil {
			return err
		}
		out.buf, started = out.buf[:0], time.Now()
	}
	if len(out.buf) == 0 {
		return nil
	}
	return stream.SendMsg(out)
}

// decide runs Check. A panic ends the case and no other, and shows where it was raised on stderr.
func (s *service) decide(ctx context.Context, c *Case) (o Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, origin(string(debug.Stack())))
		}
		// A stub that was missing decides, whatever Check made of it.
		if c.missing != "" {
			err = &StubMissingError{c.missing}
		}
		if err == nil && o.Verdict == "" {
			err = errors.New("the checker gave no verdict")
		}
	}()
	return s.checker.Check(ctx, c)
}

// origin gives the lines of a stack that say where the panic was raised.
func origin(stack string) string {
	lines := strings.Split(stack, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+2]) + " " + strings.TrimSpace(lines[i+3])
		}
	}
	return ""
}

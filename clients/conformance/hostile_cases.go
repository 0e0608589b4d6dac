package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// These cases do what a host never does, or does only when it gives up. The checker must say so, or bear it; and afterwards it
// must answer as before.
func hostileCases() []testCase {
	return []testCase{
		refusesStream("open-missing", "a stream that begins with cases is refused", func(r *runner) []*checkerv1.CheckRequest {
			return []*checkerv1.CheckRequest{{Cases: r.samples(1, 1)}}
		}),
		refusesStream("open-unknown-parameter", "a parameter that it does not declare is refused", func(r *runner) []*checkerv1.CheckRequest {
			p := r.parameters(r.main)
			p["zzz_conformance"] = []byte("1")
			return []*checkerv1.CheckRequest{{Open: &checkerv1.Open{Parameters: p}}, {Cases: r.samples(1, 1)}}
		}),
		contract("open-wrong-type", "a parameter of another type is refused", func(ctx context.Context, r *runner) error {
			p := r.parameters(r.main)
			if len(p) == 0 {
				return inapplicable{"it declares no parameters, or none that has a value"}
			}
			for name := range p {
				p[name] = []byte(`{"not":"it"}`)
			}
			return r.refused(ctx, []*checkerv1.CheckRequest{{Open: &checkerv1.Open{Parameters: p}}, {Cases: r.samples(1, 1)}})
		}),
		afterwards("cancel", "a host that gives a stream up leaves it able to answer", func(ctx context.Context, r *runner) error { return r.giveUp(ctx, 1) }),
		afterwards("cancel-often", "fifty streams that are given up leave it able to answer", func(ctx context.Context, r *runner) error {
			for range 50 {
				if err := r.giveUp(ctx, 64); err != nil {
					return err
				}
			}
			return nil
		}),
		afterwards("deadline", "a stream whose deadline passes leaves it able to answer", func(ctx context.Context, r *runner) error {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			s, err := r.open(ctx, r.main, nil)
			for err == nil {
				_, err = s.Recv()
			}
			if status.Code(err) != codes.DeadlineExceeded && !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the stream ended otherwise: %w", err)
			}
			return nil
		}),
		afterwards("half-read", "a host that leaves with answers unread leaves it able to answer", func(ctx context.Context, r *runner) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			s, err := r.open(ctx, r.main, nil)
			if err != nil {
				return err
			}
			if err := s.Send(&checkerv1.CheckRequest{Cases: r.samples(512, 1)}); err != nil {
				return err
			}
			_, err = s.Recv()
			return err
		}),
	}
}

// refusesStream makes a case of a stream that must end in an error, without an answer.
func refusesStream(name, says string, requests func(r *runner) []*checkerv1.CheckRequest) testCase {
	return contract(name, says, func(ctx context.Context, r *runner) error { return r.refused(ctx, requests(r)) })
}

// refused holds that a stream ends in an error without an answer, and leaves the checker able to answer.
func (r *runner) refused(ctx context.Context, requests []*checkerv1.CheckRequest) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := checkerv1.NewCheckerServiceClient(r.main.Conn()).Check(inner, callOptions()...)
	if err != nil {
		return err
	}
	for _, req := range requests {
		if s.Send(req) != nil {
			break // Recv says why
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	res, err := s.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the stream ended in order")
	case err == nil:
		return fmt.Errorf("it answered %v", res.GetResults())
	case status.Code(err) == codes.Unavailable:
		return fmt.Errorf("the connection is gone: %w", err)
	}
	return r.answersStill(ctx)
}

// afterwards makes a case that must leave the checker able to answer.
func afterwards(name, says string, fn func(ctx context.Context, r *runner) error) testCase {
	return contract(name, says, func(ctx context.Context, r *runner) error {
		if err := fn(ctx, r); err != nil {
			return err
		}
		return r.answersStill(ctx)
	})
}

func (r *runner) answersStill(ctx context.Context) error {
	for range 5 { // what a checker makes of it may take it a moment
		if _, err := r.ask(ctx, plan{batches: chunks(r.samples(20, 1), 5)}); err != nil {
			return fmt.Errorf("afterwards: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// giveUp cancels a stream with cases in flight.
func (r *runner) giveUp(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := r.open(ctx, r.main, nil)
	if err != nil {
		return err
	}
	// The second batch is in flight once the first has an answer.
	for range 2 {
		if err := s.Send(&checkerv1.CheckRequest{Cases: r.samples(n, 1)}); err != nil {
			return ignoreEOF(err)
		}
	}
	_, err = s.Recv()
	return err
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// inFlight is how many cases a host has in flight at most.
const inFlight = 2048

func contract(name, says string, fn func(ctx context.Context, r *runner) error) testCase {
	return testCase{name, Contract, says, fn}
}

// asked makes a case of a plan that must be answered in full.
func asked(name, says string, make func(r *runner) plan) testCase {
	return contract(name, says, func(ctx context.Context, r *runner) error {
		_, err := r.ask(ctx, make(r))
		return err
	})
}

func streamCases() []testCase {
	return []testCase{
		asked("stream-empty", "a stream that is opened and closed ends in order, without an answer", func(*runner) plan { return plan{} }),
		asked("one-case", "one case is answered once", func(r *runner) plan { return plan{batches: [][]*checkerv1.Case{r.samples(1, 1)}} }),
		asked("batch-of-2", "a batch of two is answered", func(r *runner) plan { return plan{batches: [][]*checkerv1.Case{r.samples(2, 1)}} }),
		asked("batch-of-256", "a batch of 256 is answered", func(r *runner) plan { return plan{batches: [][]*checkerv1.Case{r.samples(256, 1)}} }),
		asked("batch-of-2048", "as many cases as a host has in flight are answered in one batch", func(r *runner) plan { return plan{batches: [][]*checkerv1.Case{r.samples(inFlight, 1)}} }),
		asked("batches-of-1", "300 batches of one case each are answered", func(r *runner) plan { return plan{batches: chunks(r.samples(300, 1), 1)} }),
		asked("batches-mixed", "batches of different sizes are answered", func(r *runner) plan {
			all := r.samples(600, 1)
			return plan{batches: [][]*checkerv1.Case{all[:1], all[1:300], all[300:302], all[302:599], all[599:]}}
		}),
		asked("answers-before-close", "answers do not wait for the end of the cases", func(r *runner) plan { return plan{batches: chunks(r.samples(64, 1), 16), onePerTurn: true} }),
		asked("one-at-a-time", "a host that waits for each answer gets it", func(r *runner) plan { return plan{batches: chunks(r.samples(32, 1), 1), onePerTurn: true} }),
		asked("ids-large", "case ids of 64 bits come back as they are", func(r *runner) plan {
			c := r.samples(3, 1)
			c[0].CaseId, c[1].CaseId, c[2].CaseId = math.MaxUint64, 1<<63, 1<<53+1
			return plan{batches: [][]*checkerv1.Case{c}}
		}),
		asked("ids-descending", "case ids come in any order", func(r *runner) plan {
			c := r.samples(100, 1)
			slices.Reverse(c)
			return plan{batches: chunks(c, 7)}
		}),
		contract("ids-reused", "a case id of an earlier stream is a new case", idsReused),
		contract("streams-side-by-side", "four streams at once do not mix up their answers", sideBySide),
		contract("streams-in-a-row", "a hundred streams one after the other are answered", func(ctx context.Context, r *runner) error {
			for range 100 {
				if _, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(3, 1)}}); err != nil {
					return err
				}
			}
			return nil
		}),
		contract("order-independent", "a case is answered alike wherever it stands in a batch", orderIndependent),
		contract("slow-reader", "a host that reads late gets every answer", slowReader),
	}
}

// idsReused asks the same cases under each other's ids.
func idsReused(ctx context.Context, r *runner) error {
	n := uint64(r.some())
	forward := r.samples(int(n), 1)
	want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{forward}})
	if err != nil {
		return err
	}
	var turned []*checkerv1.Case
	for _, c := range forward {
		turned = append(turned, &checkerv1.Case{CaseId: n + 1 - c.GetCaseId(), Input: c.GetInput(), Stubs: c.GetStubs()})
	}
	got, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{turned}})
	if err != nil {
		return err
	}
	return alike(want, got, func(id uint64) uint64 { return n + 1 - id }, "under the id of another")
}

func sideBySide(ctx context.Context, r *runner) error {
	want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err != nil {
		return err
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			first := uint64(1 + i*10_000)
			got, err := r.ask(ctx, plan{batches: chunks(r.samples(r.some(), first), 10+i)})
			if err == nil {
				err = alike(want, got, func(id uint64) uint64 { return id - 1 + first }, "beside other streams")
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func orderIndependent(ctx context.Context, r *runner) error {
	forward := r.samples(r.some(), 1)
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	a, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{forward}})
	if err != nil {
		return err
	}
	b, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{backward}})
	if err != nil {
		return err
	}
	return alike(a, b, sameID, "in the reverse order")
}

// slowReader sends everything before it reads anything.
func slowReader(ctx context.Context, r *runner) error {
	s, err := r.open(ctx, r.main, nil)
	if err != nil {
		return err
	}
	p := plan{batches: chunks(r.samples(inFlight, 1), 64)}
	for _, b := range p.batches {
		if err := s.Send(&checkerv1.CheckRequest{Cases: b}); err != nil {
			break // receive says why
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err = receive(s, p, make(chan struct{}, len(p.batches)))
	if err != nil {
		return fmt.Errorf("read late: %w", err)
	}
	return nil
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

func deterministic(name, says string, fn func(ctx context.Context, r *runner) error) testCase {
	return testCase{name, Determinism, says, fn}
}

// again makes a case of the same samples asked once more in another way.
func again(name, says, what string, other func(r *runner) plan, key func(uint64) uint64) testCase {
	return deterministic(name, says, func(ctx context.Context, r *runner) error {
		want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
		if err != nil {
			return err
		}
		got, err := r.ask(ctx, other(r))
		if err != nil {
			return err
		}
		return alike(want, got, key, what)
	})
}

// elsewhere makes a case of the same samples asked of another process with another environment.
func elsewhere(name, says string, env ...string) testCase {
	return deterministic(name, says, func(ctx context.Context, r *runner) error {
		if err := r.launched(); err != nil {
			return err
		}
		want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
		if err != nil {
			return err
		}
		h, err := r.start(ctx, env...)
		if err != nil {
			return err
		}
		got, err := r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
		if err := errors.Join(err, h.Close()); err != nil {
			return err
		}
		return alike(want, got, sameID, fmt.Sprintf("in another process with %q", env))
	})
}

func determinismCases() []testCase {
	const far = 7_000_000_000
	return []testCase{
		again("again", "the same cases in another stream are answered alike", "in another stream", func(r *runner) plan {
			return plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}}
		}, sameID),
		again("again-other-ids", "under other case ids they are answered alike", "under another id", func(r *runner) plan {
			return plan{batches: [][]*checkerv1.Case{r.samples(r.some(), far)}}
		}, func(id uint64) uint64 { return id - 1 + far }),
		again("again-shuffled", "shuffled, they are answered alike", "in another order", func(r *runner) plan {
			c := r.samples(r.some(), 1)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
			return plan{batches: chunks(c, 32)}
		}, sameID),
		again("again-one-by-one", "in batches of one they are answered alike", "in a batch of its own", func(r *runner) plan {
			return plan{batches: chunks(r.samples(r.some(), 1), 1)}
		}, sameID),
		deterministic("again-in-one-stream", "asked twice in one stream, a case is answered alike", func(ctx context.Context, r *runner) error {
			n := r.some()
			out, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(n, 1), r.samples(n, far)}})
			if err != nil {
				return err
			}
			for id := uint64(1); id <= uint64(n); id++ {
				if a, b := out[id], out[id-1+far]; shown(a) != shown(b) {
					return fmt.Errorf("case %d was answered %s, and later in the stream %s", id, shown(a), shown(b))
				}
			}
			return nil
		}),
		deterministic("again-after-many", "after two thousand other cases they are answered alike", func(ctx context.Context, r *runner) error {
			want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
			if err != nil {
				return err
			}
			if _, err := r.ask(ctx, plan{batches: chunks(r.samples(2000, 1), 256)}); err != nil {
				return err
			}
			got, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
			if err != nil {
				return err
			}
			return alike(want, got, sameID, "after many others")
		}),
		deterministic("again-at-once", "asked in eight streams at once, they are answered alike", atOnce),
		deterministic("again-later", "a second later they are answered alike", func(ctx context.Context, r *runner) error {
			want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
			if err != nil {
				return err
			}
			select {
			case <-time.After(1100 * time.Millisecond): // what reads a clock reads another second
			case <-ctx.Done():
				return ctx.Err()
			}
			got, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
			if err != nil {
				return err
			}
			return alike(want, got, sameID, "a second later")
		}),
		elsewhere("other-process", "another process answers alike"),
		elsewhere("other-time-zone", "in another time zone it answers alike", "TZ=Asia/Kathmandu"),
		elsewhere("other-locale", "in another locale it answers alike", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8"),
		elsewhere("other-hash-seed", "with another hash seed it answers alike", "PYTHONHASHSEED=4711"),
		elsewhere("other-hash-seed-fixed", "without a random hash seed it answers alike", "PYTHONHASHSEED=0"),
		elsewhere("one-processor", "on one processor it answers alike", "GOMAXPROCS=1", "UV_THREADPOOL_SIZE=1", "RAYON_NUM_THREADS=1"),
		elsewhere("other-home", "with another home it answers alike", "HOME=/nonexistent"),
		deterministic("other-clock", "with the clock moved by 400 days it answers alike", otherClock),
		elsewhere("other-variables", "variables that it does not know change nothing", "DEBUG=1", "NODE_ENV=production", "ENV=prod", "VERBOSE=1", "SEED=1", "SOURCE_DATE_EPOCH=1"),
	}
}

// otherClock asks a process that sees another date.
func otherClock(ctx context.Context, r *runner) error {
	if err := r.launched(); err != nil {
		return err
	}
	if !sandbox.ShiftsClock {
		return unobserved{"this platform cannot move a checker's clock"}
	}
	want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err != nil {
		return err
	}
	c := r.t.Command
	c.Shift = 400 * 24 * time.Hour
	h, err := checkerhost.Launch(ctx, c)
	if errors.Is(err, checkerhost.ErrConfined) {
		return unobserved{"this machine cannot move a checker's clock: " + err.Error()}
	}
	if err != nil {
		return fmt.Errorf("400 days later it does not start: %w", err)
	}
	got, err := r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err == nil {
		err = alike(want, got, sameID, "400 days later")
	}
	if err == nil {
		if shown := h.Unshifted(); shown != nil { // alike by a clock that was not moved shows nothing
			err = unobserved{shown.Error()}
		}
	}
	return errors.Join(err, h.Close())
}

func atOnce(ctx context.Context, r *runner) error {
	want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err != nil {
		return err
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			got, err := r.ask(ctx, plan{batches: chunks(r.samples(r.some(), 1), 5+i)})
			if err == nil {
				err = alike(want, got, sameID, "beside itself")
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

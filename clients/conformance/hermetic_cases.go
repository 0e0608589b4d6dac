package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// hermetic makes a case of a process without a network, in a home and a temporary directory of its own, after it has answered
// the samples.
func hermetic(name, says string, fn func(h *checkerhost.Host, home string) error) testCase {
	return testCase{name, Hermetic, says, func(ctx context.Context, r *runner) error {
		if err := r.launched(); err != nil {
			return err
		}
		want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
		if err != nil {
			return err
		}
		home, err := os.MkdirTemp("", "rc-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(home) // what is left is the platform's to clear
		h, err := r.isolated(ctx, home)
		if err != nil {
			return err
		}
		got, err := r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
		if err == nil {
			err = alike(want, got, sameID, "without a network")
		}
		if err == nil {
			err = fn(h, home)
		}
		return errors.Join(err, h.Close())
	}}
}

// isolated starts a process without a network.
func (r *runner) isolated(ctx context.Context, home string) (*checkerhost.Host, error) {
	c := r.t.Command
	c.Env = append(append([]string{}, c.Env...), "HOME="+home, "XDG_CACHE_HOME="+home, "TMPDIR="+home)
	c.Sandbox = max(c.Sandbox, sandbox.Network)
	h, err := checkerhost.Launch(ctx, c)
	if errors.Is(err, checkerhost.ErrConfined) {
		return nil, unobserved{"this machine cannot isolate a process: " + err.Error()}
	}
	if err != nil {
		return nil, fmt.Errorf("without a network it does not start: %w", err)
	}
	return h, nil
}

// otherFiles asks a process that can read no file but its own.
func otherFiles(ctx context.Context, r *runner) error {
	if err := r.launched(); err != nil {
		return err
	}
	want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err != nil {
		return err
	}
	c := r.t.Command
	c.Sandbox = sandbox.Strict
	h, err := checkerhost.Launch(ctx, c)
	if errors.Is(err, checkerhost.ErrConfined) {
		return unobserved{"this machine has no such sandbox: " + err.Error()}
	}
	if err != nil {
		return fmt.Errorf("without the files of others it does not start: %w", err)
	}
	got, err := r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err == nil {
		err = alike(want, got, sameID, "without the files of others")
	}
	return errors.Join(err, h.Close())
}

func hermeticCases() []testCase {
	return []testCase{
		hermetic("no-network", "without a network it answers alike", func(*checkerhost.Host, string) error { return nil }),
		hermetic("no-sockets", "it opens no socket of a network", func(h *checkerhost.Host, _ string) error { return sockets(h.Pid()) }),
		{"other-files", Hermetic, "without the files of others it answers alike", otherFiles},
		hermetic("no-children", "it starts no other process", func(h *checkerhost.Host, _ string) error { return children(h.Pid()) }),
		hermetic("no-open-files", "it holds no file open for writing", func(h *checkerhost.Host, home string) error { return writes(h.Pid()) }),
		hermetic("no-files", "it leaves no file in its home and its temporary directory", func(_ *checkerhost.Host, home string) error {
			left, err := filepath.Glob(filepath.Join(home, "*"))
			hidden, hiddenErr := filepath.Glob(filepath.Join(home, ".[!.]*"))
			if left = append(left, hidden...); len(left) > 0 {
				return fmt.Errorf("it left %q", left)
			}
			return errors.Join(err, hiddenErr)
		}),
	}
}

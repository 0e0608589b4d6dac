package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/server/checkerhost"
)

// stopTime is how long a checker may take to end when it is told to.
const stopTime = 10 * time.Second

func behaviour(name, says string, fn func(ctx context.Context, r *runner) error) testCase {
	return testCase{name, Behaviour, says, func(ctx context.Context, r *runner) error {
		if err := r.launched(); err != nil {
			return err
		}
		return fn(ctx, r)
	}}
}

// process makes a case of a process of its own, which has answered a few cases.
func process(name, says string, fn func(ctx context.Context, r *runner, h *checkerhost.Host) error) testCase {
	return behaviour(name, says, func(ctx context.Context, r *runner) error {
		h, err := r.start(ctx)
		if err != nil {
			return err
		}
		if _, err = r.ask(ctx, plan{host: h, batches: chunks(r.samples(20, 1), 7)}); err == nil {
			err = fn(ctx, r, h)
		}
		return errors.Join(err, h.Close())
	})
}

func behaviourCases() []testCase {
	return []testCase{
		process("stdout-handshake", "its stdout has the handshake and nothing else", func(_ context.Context, _ *runner, h *checkerhost.Host) error {
			stdout, _ := h.Printed()
			if lines := strings.Split(strings.TrimSpace(stdout), "\n"); len(lines) != 1 || strings.Count(lines[0], "|") < 4 {
				return fmt.Errorf("it printed:\n%s", stdout)
			}
			return nil
		}),
		process("stop", "SIGTERM ends it in order, with exit status 0", func(ctx context.Context, _ *runner, h *checkerhost.Host) error { return stop(ctx, h) }),
		process("stop-under-way", "SIGTERM ends it while a stream is open", func(ctx context.Context, r *runner, h *checkerhost.Host) error {
			s, err := r.open(ctx, h, nil)
			if err != nil {
				return err
			}
			if err := s.Send(&checkerv1.CheckRequest{Cases: r.samples(5, 1)}); err != nil {
				return err
			}
			return stop(ctx, h)
		}),
		process("interrupt", "an interrupt from the terminal, which is meant for the host, does not end it", func(ctx context.Context, r *runner, h *checkerhost.Host) error {
			if err := signal(h, os.Interrupt); err != nil {
				return err
			}
			select {
			case <-h.Done():
				return fmt.Errorf("it ended: %s", h.HowItEnded())
			case <-time.After(200 * time.Millisecond):
			}
			_, err := r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(3, 1)}})
			return err
		}),
		behaviour("two-instances", "two processes of it run beside each other", twoInstances),
		behaviour("starts-again", "it starts five times in a row", func(ctx context.Context, r *runner) error {
			for range 5 {
				h, err := r.start(ctx)
				if err != nil {
					return err
				}
				if err := h.Close(); err != nil {
					return err
				}
			}
			return nil
		}),
		behaviour("nothing-left", "once it is killed, no process of it is left", nothingLeft),
		behaviour("by-hand", "started by hand it ends by itself, with a status that is not 0, and says on stderr how it is meant to run", byHand),
		behaviour("listen", "it listens where RETRIAL_LISTEN says", listen),
	}
}

func signal(h *checkerhost.Host, s os.Signal) error {
	p, err := os.FindProcess(h.Pid())
	if err == nil {
		err = p.Signal(s)
	}
	return err
}

func stop(ctx context.Context, h *checkerhost.Host) error {
	if err := signal(h, syscall.SIGTERM); err != nil {
		return unobserved{"this platform does not send it: " + err.Error()}
	}
	select {
	case <-h.Done():
	case <-time.After(stopTime):
		return fmt.Errorf("it goes on after %s", stopTime)
	case <-ctx.Done():
		return ctx.Err()
	}
	if how := h.HowItEnded(); how != "exit status 0" {
		return fmt.Errorf("it ended with %s", how)
	}
	return nil
}

func twoInstances(ctx context.Context, r *runner) error {
	h, err := r.start(ctx)
	if err != nil {
		return err
	}
	a, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(20, 1)}})
	if err == nil {
		var b map[uint64]*checkerv1.Result
		if b, err = r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(20, 1)}}); err == nil {
			err = alike(a, b, sameID, "by a second process")
		}
	}
	return errors.Join(err, h.Close())
}

// program gives the command without a host around it.
func (r *runner) program(ctx context.Context, env ...string) *exec.Cmd {
	c := r.t.Command
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	if strings.Contains(c.Argv[0], "/") && !filepath.IsAbs(c.Argv[0]) && c.Dir != "" {
		cmd.Path, _ = filepath.Abs(filepath.Join(c.Dir, c.Argv[0]))
		cmd.Err = nil
	}
	if c.Arg0 != "" {
		cmd.Args[0] = c.Arg0
	}
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8"}, append(c.Env, env...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

func byHand(ctx context.Context, r *runner) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	cmd := r.program(ctx)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it goes on after %s", stopTime)
	case err == nil:
		return errors.New("it ended with status 0")
	case strings.TrimSpace(stderr.String()) == "":
		return errors.New("it says nothing on stderr")
	case stdout.Len() > 0:
		return fmt.Errorf("it printed on stdout: %.200q", stdout.String())
	}
	return nil
}

func listen(ctx context.Context, r *runner) error {
	dir, err := os.MkdirTemp("", "rc-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // what is left is the platform's to clear
	address := "unix:" + filepath.Join(dir, "c")
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.program(inner, "RETRIAL_LISTEN="+address)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	var how error // once ended is closed
	go func() {
		defer close(ended)
		how = cmd.Wait()
	}()
	if err = r.reach(ctx, address, ended); errors.Is(err, errEnded) {
		return errors.Join(err, how)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-ended:
		if ctx.Err() != nil {
			err = errors.Join(err, errors.New("it went on after SIGTERM"))
		}
	case <-time.After(stopTime):
		err = errors.Join(err, fmt.Errorf("it goes on %s after SIGTERM", stopTime))
		cancel()
		<-ended
	}
	return err
}

var errEnded = errors.New("it ended")

// reach dials an address until somebody listens there.
func (r *runner) reach(ctx context.Context, address string, ended <-chan struct{}) error {
	for {
		h, err := checkerhost.Dial(ctx, address)
		if err == nil {
			_, err = r.ask(ctx, plan{host: h, batches: [][]*checkerv1.Case{r.samples(5, 1)}})
			return errors.Join(err, h.Close())
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

//go:build linux

package checkerhost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

const shift = 400 * 24 * time.Hour

// A checker whose clock is moved sees another date, and nobody else does; its monotonic clock goes on beside it.
func TestMovedClock(t *testing.T) {
	needs(t, sandbox.Network)
	checkGoroutines(t)
	for level := sandbox.Off; level <= sandbox.Strict; level++ {
		t.Run(level.String(), func(t *testing.T) {
			needs(t, level)
			c := command("tries", "date")
			c.Sandbox, c.Shift = level, shift
			before := time.Now()
			h, err := Launch(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, h.Description().GetVersion())
			if early, late := before.Add(shift-time.Second), time.Now().Add(shift+time.Second); err != nil || at.Before(early) || at.After(late) {
				t.Errorf("it sees %s, %v; want %s to %s", at, err, early, late)
			}
			if err := h.Unshifted(); err != nil {
				t.Errorf("it saw another clock: %v", err)
			}
			if err := h.process.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err) // which it bears, as it does elsewhere
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	out, err := exec.CommandContext(t.Context(), "date", "+%s").Output()
	seconds, parseErr := time.ParseDuration(strings.TrimSpace(string(out)) + "s")
	if off := time.Since(time.Unix(int64(seconds.Seconds()), 0)); err != nil || parseErr != nil || off > time.Minute || off < -time.Minute {
		t.Errorf("the host's clock is off by %s: %v, %v", off, err, parseErr)
	}
}

// A checker that is told to stop does so under a moved clock too.
func TestMovedClockEndsCleanly(t *testing.T) {
	checkGoroutines(t)
	c := command("good")
	c.Sandbox, c.Shift = sandbox.Off, shift
	h, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case <-h.Done():
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if how := h.HowItEnded(); how != "exit status 0" {
		t.Errorf("it ended with %s", how)
	}
}

// What a script starts has the kernel's page of code again, so that nothing is claimed of its clock.
func TestClockOfAnotherProgramIsNotMoved(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text string }{
		{"in its place", "exec " + self + " checker good"},
		{"beside it", self + " checker good; exit $?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := Launch(t.Context(), Command{Argv: []string{"/bin/sh", "-c", c.text}, Sandbox: sandbox.Network, Shift: shift, Env: []string{"GORACE=atexit_sleep_ms=0"}})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Unshifted(); err == nil || !strings.Contains(err.Error(), "which sees the clock as it is") {
				t.Errorf("it is said to have seen the moved clock: %v", err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A program of C sees the moved clock by each of the calls that tell it: Python asks all of them.
func TestMovedClockOfPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	const program = `
import datetime, os, sys, time
seen = [time.time(), time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime(6 - 1), datetime.datetime.now().timestamp()]
m = time.monotonic()
while time.monotonic() - m < 0.02: pass
print("seen", *[int((s - float(os.environ["NOW"])) // 86400) for s in seen], file=sys.stderr)
`
	file := filepath.Join(t.TempDir(), "clock.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(-time.Hour).Unix()
	h, err := Launch(t.Context(), Command{Argv: []string{strings.TrimSpace(string(out)), file}, Sandbox: sandbox.Network, Shift: shift, Env: []string{fmt.Sprintf("NOW=%d", now)}})
	if err == nil {
		t.Fatal(errors.New("it was taken for a checker"), h.Close())
	}
	if !strings.Contains(err.Error(), "seen 400 400 400 400") {
		t.Errorf("it saw: %v", err)
	}
}

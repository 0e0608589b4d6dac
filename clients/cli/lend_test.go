//go:build linux

package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// R29: a checker that is lent to a server is gone with the run, whoever ends: the run is no pass, and no process is left.
func testLentCheckerIsGone(t *testing.T, program string) {
	for _, c := range []struct {
		name, mode string
		victim     string // whom the signal is for
		signal     syscall.Signal
		statuses   []int
		gate       string
	}{
		{"SIGINT", "hangs", "run", syscall.SIGINT, []int{1}, "BLOCK"},
		{"SIGTERM", "hangs", "run", syscall.SIGTERM, []int{1}, "BLOCK"},
		{"SIGINT while it starts", "never-shakes-hands", "run", syscall.SIGINT, []int{1}, "UNKNOWN"},
		{"SIGKILL", "hangs", "run", syscall.SIGKILL, []int{-1}, "BLOCK"},
		{"SIGKILL of the server", "hangs", "serve", syscall.SIGKILL, []int{4}, "UNKNOWN"},
		{"SIGTERM of the server", "hangs", "serve", syscall.SIGTERM, []int{1, 4}, "BLOCK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newSignalBench(t, program)
			b.write(t, "retrial.yaml", fmt.Appendf(nil, "limits: {stop_timeout: 100ms}\nattach_allow: [\"run-*\"]\ncheckers:\n  right: {command: [%s], sandbox: network}\n", strings.Join(b.checker("right"), ", ")))
			s := b.serve(t, "--config", "retrial.yaml")
			if r, status := b.output(t, "fixtures", "push", "set", "--reason", "first", "--server", s.address); status != 0 {
				t.Fatalf("push ends in %d: %s", status, r.stderr.String())
			}
			r := b.command("run", "--server", s.address, "--set", "signals", "--sandbox", "network", "--release", signalRelease, "--baseline", "right", "--candidate", strings.Join(b.checker(c.mode), " "))
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			b.awaitPoint(t)
			victim := r
			if c.victim == "serve" {
				victim = s.started
			}
			if err := victim.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if status := r.wait(t); !slices.Contains(c.statuses, status) {
				t.Errorf("the run ends in %d, want %d: %s", status, c.statuses, r.stderr.String())
			}
			if c.victim == "run" {
				if err := s.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			s.wait(t)
			b.checkGone(t)
			b.checkNoPass(t, c.gate)
		})
	}
}

// A checker that a command keeps attached is gone with the command, and the command ends with its checker.
func testAttachedCheckerIsGone(t *testing.T, program string) {
	for _, c := range []struct {
		name   string
		end    func(t *testing.T, r *started)
		status int
	}{
		{"SIGINT", func(t *testing.T, r *started) { kill(t, r.Process.Pid, syscall.SIGINT) }, 0},
		{"SIGKILL", func(t *testing.T, r *started) { kill(t, r.Process.Pid, syscall.SIGKILL) }, -1},
		{"the checker is killed", func(t *testing.T, r *started) { kill(t, childOf(t, r.Process.Pid), syscall.SIGKILL) }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newSignalBench(t, program)
			b.write(t, "retrial.yaml", []byte("attach_allow: [next]\n"))
			s := b.serve(t, "--config", "retrial.yaml")
			r := b.command(append([]string{"checkers", "attach", "--server", s.address, "--name", "next"}, b.checker("right")...)...)
			r.Stderr = nil
			out, err := r.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.Contains(line, "right 1 is attached") {
				t.Fatalf("it says %q, %v", line, err)
			}
			c.end(t, r)
			if status := r.wait(t); status != c.status {
				t.Errorf("it ends in %d, want %d", status, c.status)
			}
			kill(t, s.Process.Pid, syscall.SIGTERM)
			s.wait(t)
			b.checkGone(t)
		})
	}
}

func kill(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// childOf gives the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil { // or the thread has ended
			all = append(all, strings.Fields(string(b))...)
		}
	}
	if len(all) != 1 {
		t.Fatalf("process %d has the children %v, want one", pid, all)
	}
	child, err := strconv.Atoi(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

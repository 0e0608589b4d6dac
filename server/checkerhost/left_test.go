//go:build linux

package checkerhost

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// withMark gives the processes that have a mark in their command line. A zombie has none.
func withMark(mark string) (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(mark)) {
			out = append(out, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return out
}

func newMark() string { return fmt.Sprintf("RETRIAL_MARK=%d.%d", os.Getpid(), time.Now().UnixNano()) }

// A process that has left its parent, its group and its session ends with the checker that started it.
func TestDaemonEndsWithItsChecker(t *testing.T) {
	needs(t, sandbox.Strict)
	for _, level := range []sandbox.Level{sandbox.Network, sandbox.Strict} {
		t.Run(level.String(), func(t *testing.T) {
			mark := newMark()
			c := command("tries", "daemon", mark)
			c.Sandbox = level
			h, err := Launch(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if left := withMark("daemon-itself\x00" + mark); len(left) != 1 { // or the test would show nothing
				t.Errorf("there are the daemons %q; %s", left, h.Description().GetVersion())
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if left := withMark(mark); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// entries counts what a directory has in it.
func entries(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// The thread that starts a checker is restricted for good, and is gone with it: nothing of that stays in the host.
func TestHostStaysAsItWas(t *testing.T) {
	needs(t, sandbox.Strict)
	checkGoroutines(t)
	together := func(n int) {
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				c := command("good")
				c.Sandbox = sandbox.Strict
				h, err := Launch(t.Context(), c)
				if err != nil {
					t.Error(err)
					return
				}
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	together(50) // the runtime keeps threads once it has needed them
	threads, files := entries(t, "/proc/self/task"), entries(t, "/proc/self/fd")
	together(50)
	// A thread that is leaked is one a launch. The runtime starts some of its own as it needs them.
	if !eventually(func() bool { return entries(t, "/proc/self/task") < threads+25 }) {
		t.Errorf("%d threads after 50 more launches, %d before", entries(t, "/proc/self/task"), threads)
	}
	if !eventually(func() bool { return entries(t, "/proc/self/fd") <= files }) {
		t.Errorf("%d open files after 50 more launches, %d before", entries(t, "/proc/self/fd"), files)
	}
	statuses, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	main := fmt.Sprintf("/proc/self/task/%d/status", os.Getpid())
	for _, f := range statuses {
		b, err := os.ReadFile(f)
		if err == nil && f != main && (bytes.Contains(b, []byte("NoNewPrivs:\t1")) || bytes.Contains(b, []byte("Seccomp:\t2"))) {
			t.Errorf("a thread is left restricted: %s", f) // but the first one, which the runtime cannot end, and never uses again
		}
	}
	l := listen(t)
	var all sync.WaitGroup
	for range 20 { // on as many threads as there are
		all.Go(func() {
			conn, err := net.Dial("unix", l.path)
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				t.Error(err)
			}
			if _, err := os.ReadFile("/etc/passwd"); err != nil {
				t.Error(err)
			}
			if err := exec.Command("/bin/sh", "-c", "read x < /etc/passwd").Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Auto takes a weaker sandbox for a checker that ends by itself in a stronger one, and says why.
func TestAutoFallsBack(t *testing.T) {
	needs(t, sandbox.Strict)
	outside := filepath.Join(t.TempDir(), "needed")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := command("needs", outside+"*") // no argument that names it, or it would be its own
	c.Sandbox = sandbox.Auto
	h, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if level, why := h.Sandbox(); level != sandbox.Network || !strings.HasPrefix(why, "strict: ") || !strings.Contains(why, "permission denied") {
		t.Errorf("level %s: %s", level, why)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	c.Sandbox = sandbox.Strict
	if h, err := Launch(t.Context(), c); err == nil {
		t.Errorf("it starts in the sandbox strict; closed with %v", h.Close())
	}
}

// A crash is an end that a process came to by itself; to be killed, as the host does it, is none.
func TestExitedByItself(t *testing.T) {
	for script, want := range map[string]bool{"exit 0": true, "exit 3": true, "kill -ABRT $$": true, "kill -SEGV $$": true, "kill -KILL $$": false} {
		if err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script).Run(); exitedByItself(err) != want {
			t.Errorf("%s: %v, said to be by itself: %t", script, err, !want)
		}
	}
}

// Auto does not take a weaker sandbox for a checker that breaks the handshake while it lives, or hangs until its caller leaves.
func TestAutoDoesNotFallBack(t *testing.T) {
	needs(t, sandbox.Strict)
	c := command("wrong-handshake")
	c.Sandbox = sandbox.Auto
	if h, err := Launch(t.Context(), c); err == nil {
		t.Errorf("it was taken for a checker; closed with %v", h.Close())
	} else if !strings.Contains(err.Error(), "in the sandbox: true") {
		t.Errorf("it was started again in a weaker one: %v", err)
	}
	mark := newMark()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		eventually(func() bool { return len(withMark(mark)) > 0 })
		cancel()
	}()
	c = command("daemon-itself", mark) // it says nothing
	c.Sandbox = sandbox.Auto
	if h, err := Launch(ctx, c); err == nil {
		t.Errorf("it was taken for a checker; closed with %v", h.Close())
	} else if ctx.Err() == nil {
		t.Errorf("it did not hang: %v", err)
	}
	if left := withMark(mark); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A host that is killed leaves nothing of a checker in a sandbox: not what it has started, not what that has.
func TestCampaignKilledHost(t *testing.T) {
	needs(t, sandbox.Strict)
	for c := campaign.Begin(t, 100, 10); c.Next(); {
		mark := newMark()
		host := exec.CommandContext(t.Context(), os.Args[0], "checker", "host", mark)
		host.Stderr = os.Stderr
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n') // it is there, and its daemon is
		if n := len(withMark(mark)); err != nil || n != 3 {
			t.Errorf("there are %d processes, %v: %q; want host, checker and daemon", n, err, line)
		}
		if err := host.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = host.Wait() // it was killed
		if !eventually(func() bool { return len(withMark(mark)) == 0 }) {
			t.Errorf("left: %q", withMark(mark))
		}
		// Nobody is left to remove the directory of its socket.
		if err := os.RemoveAll(strings.TrimSpace(line)); err != nil {
			t.Error(err)
		}
	}
}

// host is a host with a checker in the sandbox, which is killed.
func host(mark string) int {
	c := command("tries", "daemon", mark)
	c.Sandbox = sandbox.Strict
	h, err := Launch(context.Background(), c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(h.process.dir)
	for {
		time.Sleep(time.Hour)
	}
}

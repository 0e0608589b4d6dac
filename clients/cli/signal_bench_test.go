//go:build linux

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func signalVerdict(n int) string { return []string{"keep", "drop"}[n%2] }

func signalFixtureID(n int) string { return fmt.Sprintf("f-%06d", n) }

func signalDocument(n int) []byte {
	return fmt.Appendf(nil, `{"fixture_id":%q,"source_row_id":"row-%d","verdict":%q,"reason_code":"rule","decided_at":"2026-02-14T09:12:00Z","n":%d,"text":%q}`,
		signalFixtureID(n), n, signalVerdict(n), n, strings.Repeat("frozen ", 30))
}

// signalBench is a program, a set in a directory, and a checker that tells when it has come to its point.
type signalBench struct {
	program, dir, store string
	told                *net.UnixListener
}

const signalRelease = "v2"

// newSignalBench makes a bench with a directory of its own, which is also where temporary files go.
func newSignalBench(t *testing.T, program string) *signalBench {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt-") // short, since sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	b := &signalBench{program: program, dir: dir, store: filepath.Join(dir, "retrial.db")}
	l, err := net.Listen("unix", b.path("told"))
	if err != nil {
		t.Fatal(err)
	}
	b.told = l.(*net.UnixListener)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	b.write(t, "set/retrial.yaml", fmt.Appendf(nil, "set: signals\nschema: 1\nverdicts: [keep, drop]\npermissive: keep\nbaseline: {command: [%s], sandbox: network}\n",
		strings.Join(b.checker("right"), ", ")))
	var fixtures bytes.Buffer
	for n := range 300 {
		fixtures.Write(append(signalDocument(n), '\n'))
	}
	b.write(t, "set/fixtures/all.jsonl", fixtures.Bytes())
	return b
}

func (b *signalBench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *signalBench) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checker is the command of a checker.
func (b *signalBench) checker(mode string) []string {
	return []string{os.Args[0], "-test.run=^TestCheckerProcess$", "--", mode, b.path("told")}
}

// started is a retrial under way.
type started struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func (b *signalBench) command(args ...string) *started {
	r := &started{Cmd: exec.Command(b.program, args...)}
	r.Env = append(os.Environ(), "TMPDIR="+b.dir, "RETRIAL_AUTHOR=ada", "HOME="+b.dir)
	r.Dir, r.Stdout, r.Stderr = b.dir, &r.stdout, &r.stderr
	return r
}

// output runs a command to its end and gives its exit status.
func (b *signalBench) output(t *testing.T, args ...string) (*started, int) {
	t.Helper()
	r := b.command(args...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r, r.wait(t)
}

// wait gives the exit status; -1 is that of a process that a signal has ended.
func (r *started) wait(t *testing.T) int {
	t.Helper()
	stuck := time.AfterFunc(time.Minute, func() { _ = r.Process.Kill() })
	defer stuck.Stop()
	err := r.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return r.ProcessState.ExitCode()
}

// awaitPoint waits until a checker tells that it has come to its point.
func (b *signalBench) awaitPoint(t *testing.T) {
	t.Helper()
	if err := b.told.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	conn, err := b.told.Accept()
	if err != nil {
		t.Fatalf("the checker did not come to its point: %v", err)
	}
	_ = conn.Close()
}

// checkGone holds that no process is left, or none will be soon, whose command line names the bench's directory: neither the
// program nor a checker. A zombie has no command line.
func (b *signalBench) checkGone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		left := b.processes(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("processes are left: %q", left)
			return
		}
	}
}

// processes gives the command lines that name the bench's directory.
func (b *signalBench) processes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("the processes cannot be listed: %v", err)
	}
	var out []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(b.dir)) {
			out = append(out, string(line))
		}
	}
	return out
}

// checkNoPass holds that the gate says this word, and no pass.
func (b *signalBench) checkNoPass(t *testing.T, word string) {
	t.Helper()
	r, status := b.output(t, "gate", "status", "--release", signalRelease, "--store", b.store)
	if status != 1 || !strings.HasPrefix(r.stdout.String(), word+" ") || strings.Contains(r.stdout.String(), "PASS") {
		t.Errorf("the gate ends in %d, want 1, and says:\n%s%s", status, r.stdout.String(), r.stderr.String())
	}
}

// checkWhole holds that the store is not damaged and has either the first version or both. It says whether it has both.
func (b *signalBench) checkWhole(t *testing.T) bool {
	t.Helper()
	r, status := b.output(t, "fixtures", "verify", "--store", b.store)
	if status != 0 {
		t.Fatalf("verify ends in %d: %s%s", status, r.stdout.String(), r.stderr.String())
	}
	said := strings.TrimSpace(r.stdout.String())
	both := strings.HasPrefix(said, "1 sets, 2 versions, ")
	if !both && !strings.HasPrefix(said, "1 sets, 1 versions, 300 fixtures, ") || !strings.HasSuffix(said, "; 0 damaged") {
		t.Errorf("verify says %q", said)
	}
	return both
}

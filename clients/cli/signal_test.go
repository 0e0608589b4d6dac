//go:build linux

package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
)

// TestCheckerProcess is no test: it is the program of the checkers below, `BINARY -test.run=^TestCheckerProcess$ -- MODE
// SOCKET`. It does nothing where these arguments are not there.
func TestCheckerProcess(*testing.T) {
	i := slices.Index(os.Args, "--")
	if i < 0 || len(os.Args) != i+3 {
		return
	}
	mode, socket := os.Args[i+1], os.Args[i+2]
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	if mode == "never-shakes-hands" {
		hangAt(socket)
	}
	os.Exit(retrial.Serve(processChecker{mode, socket}))
}

// hangAt lets the test know that the checker has come to its point, and goes no further.
func hangAt(socket string) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
	for {
		time.Sleep(time.Hour)
	}
}

// processChecker reproduces the set, but for one case over which it hangs in mode "hangs".
type processChecker struct{ mode, socket string }

// Describe implements retrial.Checker.
func (c processChecker) Describe() retrial.Description {
	return retrial.Description{Name: c.mode, Version: "1"}
}

// Check implements retrial.Checker.
func (c processChecker) Check(_ context.Context, in *retrial.Case) (retrial.Outcome, error) {
	n, err := retrial.Member[int](in, "n")
	if err != nil {
		return retrial.Outcome{}, err
	}
	if c.mode == "hangs" && n == 137 {
		hangAt(c.socket)
	}
	return retrial.Outcome{Verdict: signalVerdict(n), ReasonCode: "rule"}, nil
}

// The program as it is built, with real signals. It is built once for all of them.
func TestSignals(t *testing.T) {
	program := filepath.Join(t.TempDir(), "retrial")
	if out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Run("run", func(t *testing.T) { testSignalToRun(t, program) })
	t.Run("run-killed", func(t *testing.T) { testKilledRun(t, program) })
	t.Run("serve", func(t *testing.T) { testSignalToServe(t, program) })
	t.Run("lent", func(t *testing.T) { testLentCheckerIsGone(t, program) })
	t.Run("attached", func(t *testing.T) { testAttachedCheckerIsGone(t, program) })
	t.Run("push-killed", func(t *testing.T) { testKilledPush(t, program) })
}

// R29: a run that a signal ends is blocked, says so in its last line, leaves no checker behind, and is no pass later on.
func testSignalToRun(t *testing.T, program string) {
	for _, s := range []struct {
		name, mode, gate string
		signal           os.Signal
	}{
		{"SIGINT while a case is decided", "hangs", "BLOCK", os.Interrupt},
		{"SIGTERM while a case is decided", "hangs", "BLOCK", syscall.SIGTERM},
		{"SIGINT while the checker starts", "never-shakes-hands", "UNKNOWN", os.Interrupt},
		{"SIGTERM while the checker starts", "never-shakes-hands", "UNKNOWN", syscall.SIGTERM},
	} {
		t.Run(s.name, func(t *testing.T) {
			b := newSignalBench(t, program)
			r := b.command("run", "set", "--sandbox", "network", "--store", b.store, "--release", signalRelease, "--candidate", strings.Join(b.checker(s.mode), " "))
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			b.awaitPoint(t)
			if left := b.processes(t); len(left) < 2 { // the program and at least the checker at its point
				t.Fatalf("processes that run: %q", left)
			}
			if err := r.Process.Signal(s.signal); err != nil {
				t.Fatal(err)
			}
			if status := r.wait(t); status != 1 {
				t.Errorf("exit status %d, want 1", status)
			}
			lines := strings.Split(strings.TrimSpace(r.stderr.String()), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, "release blocked: the run was cancelled") {
				t.Errorf("the last line on stderr: %q", last)
			}
			if strings.Contains(r.stdout.String(), "passed") {
				t.Errorf("it prints a pass:\n%s", r.stdout.String())
			}
			b.checkGone(t)
			b.checkNoPass(t, s.gate)
		})
	}
}

// R29: where the program itself is killed, its checkers end with it, and the run reads as cut.
func testKilledRun(t *testing.T, program string) {
	b := newSignalBench(t, program)
	r := b.command("run", "set", "--sandbox", "network", "--store", b.store, "--release", signalRelease, "--candidate", strings.Join(b.checker("hangs"), " "))
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	b.awaitPoint(t)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if status := r.wait(t); status != -1 {
		t.Errorf("exit status %d of a process that was killed", status)
	}
	b.checkGone(t)
	b.checkNoPass(t, "UNKNOWN")
}

// R29: a server that is told to stop ends the replays under way after its timeout, records them as cancelled, and leaves no
// checker behind.
func testSignalToServe(t *testing.T, program string) {
	b := newSignalBench(t, program)
	b.write(t, "retrial.yaml", fmt.Appendf(nil, "limits: {stop_timeout: 100ms}\ncheckers:\n  right: {command: [%s], sandbox: network}\n  hangs: {command: [%s], sandbox: network}\n",
		strings.Join(b.checker("right"), ", "), strings.Join(b.checker("hangs"), ", ")))
	s := b.serve(t, "--config", "retrial.yaml")
	if r, status := b.output(t, "fixtures", "push", "set", "--reason", "first", "--server", s.address); status != 0 {
		t.Fatalf("push ends in %d: %s", status, r.stderr.String())
	}
	r := b.command("run", "--server", s.address, "--set", "signals", "--release", signalRelease, "--baseline", "right", "--candidate", "hangs")
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	b.awaitPoint(t)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := s.wait(t); status != 0 {
		t.Errorf("the server ends in %d: %s", status, s.stderr.String())
	}
	if status := r.wait(t); status != 1 && status != 4 {
		t.Errorf("the client ends in %d: %s", status, r.stderr.String())
	}
	b.checkGone(t)
	b.checkNoPass(t, "BLOCK")
}

// served is a retrial that serves.
type served struct {
	*started
	address string
}

// serve starts a server over the bench's store and waits until it says that it serves.
func (b *signalBench) serve(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{address: "unix:" + b.path("serve")}
	s.started = b.command(append([]string{"serve", "--listen", s.address, "--store", b.store}, args...)...)
	s.Stderr = nil
	out, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() }) // it has ended, unless the test has failed
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server does not serve: %s, %v", s.stderr.String(), err)
		}
		s.stderr.WriteString(line)
		if strings.Contains(line, `"serving"`) {
			return s
		}
	}
}

// R14, R29: a server that is killed in the middle of a commit has published nothing of it, or all of it. The store opens
// again, is whole, and takes the commit.
func testKilledPush(t *testing.T, program string) {
	const total, part = 50_000, 1000
	b := newSignalBench(t, program)
	s := b.serve(t)
	if r, status := b.output(t, "fixtures", "push", "set", "--reason", "first", "--server", s.address); status != 0 {
		t.Fatalf("push ends in %d: %s", status, r.stderr.String())
	}
	parts := commitParts(total, part)
	// How many parts are sent when the server is killed: the header alone, before and behind the first transaction, all but
	// the seal, all of it.
	for _, sent := range []int{1, 15, 30, len(parts) - 1, len(parts)} {
		if err := sendParts(t, s.address, parts[:sent], func() error { return s.Process.Kill() }); err == nil && sent < len(parts) {
			t.Errorf("a commit without its end is acknowledged")
		}
		if status := s.wait(t); status != -1 {
			t.Errorf("the server ends in %d before it was killed: %s", status, s.stderr.String())
		}
		if whole := b.checkWhole(t); whole && sent < len(parts) {
			t.Errorf("killed behind part %d of %d, and the version is there", sent, len(parts))
		} else if whole {
			return // it had published it, which is as well
		}
		s = b.serve(t)
	}
	if err := sendParts(t, s.address, parts, nil); err != nil {
		t.Errorf("the commit is not taken after the kills: %v", err)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := s.wait(t); status != 0 {
		t.Errorf("the server ends in %d", status)
	}
	if !b.checkWhole(t) {
		t.Error("the version is not there")
	}
}

// commitParts makes the parts of a commit of n fixtures on top of version 1.
func commitParts(n, part int) []*fixturev1.CommitVersionRequest {
	config := &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep"}}
	header := &fixturev1.CommitHeader{Set: "signals", Parent: 1, Author: "ada", Reason: "many more", Config: config}
	out := []*fixturev1.CommitVersionRequest{{Part: &fixturev1.CommitVersionRequest_Header{Header: header}}}
	for from := 0; from < n; from += part {
		entries := &fixturev1.CommitEntries{}
		for i := from; i < min(from+part, n); i++ {
			entries.Entries = append(entries.Entries, &fixturev1.CommitEntry{Fixture: signalDocument(i)})
		}
		out = append(out, &fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Entries{Entries: entries}})
	}
	seal := &fixturev1.CommitSeal{FixtureCount: uint64(n)}
	return append(out, &fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Seal{Seal: seal}})
}

// sendParts sends parts of a commit, and then does what is to be done, if anything. It is nil only for a commit that was
// acknowledged.
func sendParts(t *testing.T, address string, parts []*fixturev1.CommitVersionRequest, then func() error) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := fixturev1.NewFixtureServiceClient(conn).CommitVersion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := stream.Send(p); err != nil {
			t.Fatal(err)
		}
	}
	if then != nil {
		if err := then(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

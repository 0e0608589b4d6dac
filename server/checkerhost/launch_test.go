//go:build linux

package checkerhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// TestMain lets the test binary be a checker: `BINARY checker MODE [FILE]`.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "checker" {
		os.Exit(checkerMain(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func checkerMain(mode string, args []string) int {
	switch mode {
	case "good":
		return retrial.Serve(goodChecker{})
	case "surroundings":
		if err := os.WriteFile(args[0], surroundings(), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	case "tries":
		return tries(args)
	case "host":
		return host(args[0])
	case "needs": // a file, whose name it is given with a star behind
		_, err := os.ReadFile(strings.TrimSuffix(args[0], "*"))
		if err == nil {
			return retrial.Serve(goodChecker{})
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	case "wrong-handshake":
		_, err := os.ReadFile("/etc/hostname")
		fmt.Println("hello, in the sandbox:", errors.Is(err, os.ErrPermission))
		<-time.After(time.Hour)
		return 0
	case "daemon":
		return daemon(args)
	case "dials":
		return dialsChecker(args[0], args[1])
	case "launches":
		return launches()
	case "half-handshake", "daemon-itself":
		if mode == "half-handshake" {
			fmt.Print("1|1|unix|/no/such")
		}
		<-time.After(time.Hour)
		return 0
	default:
		fmt.Fprintf(os.Stderr, "there is no mode %q\n", mode)
		return 2
	}
}

type goodChecker struct{}

// Describe implements retrial.Checker.
func (goodChecker) Describe() retrial.Description {
	return retrial.Description{Name: "good", Version: "1"}
}

// Check implements retrial.Checker.
func (goodChecker) Check(context.Context, *retrial.Case) (retrial.Outcome, error) {
	return retrial.Outcome{Verdict: "keep", ReasonCode: "fresh"}, nil
}

func command(mode string, args ...string) Command {
	return Command{Argv: append([]string{os.Args[0], "checker", mode}, args...), Env: []string{"GORACE=atexit_sleep_ms=0"}}
}

// eventually asks again until done says yes, and gives up after ten seconds.
func eventually(done func() bool) bool {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if done() || time.Now().After(deadline) {
			return done()
		}
	}
}

// checkGoroutines holds, when the test has ended, that no goroutine is left that was not there before.
func checkGoroutines(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		var err error
		for range 8 { // each waits for a good part of a second
			if err = goleak.Find(before); err == nil {
				return
			}
		}
		t.Error(err)
	})
}

// launch starts a good checker. It is the caller's to close.
func launch(t *testing.T) *Host {
	t.Helper()
	h, err := Launch(t.Context(), command("good"))
	if err != nil {
		t.Fatal(err)
	}
	if name := h.Description().GetName(); name != "good" {
		t.Errorf("its name is %q", name)
	}
	return h
}

// A host that is closed leaves nothing: no process, no goroutine, no connection that dials for ever, no directory.
func TestCloseLeavesNothing(t *testing.T) {
	checkGoroutines(t)
	t.Setenv("TMPDIR", t.TempDir())
	var pids []int
	for range 8 {
		h := launch(t)
		pids = append(pids, h.process.cmd.Process.Pid)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %d is there: %v", pid, err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

// Close can be called from anywhere, more than once.
func TestCloseMoreThanOnce(t *testing.T) {
	checkGoroutines(t)
	h := launch(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if !h.process.exited() {
				t.Error("Close has returned, and the checker runs")
			}
		})
	}
	wg.Wait()
}

// A caller that is gone before the checker is started, or while it starts, gets an error and nothing else.
func TestLaunchForACallerThatIsGone(t *testing.T) {
	checkGoroutines(t)
	for name, launched := range map[string]func(context.Context) (*Host, error){
		"launch": func(ctx context.Context) (*Host, error) { return Launch(ctx, command("good")) },
		"dial":   func(ctx context.Context) (*Host, error) { return Dial(ctx, "unix:"+filepath.Join(t.TempDir(), "none")) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for range 20 { // who is first, the start or the end, is open
				if h, err := launched(ctx); err == nil {
					t.Errorf("a host for nobody; closed with %v", h.Close())
				} else if fixture.CodeOf(err) != fixture.CodeUnavailable {
					t.Errorf("code %v: %v", fixture.CodeOf(err), err)
				}
			}
		})
	}
}

// A checker that says half a handshake and stays is told to have taken too long, with what it said: not to have been
// killed, which is the host's own doing.
func TestStartErrorOfACheckerThatTookTooLong(t *testing.T) {
	checkGoroutines(t)
	c := command("half-handshake")
	p := &process{cmd: exec.Command(c.Argv[0], c.Argv[1:]...), ended: make(chan struct{}), done: make(chan struct{})}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }() // as go-plugin reads it; ends with the process
	if !eventually(func() bool { return p.stdout.String() != "" }) {
		t.Error("it printed nothing")
	}
	// What go-plugin does: it kills, then says why.
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	got := p.startError(errors.New("timeout while waiting for plugin to start")).Error()
	for _, want := range []string{"timeout while waiting for plugin to start", "1|1|unix|/no/such"} {
		if !strings.Contains(got, want) {
			t.Errorf("the message lacks %q: %s", want, got)
		}
	}
	if strings.Contains(got, "killed") {
		t.Errorf("the message says that it was killed: %s", got)
	}
}

// The path of a socket has a limit of about a hundred bytes, and is part of an address: neither a long nor an odd TMPDIR keeps
// a checker from being reached.
func TestSocketDirectory(t *testing.T) {
	for name, dir := range map[string]string{
		"short":               "t",
		"of 150 bytes":        strings.Repeat("long", 38)[:150],
		"not there":           "no/such/directory",
		"with a space":        "a b",
		"with a number sign":  "a#b",
		"with a percent sign": "a%41b",
		"with a question":     "a?b",
		"with a colon":        "a:b",
	} {
		t.Run(name, func(t *testing.T) {
			checkGoroutines(t)
			base, err := os.MkdirTemp("/tmp", "rt-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.RemoveAll(base); err != nil {
					t.Error(err)
				}
			})
			tmp := filepath.Join(base, dir)
			if name != "not there" {
				if err := os.Mkdir(tmp, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("TMPDIR", tmp)
			h := launch(t)
			sockets := h.process.dir
			if info, err := os.Stat(sockets); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the directory for sockets is not private: %v, %v", info.Mode(), err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(sockets); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory for sockets is left: %v", err)
			}
		})
	}
}

// surroundings lists what the process finds itself in: variables, open files, standard input.
func surroundings() []byte {
	var b bytes.Buffer
	for _, v := range os.Environ() {
		fmt.Fprintln(&b, "env", v)
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			fmt.Fprintln(&b, "file", to)
		}
	}
	in, err := io.ReadAll(os.Stdin)
	fmt.Fprintf(&b, "stdin %q %v\n", in, err)
	return b.Bytes()
}

// R4: a checker gets a minimal environment: nothing of ours reaches it but what its command gives, and no secret, setting,
// open file or input of the host.
func TestCheckerFindsNothingOfOurs(t *testing.T) {
	checkGoroutines(t)
	t.Setenv("RETRIAL_TEST_SECRET", "hunter2")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	t.Setenv("TZ", "Asia/Kathmandu")
	dir := t.TempDir()
	open, err := os.Create(filepath.Join(dir, "open-in-the-host"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	report := filepath.Join(dir, "report")
	c := command("surroundings", report)
	c.Env = append(c.Env, "RETRIAL_TEST_GIVEN=yes")
	if h, err := Launch(t.Context(), c); err == nil {
		t.Fatalf("it was taken for a checker; closed with %v", h.Close())
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"LANG", "TZ", "PATH", "HOME", "TMPDIR", "RETRIAL_CHECKER", "RETRIAL_TEST_GIVEN", "GORACE"}
	var env []string
	for line := range strings.Lines(string(b)) {
		kind, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name, _, _ := strings.Cut(value, "="); {
		case kind == "env" && !slices.Contains(allowed, name) && !strings.HasPrefix(name, "PLUGIN_"):
			t.Errorf("it finds the variable %s", value)
		case kind == "env":
			env = append(env, value)
		case kind == "file" && strings.HasPrefix(value, dir):
			t.Errorf("it finds the open file %s", value)
		case kind == "stdin" && value != `"" <nil>`:
			t.Errorf("it finds on standard input: %s", value)
		}
	}
	for _, want := range []string{"TZ=UTC", "LANG=C.UTF-8", "RETRIAL_TEST_GIVEN=yes"} {
		if !slices.Contains(env, want) {
			t.Errorf("it does not find %s; there is %q", want, env)
		}
	}
}

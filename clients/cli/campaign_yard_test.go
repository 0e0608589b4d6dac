//go:build linux

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/identity"
)

// yard is a directory with the store, the configuration and the tokens of a server, which is a process of its own: this test
// binary by the name "retrial". A checker listens in this process.
type yard struct {
	*signalBench
	tokens map[string]string
}

// wrongChecker decides as the fixtures say, but for the fixture whose number is its parameter "wrong".
type wrongChecker struct{}

// Describe implements retrial.Checker.
func (wrongChecker) Describe() retrial.Description {
	return retrial.Description{Name: "wrong", Version: "1", Parameters: []retrial.Parameter{{Name: "wrong", Default: -1}}}
}

// Check implements retrial.Checker.
func (wrongChecker) Check(_ context.Context, in *retrial.Case) (retrial.Outcome, error) {
	n, err := retrial.Member[int](in, "n")
	if n == in.Int("wrong") {
		return retrial.Outcome{Verdict: signalVerdict(n + 1), ReasonCode: "rule"}, err
	}
	return retrial.Outcome{Verdict: signalVerdict(n), ReasonCode: "rule"}, err
}

// newYard makes one. When the test has ended, it holds that no process, goroutine or socket of it is left.
func newYard(t *testing.T) *yard {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { campaign.NothingLeft(t, before) })
	y := &yard{signalBench: newSignalBench(t, ""), tokens: map[string]string{}}
	t.Cleanup(func() { y.checkGone(t) })
	y.listen(t)
	y.writeTokens(t)
	y.write(t, "retrial.yaml", fmt.Appendf(nil, `
listen: unix:%s
store: retrial.db
auth: {tokens: tokens.yaml}
limits: {requests_per_second: 100000, replays: 16, stop_timeout: 200ms}
checkers:
  dialled: {address: "unix:%s"}
  launched: {command: [%s]}
`, y.path("serve"), y.path("checker"), strings.Join(y.checker("right"), ", ")))
	return y
}

func (y *yard) listen(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- retrial.Listen(ctx, wrongChecker{}, "unix:"+y.path("checker")) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if !campaign.Eventually(func() bool { _, err := os.Stat(y.path("checker")); return err == nil }) {
		t.Fatal("the checker does not listen")
	}
}

func (y *yard) writeTokens(t *testing.T) {
	t.Helper()
	var all []server.Token
	for name, roles := range map[string][]server.Role{
		"ada": {server.Author}, "sam": {server.Submitter}, "eve": {server.Approver}, "rob": {server.Reader}, "aud": {server.Auditor},
	} {
		secret, token, err := server.NewToken(name, roles, time.Now().Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		y.tokens[name] = secret
		all = append(all, token)
	}
	if err := server.WriteTokens(y.path("tokens.yaml"), all); err != nil {
		t.Fatal(err)
	}
}

// as gives a context for calls by somebody.
func (y *yard) as(ctx context.Context, name string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+y.tokens[name])
}

func (y *yard) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+y.path("serve"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// process is a server that was started.
type process struct {
	*exec.Cmd
	serves chan struct{} // closed when it says that it serves
	read   chan struct{} // closed when it has said its last
	mu     sync.Mutex    // guards said
	said   bytes.Buffer
}

// spawn starts a server, and does not wait until it serves.
func (y *yard) spawn(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self), serves: make(chan struct{}), read: make(chan struct{})}
	p.Args = append([]string{"retrial", "serve", "--config", y.path("retrial.yaml")}, args...)
	p.Env = append(os.Environ(), "TMPDIR="+y.dir, "HOME="+y.dir)
	p.Dir = y.dir
	out, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // it has ended, unless the test has failed
	go p.listen(out)
	return p
}

func (p *process) listen(out io.Reader) {
	defer close(p.read)
	var once sync.Once
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		if p.said.Len() < 1<<16 {
			p.said.WriteString(lines.Text() + "\n")
		}
		p.mu.Unlock()
		if strings.Contains(lines.Text(), `"serving"`) {
			once.Do(func() { close(p.serves) })
		}
	}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// start starts a server and waits until it serves.
func (y *yard) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := y.spawn(t, args...)
	select {
	case <-p.serves:
	case <-p.read:
		t.Fatalf("the server does not serve: %s", p.text())
	case <-time.After(campaign.Patience):
		t.Fatalf("the server does not serve in time: %s", p.text())
	}
	return p
}

// end sends a signal and waits for the end. It gives the exit status, -1 after a kill.
func (p *process) end(t *testing.T, s os.Signal) int {
	t.Helper()
	if err := p.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	return p.await(t)
}

func (p *process) await(t *testing.T) int {
	t.Helper()
	stuck := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer stuck.Stop()
	<-p.read
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// offline opens the store as it lies there, holds it against the checkpoint beside it, and changes nothing. whole reads it all.
func (y *yard) offline(t *testing.T, whole bool) {
	t.Helper()
	key, err := identity.LoadOrCreate(y.store + server.KeySuffix)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := identity.NoteVerifier(server.LogOrigin, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	s, err := fixturestore.Open(y.store, fixturestore.Options{ReadOnly: true, Verifier: verifier})
	if err != nil {
		t.Errorf("the store as the kill left it: %v", err)
		return
	}
	if whole {
		if _, err := s.Verify(t.Context(), func(err error) error { t.Errorf("damage: %v", err); return nil }); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// leftovers lists what lies beside the store and is no part of it.
func (y *yard) leftovers(t *testing.T) []string {
	t.Helper()
	left, err := filepath.Glob(y.path("*.new-*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

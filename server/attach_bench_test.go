//go:build linux

package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/retrial"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// testClock stands still until it is told how much time has passed.
type testClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*testTimer]bool
}

type testTimer struct {
	at time.Time
	f  func()
}

func newTestClock() *testClock {
	return &testClock{now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), timers: map[*testTimer]bool{}}
}

// Now implements server.Clock.
func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements server.Clock.
func (c *testClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &testTimer{c.now.Add(d), f}
	c.timers[timer] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		was := c.timers[timer]
		delete(c.timers, timer)
		return was
	}
}

// waits counts those who wait for it.
func (c *testClock) waits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// pass has time go by, once somebody waits for it, and calls what is due.
func (c *testClock) pass(t *testing.T, d time.Duration) {
	t.Helper()
	if !eventually(func() bool { return c.waits() > 0 }) {
		t.Fatal("nobody waits for the clock")
	}
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*testTimer
	for timer := range c.timers {
		if !timer.at.After(c.now) {
			due = append(due, timer)
			delete(c.timers, timer)
		}
	}
	c.mu.Unlock()
	for _, timer := range due {
		timer.f()
	}
}

// newAttachBench is a bench that lets checkers come by themselves.
func newAttachBench(t *testing.T, clock server.Clock, change func(*server.Config)) *bench {
	t.Helper()
	return newBenchAt(t, clock, func(b *bench) map[string]server.CheckerConfig {
		return map[string]server.CheckerConfig{"configured": b.command("configured", "right")}
	}, func(c *server.Config) {
		c.AttachAllow, c.RegisterAllow = []string{"next", "run-*"}, []string{"unix:" + os.TempDir() + "/*"}
		if change != nil {
			change(c)
		}
	})
}

// own is a checker of the tests that comes by itself. It is served in this process, over the raw contract.
type own struct {
	behaviour
	version, digest string
	asked           atomic.Int64 // cases, over all streams

	conn        net.Conn      // the one over which it is attached
	inTunnel    func([]byte)  // puts a part into its tunnel, where it is attached by attachRaw
	stopReading chan struct{} // closed where it reads no more, where it is attached by attachRaw
	bridge      *bridged
	leave       func() // cancels the call
}

// bridged is a call of Bridge under way.
type bridged struct {
	instance chan *registryv1.Instance
	ended    chan error
}

// serve serves the checker behind a listener in memory, and gives a connection to it.
func (o *own) serve(t *testing.T) net.Conn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	o.serveAt(t, l)
	conn, err := l.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (o *own) serveAt(t *testing.T, l net.Listener) (stop func()) {
	t.Helper()
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}))
	service := &faultyService{name: "own", behaviour: o.behaviour}
	service.describe = func(d *checkerv1.DescribeResponse) {
		d.Version, d.BuildDigest = o.version, o.digest
		if o.describe != nil {
			o.describe(d)
		}
	}
	each := o.each
	if o.batch == nil {
		service.each = func(s *session, c *checkerv1.Case) error {
			o.asked.Add(1)
			if each != nil {
				return each(s, c)
			}
			return s.right(c)
		}
	}
	checkerv1.RegisterCheckerServiceServer(s, service)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop = sync.OnceFunc(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// attach attaches a checker, and waits until it can be named.
func (b *bench) attach(t *testing.T, name string, o *own) *registryv1.Instance {
	t.Helper()
	o.start(t, b, name)
	select {
	case in := <-o.bridge.instance:
		return in
	case err := <-o.bridge.ended:
		t.Fatalf("it was not attached: %v", err)
	case <-time.After(patience):
		t.Fatal("it was not attached in time")
	}
	return nil
}

// refused attaches a checker, and holds that it is refused by a code.
func (b *bench) refused(t *testing.T, name string, o *own, want codes.Code, words ...string) {
	t.Helper()
	o.start(t, b, name)
	err := o.wait(t)
	if status.Code(err) != want {
		t.Errorf("attach %s: %v, want %s", name, err, want)
		return
	}
	checkSaid(t, err.Error())
	checkSays(t, []string{err.Error()}, words)
}

func (o *own) start(t *testing.T, b *bench, name string) {
	t.Helper()
	o.conn = o.serve(t)
	o.bridge = &bridged{make(chan *registryv1.Instance, 1), make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	o.leave = cancel
	go func() {
		err := retrial.Bridge(ctx, b.conn, name, o.conn, func(in *registryv1.Instance) { o.bridge.instance <- in })
		o.bridge.ended <- err
		close(o.bridge.ended)
	}()
}

// wait waits until the checker is no longer attached, and gives what Bridge says.
func (o *own) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-o.bridge.ended:
		return err
	case <-time.After(patience):
		t.Fatal("the bridge did not end in time")
		return nil
	}
}

// vanish ends the connection, and waits until the bridge has ended.
func (o *own) vanish(t *testing.T) {
	t.Helper()
	if err := o.conn.Close(); err != nil {
		t.Error(err)
	}
	_ = o.wait(t) // its own connection has ended: there is nothing to say
}

// instances gives what the registry lists under a name.
func (b *bench) instances(t *testing.T, name string) []*registryv1.Instance {
	t.Helper()
	res, err := registryv1.NewRegistryServiceClient(b.conn).ListCheckers(t.Context(), &registryv1.ListCheckersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(res.GetCheckers(), func(c *registryv1.RegisteredChecker) bool { return c.GetName() == name })
	if i < 0 {
		return nil
	}
	return res.GetCheckers()[i].GetInstances()
}

// await waits until the registry lists as many instances under a name.
func (b *bench) await(t *testing.T, name string, n int) {
	t.Helper()
	if !eventually(func() bool { return len(b.instances(t, name)) == n }) {
		t.Fatalf("%s has %d instances, want %d", name, len(b.instances(t, name)), n)
	}
}

// tried replays the plain set with the checker "next" for its candidate.
func (b *bench) tried(t *testing.T) trial {
	t.Helper()
	return b.replay(t, t.Name(), &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(b.good), Candidate: named("next")})
}

func codesOf(findings []*gatev1.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.GetCode())
	}
	return out
}

// listenHere has the bench's server listen at a socket as well, for processes.
func (b *bench) listenHere(t *testing.T) string {
	t.Helper()
	path := filepath.Join(b.sockets, "server")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), <-served); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return "unix:" + path
}

func cloneOf(d *gatev1.Decision) *gatev1.Decision { return proto.Clone(d).(*gatev1.Decision) }

func bytesOf(d *gatev1.Decision) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(b)
}

//go:build linux

package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// A stream of Attach that breaks the rules of the tunnel, or has no checker at its other end, is ended by a status and lists
// nothing.
func TestTunnelThatBreaksTheRules(t *testing.T) {
	clock := newTestClock()
	b := newAttachBench(t, clock, nil)
	for _, c := range []struct {
		name string
		say  []*registryv1.AttachRequest
		wait time.Duration // that goes by meanwhile
		want codes.Code
		says string
	}{
		{"nothing", nil, 5 * time.Second, codes.InvalidArgument, "nothing was said for 5s"},
		{"data-first", []*registryv1.AttachRequest{data([]byte("x"))}, 0, codes.InvalidArgument, "the first part of the stream is hello"},
		{"no-part", []*registryv1.AttachRequest{{}}, 0, codes.InvalidArgument, "the first part of the stream is hello"},
		{"no-name", []*registryv1.AttachRequest{hello("")}, 0, codes.InvalidArgument, "name"},
		{"rude-name", []*registryv1.AttachRequest{hello("run-\x1b[2J")}, 0, codes.InvalidArgument, "name"},
		{"long-name", []*registryv1.AttachRequest{hello(strings.Repeat("n", 129))}, 0, codes.InvalidArgument, "name"},
		{"name-not-admitted", []*registryv1.AttachRequest{hello("stable")}, 0, codes.PermissionDenied, "attach_allow"},
		{"name-of-the-configuration", []*registryv1.AttachRequest{hello("configured")}, 0, codes.AlreadyExists, "configuration"},
		{"hello-twice", []*registryv1.AttachRequest{hello("next"), hello("next")}, 0, codes.InvalidArgument, "every part but the first is data"},
		{"oversized", []*registryv1.AttachRequest{hello("next"), data(make([]byte, 1<<20))}, 0, codes.InvalidArgument, "data has 1048576 bytes, over the limit of 65536"},
		{"garbage", []*registryv1.AttachRequest{hello("next"), data([]byte(strings.Repeat("garbage ", 100)))}, 0, codes.Unavailable, "describe attached checker"},
		{"empty-parts-and-silence", []*registryv1.AttachRequest{hello("next"), data(nil), data(nil)}, 10 * time.Second, codes.Unavailable, "it did not say who it is within 10s"},
		{"silence", []*registryv1.AttachRequest{hello("next")}, 10 * time.Second, codes.Unavailable, "it did not say who it is within 10s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := b.tunnel(t)
			for _, req := range c.say {
				if err := r.send(req); err != nil {
					t.Fatal(err)
				}
			}
			if c.wait > 0 {
				if c.say != nil { // the hello must have been read, or its own wait would end first
					if _, err := r.stream.Recv(); err != nil {
						t.Fatal(err)
					}
				}
				clock.pass(t, c.wait)
			}
			err := r.end()
			if status.Code(err) != c.want {
				t.Fatalf("the stream ends with %v, want %s", err, c.want)
			}
			checkSaid(t, err.Error())
			checkSays(t, []string{err.Error()}, []string{c.says})
			if all := b.instances(t, "next"); len(all) > 0 {
				t.Errorf("the registry lists %v", all)
			}
		})
	}
}

// A far side that reads no more blocks the run, after the case timeout and not behind it.
func TestTunnelThatIsNotRead(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	o := &own{version: "1", stopReading: make(chan struct{})}
	b.attachRaw(t, "next", o)
	close(o.stopReading)
	r := b.replay(t, t.Name(), &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(b.good), Candidate: named("next"), CaseTimeout: durationpb.New(500 * time.Millisecond)})
	b.checkNoPass(t, plainSet, r)
	if len(withCode(r.findings, "CHECKER_TIMEOUT")) != 1 {
		t.Errorf("findings %v, %v", codesOf(r.findings), r.err)
	}
}

// A checker that comes by itself and does not describe itself by the contract is not listed.
func TestAttachedCheckerDescribesItselfBadly(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	for _, mode := range []string{"no-name", "no-version", "contract-9", "rude-name", "huge-name", "bad-default", "huge-description"} {
		t.Run(mode, func(t *testing.T) {
			o := &own{behaviour: behaviours[mode], version: "1", digest: "d"}
			b.refused(t, "next", o, codes.Unavailable, "describe attached checker")
		})
	}
	t.Run("large", func(t *testing.T) {
		o := &own{version: "1", behaviour: behaviour{describe: func(d *checkerv1.DescribeResponse) {
			for i := range 9000 {
				d.ReasonCodes = append(d.ReasonCodes, fmt.Sprintf("%0200d", i))
			}
		}}}
		b.refused(t, "next", o, codes.Unavailable, "its description has", "over the limit")
	})
}

// The instances over all names are bounded, those included that never come so far.
func TestInstancesAreBounded(t *testing.T) {
	clock := newTestClock()
	b := newAttachBench(t, clock, func(c *server.Config) { c.Limits.Instances = 3 })
	b.attach(t, "next", &own{version: "1", digest: "d"})
	b.attach(t, "run-1", &own{version: "1"})
	silent := b.tunnel(t) // says nothing, and takes a place
	if !eventually(func() bool { return clock.waits() == 1 }) {
		t.Fatal("nobody waits for hello")
	}
	b.refused(t, "run-2", &own{version: "1"}, codes.ResourceExhausted, "3 instances")
	clock.pass(t, 5*time.Second)
	if err := silent.end(); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	if !eventually(func() bool { // its place is free once its call has ended
		o := &own{version: "1"}
		o.start(t, b, "run-2")
		select {
		case <-o.bridge.instance:
			return true
		case err := <-o.bridge.ended:
			return err == nil // never: it was refused
		}
	}) {
		t.Error("the place of one that was sent away is not free")
	}
}

// A checker that attaches and is gone leaves nothing behind, however often it does.
func TestAttachAndVanish(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	for i := range 200 {
		o := &own{version: "1", digest: "d"}
		b.attach(t, "next", o)
		if i%2 == 0 {
			o.vanish(t)
		} else {
			o.leave()
			_ = o.wait(t)
		}
	}
	b.await(t, "next", 0)
}

// A server that stops ends the streams of those that no run uses, and lets the runs under way come to their end.
func TestServerStopsWithAttachedCheckers(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	reached, goOn := make(chan struct{}), make(chan struct{})
	busy, idle := &own{version: "1", digest: "d"}, &own{version: "1", digest: "d"}
	busy.each = func(s *session, c *checkerv1.Case) error {
		if number(c) == marked && s.nth == 1 {
			close(reached)
			<-goOn
		}
		return s.right(c)
	}
	b.attach(t, "next", busy)
	b.attach(t, "run-1", idle)
	ended := make(chan trial, 1)
	go func() { ended <- b.tried(t) }()
	<-reached
	stopped := make(chan error, 1)
	go func() { stopped <- b.server.Stop() }()
	if err := idle.wait(t); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream of the idle one ends with %v", err)
	}
	close(goOn)
	if r := <-ended; r.err != nil || r.decision.GetEvaluated() != plainCount {
		t.Errorf("the run under way ends with %v, %v", r.decision, r.err)
	}
	if err := busy.wait(t); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream of the busy one ends with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

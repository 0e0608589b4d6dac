//go:build linux

package server_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
)

// listen serves a checker at a socket of the bench.
func (b *bench) listen(t *testing.T, socket string, o *own) (address string, stop func()) {
	t.Helper()
	path := filepath.Join(b.sockets, socket)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return "unix:" + path, o.serveAt(t, l)
}

func (b *bench) registry() registryv1.RegistryServiceClient {
	return registryv1.NewRegistryServiceClient(b.conn)
}

func (b *bench) register(t *testing.T, address string, ttl time.Duration) *registryv1.RegisterResponse {
	t.Helper()
	res, err := b.registry().Register(t.Context(), &registryv1.RegisterRequest{Name: "next", Address: address, Ttl: durationpb.New(ttl)})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A registered checker can be named for as long as its lease is renewed; its lease ends by itself.
func TestLeaseEndsByItself(t *testing.T) {
	clock := newTestClock()
	b := newAttachBench(t, clock, nil)
	address, _ := b.listen(t, "c", &own{version: "1", digest: "d"})
	res := b.register(t, address, 10*time.Second)
	if len(res.GetLeaseId()) < 26 {
		t.Errorf("the lease %q is no secret of 128 bits", res.GetLeaseId())
	}
	all := b.instances(t, "next")
	if len(all) != 1 || all[0].GetAddress() != address || !all[0].GetLeaseExpiresAt().AsTime().Equal(clock.Now().Add(10*time.Second)) {
		t.Fatalf("the registry lists %v", all)
	}
	r := b.tried(t)
	if r.decision.GetRuling() != gatev1.Ruling_RULING_PASS || r.decision.GetCandidate().GetReached() != "dialled" {
		t.Errorf("ruling %v, %v", r.decision, r.err)
	}
	clock.pass(t, 9*time.Second)
	renewed, err := b.registry().RenewLease(t.Context(), &registryv1.RenewLeaseRequest{LeaseId: res.GetLeaseId()})
	if err != nil || !renewed.GetInstance().GetLeaseExpiresAt().AsTime().Equal(clock.Now().Add(10*time.Second)) {
		t.Errorf("renewed: %v, %v", renewed, err)
	}
	clock.pass(t, 9*time.Second)
	if n := len(b.instances(t, "next")); n != 1 {
		t.Errorf("after a renewal there are %d instances", n)
	}
	clock.pass(t, time.Second)
	if n := len(b.instances(t, "next")); n != 0 {
		t.Errorf("after the end of the lease there are %d instances", n)
	}
	for _, err := range []error{
		errOf(b.registry().RenewLease(t.Context(), &registryv1.RenewLeaseRequest{LeaseId: res.GetLeaseId()})),
		errOf(b.registry().Deregister(t.Context(), &registryv1.DeregisterRequest{LeaseId: res.GetLeaseId()})),
		errOf(b.registry().DescribeChecker(t.Context(), &registryv1.DescribeCheckerRequest{Name: "next"})),
	} {
		if status.Code(err) != codes.NotFound {
			t.Errorf("after the end of the lease: %v", err)
		}
	}
	again := b.register(t, address, time.Second)
	if _, err := b.registry().Deregister(t.Context(), &registryv1.DeregisterRequest{LeaseId: again.GetLeaseId()}); err != nil || len(b.instances(t, "next")) != 0 {
		t.Errorf("deregistered: %v", err)
	}
	if n := clock.waits(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// A checker that has become another one is asked no more under its old lease: not when it is renewed, and not by a run.
func TestRegisteredCheckerChanges(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	for name, ask := range map[string]func(t *testing.T, lease string) error{
		"renewal": func(t *testing.T, lease string) error {
			return errOf(b.registry().RenewLease(t.Context(), &registryv1.RenewLeaseRequest{LeaseId: lease}))
		},
		"run": func(t *testing.T, _ string) error {
			r := b.tried(t)
			b.checkNoPass(t, plainSet, r)
			return r.err
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := &own{version: name + "-1", digest: "d"}
			address, stop := b.listen(t, name, first)
			lease := b.register(t, address, time.Minute).GetLeaseId()
			stop()
			second := &own{version: name + "-2", digest: "e"}
			b.listen(t, name, second)
			err := ask(t, lease)
			if status.Code(err) != codes.FailedPrecondition {
				t.Errorf("it has changed, and the answer is %v", err)
			}
			if n := len(b.instances(t, "next")); n != 0 || second.asked.Load() != 0 {
				t.Errorf("%d instances are left, %d cases were asked", n, second.asked.Load())
			}
		})
	}
}

// A run goes on without an instance that cannot be reached any more, and says so.
func TestRegisteredInstanceIsGone(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	address, _ := b.listen(t, "a", &own{version: "1", digest: "d"})
	b.register(t, address, time.Minute)
	gone, stop := b.listen(t, "b", &own{version: "1", digest: "d"})
	id := b.register(t, gone, time.Minute).GetInstance().GetInstanceId()
	stop()
	r := b.tried(t)
	if r.err != nil || r.decision.GetRuling() != gatev1.Ruling_RULING_PASS || r.decision.GetCandidate().GetInstances() != 1 {
		t.Errorf("%v, %v", r.decision, r.err)
	}
	lost := withCode(r.decision.GetFindings(), "INSTANCE_LOST")
	if len(lost) != 1 || lost[0].GetSubject() != id || !strings.Contains(lost[0].GetMessage(), "candidate: this instance could not be reached") {
		t.Errorf("told of: %v", lost)
	}
}

// What the configuration does not admit is not registered, nor what cannot be reached, nor for a time out of bounds.
func TestRegisterIsRefused(t *testing.T) {
	clock := newTestClock()
	b := newAttachBench(t, clock, nil)
	address, _ := b.listen(t, "c", &own{version: "1", digest: "d"})
	mute, err := net.Listen("unix", filepath.Join(b.sockets, "mute"))
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, c := range []struct {
		name string
		req  *registryv1.RegisterRequest
		wait time.Duration
		want codes.Code
	}{
		{"name-missing", &registryv1.RegisterRequest{Address: address}, 0, codes.InvalidArgument},
		{"address-missing", &registryv1.RegisterRequest{Name: "next"}, 0, codes.InvalidArgument},
		{"name-not-admitted", &registryv1.RegisterRequest{Name: "stable", Address: address}, 0, codes.PermissionDenied},
		{"name-of-the-configuration", &registryv1.RegisterRequest{Name: "configured", Address: address}, 0, codes.AlreadyExists},
		{"address-not-admitted", &registryv1.RegisterRequest{Name: "next", Address: "127.0.0.1:1"}, 0, codes.PermissionDenied},
		{"too-short", &registryv1.RegisterRequest{Name: "next", Address: address, Ttl: durationpb.New(time.Second - 1)}, 0, codes.InvalidArgument},
		{"too-long", &registryv1.RegisterRequest{Name: "next", Address: address, Ttl: durationpb.New(time.Hour + 1)}, 0, codes.InvalidArgument},
		{"nobody-there", &registryv1.RegisterRequest{Name: "next", Address: address + "-not"}, 0, codes.Unavailable},
		{"says-nothing", &registryv1.RegisterRequest{Name: "next", Address: "unix:" + mute.Addr().String()}, 10 * time.Second, codes.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() { ended <- errOf(b.registry().Register(t.Context(), c.req)) }()
			if c.wait > 0 {
				clock.pass(t, c.wait)
			}
			if err := <-ended; status.Code(err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if n := len(b.instances(t, "next")); n != 0 {
				t.Errorf("%d instances are listed", n)
			}
		})
	}
	b.register(t, address, time.Minute)
	if _, err := b.registry().Register(t.Context(), &registryv1.RegisterRequest{Name: "next", Address: address}); status.Code(err) != codes.AlreadyExists {
		t.Errorf("registered twice: %v", err)
	}
}

// One name stands for one build: of the instances that there are, and of a version for as long as the server lives.
func TestOneNameIsOneBuild(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	first := &own{version: "1", digest: "d"}
	b.attach(t, "next", first)
	b.refused(t, "next", &own{version: "1", digest: "e"}, codes.FailedPrecondition, `build "d"`, `build "e"`)
	b.refused(t, "next", &own{version: "1"}, codes.FailedPrecondition, "build digest")
	b.refused(t, "next", &own{version: "2", digest: "d"}, codes.FailedPrecondition, "describe themselves alike")
	b.refused(t, "next", &own{version: "1", digest: "d", behaviour: behaviour{describe: func(d *checkerv1.DescribeResponse) { d.CallsStubs = true }}}, codes.FailedPrecondition, "describe themselves alike")
	b.attach(t, "run-1", &own{version: "1", digest: "e"}) // under another name it is another checker
	first.vanish(t)
	b.await(t, "next", 0)
	b.refused(t, "next", &own{version: "1", digest: "e"}, codes.FailedPrecondition, "has come before under this name", "another build needs another version")
	b.refused(t, "next", &own{version: "1"}, codes.FailedPrecondition, "has come before under this name")
	address, _ := b.listen(t, "c", &own{version: "1", digest: "e"})
	if _, err := b.registry().Register(t.Context(), &registryv1.RegisterRequest{Name: "next", Address: address}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("registered: %v", err)
	}
	b.attach(t, "next", &own{version: "2", digest: "e"})
	without := &own{version: "1"}
	b.attach(t, "run-2", without)
	b.refused(t, "run-2", &own{version: "1"}, codes.FailedPrecondition, "more than one need a build digest")
}

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// Bounds of a lease.
const (
	defaultTTL = time.Minute
	minTTL     = time.Second
	maxTTL     = time.Hour
)

// lease is how long a registered instance can be named. Guarded by the mutex of instances.
type lease struct {
	id       string // a secret
	ttl      time.Duration
	expires  time.Time
	stop     func() bool // of the timer that ends it
	renewals int
}

// Register implements registryv1.RegistryServiceServer.
func (r *Checkers) Register(ctx context.Context, req *registryv1.RegisterRequest) (*registryv1.RegisterResponse, error) {
	ttl, err := leaseTime(req.GetTtl())
	if err != nil {
		return nil, err
	}
	name, address := req.GetName(), req.GetAddress()
	if err := fixture.CheckName(name, maxCheckerName); err != nil {
		return nil, invalid("name", err)
	}
	if err := fixture.CheckName(address, fixture.MaxIDBytes); err != nil {
		return nil, invalid("address", err)
	}
	if err := r.admitsName(name); err != nil {
		return nil, err
	}
	if !admitsAddress(r.registerAllow, address) {
		return nil, fixture.NewError(fixture.CodeDenied, "register", fmt.Sprintf("%.120q", address), errors.New("the server's configuration (register_allow) does not admit this address"))
	}
	if err := r.instances.reserve(); err != nil {
		return nil, err
	}
	h, err := r.visit(ctx, address)
	if err != nil {
		r.instances.free()
		return nil, err
	}
	in := newInstance(name, principalOf(ctx), h.Description(), r.clock.Now())
	in.address, in.lease = address, &lease{id: rand.Text(), ttl: ttl, stop: func() bool { return false }}
	// Before it is listed: what is refused is not there.
	if err := errors.Join(r.admit(ctx, name, h), h.Close()); err != nil {
		r.instances.free()
		return nil, err
	}
	listed, err := r.instances.lease(in)
	if err != nil {
		r.instances.free()
		return nil, err
	}
	return &registryv1.RegisterResponse{LeaseId: in.lease.id, Instance: listed}, nil
}

// RenewLease implements registryv1.RegistryServiceServer.
func (r *Checkers) RenewLease(ctx context.Context, req *registryv1.RenewLeaseRequest) (*registryv1.RenewLeaseResponse, error) {
	in, err := r.instances.leased(req.GetLeaseId())
	if err != nil {
		return nil, err
	}
	h, err := r.visit(ctx, in.address)
	if err != nil {
		return nil, err
	}
	if err := h.Close(); err != nil {
		return nil, err
	}
	if !proto.Equal(h.Description(), in.desc) {
		r.instances.end(in)
		return nil, errChanged(in)
	}
	listed, err := r.instances.renew(in)
	if err != nil {
		return nil, err
	}
	return &registryv1.RenewLeaseResponse{Instance: listed}, nil
}

// Deregister implements registryv1.RegistryServiceServer.
func (r *Checkers) Deregister(ctx context.Context, req *registryv1.DeregisterRequest) (*registryv1.DeregisterResponse, error) {
	if req.GetInstanceId() != "" {
		if !hasRole(ctx, Admin) {
			return nil, fixture.NewError(fixture.CodeDenied, "deregister", fmt.Sprintf("%.80q", req.GetInstanceId()), errors.New("an instance is ended by its lease, or by an admin"))
		}
		in := r.instances.byID(req.GetInstanceId())
		if in == nil {
			return nil, fixture.NewError(fixture.CodeNotFound, "deregister", fmt.Sprintf("%.80q", req.GetInstanceId()), errors.New("there is no such instance"))
		}
		r.instances.end(in)
		if in.host != nil {
			return &registryv1.DeregisterResponse{}, in.host.Close() // its stream ends with its connection
		}
		return &registryv1.DeregisterResponse{}, nil
	}
	in, err := r.instances.leased(req.GetLeaseId())
	if err != nil {
		return nil, err
	}
	r.instances.end(in)
	return &registryv1.DeregisterResponse{}, nil
}

// visit dials a checker and asks who it is.
func (r *Checkers) visit(ctx context.Context, address string) (*checkerhost.Host, error) {
	ctx, cancel := within(ctx, r.clock, admitTimeout)
	defer cancel()
	h, err := checkerhost.Dial(ctx, address)
	if err != nil && errors.Is(context.Cause(ctx), errTooLate) {
		return nil, fixture.NewError(fixture.CodeUnavailable, "reach", fmt.Sprintf("%.120q", address), fmt.Errorf("it did not say who it is within %s", admitTimeout))
	}
	return h, err
}

func leaseTime(asked *durationpb.Duration) (time.Duration, error) {
	if asked == nil {
		return defaultTTL, nil
	}
	if ttl := asked.AsDuration(); asked.CheckValid() == nil && ttl >= minTTL && ttl <= maxTTL {
		return ttl, nil
	}
	return 0, invalid("ttl", fmt.Errorf("a lease lasts at least %s and at most %s", minTTL, maxTTL))
}

// lease lists a registered instance, and begins its lease.
func (l *instances) lease(in *instance) (*registryv1.Instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.add(in); err != nil {
		return nil, err
	}
	l.leases[in.lease.id] = in
	l.extend(in)
	return in.toProto(), nil
}

// leased gives the instance of a lease. CodeNotFound if it has ended.
func (l *instances) leased(id string) (*instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in, ok := l.leases[id]; ok {
		return in, nil
	}
	return nil, errNoLease()
}

func errNoLease() error {
	return fixture.NewError(fixture.CodeNotFound, "find lease", "", errors.New("there is no such lease, or it has ended: register again"))
}

// renew extends a lease, unless it has ended meanwhile.
func (l *instances) renew(in *instance) (*registryv1.Instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.ended {
		return nil, errNoLease()
	}
	l.extend(in)
	return in.toProto(), nil
}

// extend is called with mu held.
func (l *instances) extend(in *instance) {
	in.lease.stop()
	in.lease.renewals++
	n := in.lease.renewals
	in.lease.expires = l.clock.Now().Add(in.lease.ttl)
	in.lease.stop = l.clock.AfterFunc(in.lease.ttl, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if in.lease.renewals == n { // or it was renewed while the timer went off
			l.drop(in)
		}
	})
}

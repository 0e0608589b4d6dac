package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// storeTimeout is how long the store may take to answer before the server is no longer ready.
const storeTimeout = time.Second

// The states of a server, in their order.
const (
	starting int32 = iota
	serving
	draining
)

// readiness says whether a server serves, to whoever asks, over gRPC health too. Safe for concurrent use.
type readiness struct {
	*health.Server
	read     func() error // reads something of the store
	services []string     // what is registered, and "" for all of it; not written any more once served
	state    atomic.Int32

	mu    sync.Mutex    // guards all below
	asked chan struct{} // closed when the read under way has ended; nil without one
	found error         // what the last read came to
}

func newReadiness(read func() error) *readiness {
	r := &readiness{Server: health.NewServer(), read: read}
	r.register("")
	return r
}

// register has a service be known, and not healthy yet.
func (r *readiness) register(service string) {
	r.services = append(r.services, service)
	r.SetServingStatus(service, healthv1.HealthCheckResponse_NOT_SERVING)
}

// serve has what is registered be healthy, unless it is draining already.
func (r *readiness) serve() {
	if !r.state.CompareAndSwap(starting, serving) {
		return
	}
	for _, name := range r.services {
		r.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING) // nothing any more after Shutdown
	}
}

// drain has nothing be ready or healthy any more, for good.
func (r *readiness) drain() {
	r.state.Store(draining)
	r.Shutdown()
}

// ready gives the reason why the server does not serve: nil while it serves and its store answers.
func (r *readiness) ready(ctx context.Context) error {
	switch r.state.Load() {
	case starting:
		return unready(errors.New("starting"))
	case draining:
		return unready(errors.New("draining: the server is stopping"))
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := r.reads(ctx); err != nil {
		return unready(err)
	}
	return nil
}

func unready(err error) error {
	return fixture.NewError(fixture.CodeUnavailable, "not ready", "", err)
}

// reads waits for a read of the store. All who ask at a time wait for the same one: a disk that hangs holds one goroutine.
func (r *readiness) reads(ctx context.Context) error {
	r.mu.Lock()
	asked := r.asked
	if asked == nil {
		asked = make(chan struct{})
		r.asked = asked
		go func() {
			err := r.read()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked, r.found = nil, err
			close(asked)
		}()
	}
	r.mu.Unlock()
	select {
	case <-asked:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.found
	case <-ctx.Done():
		return fmt.Errorf("the store has not answered within %s", storeTimeout)
	}
}

// Check implements the health service: what is registered is healthy only while the server is ready.
func (r *readiness) Check(ctx context.Context, req *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	res, err := r.Server.Check(ctx, req)
	if err == nil && res.GetStatus() == healthv1.HealthCheckResponse_SERVING && r.ready(ctx) != nil {
		res = &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_NOT_SERVING}
	}
	return res, err
}

// Watch implements the health service. It ends once it has told that the server is draining: a graceful stop would wait for it.
func (r *readiness) Watch(req *healthv1.HealthCheckRequest, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	return r.Server.Watch(req, &healthWatch{stream, ctx, func() {
		if r.state.Load() == draining {
			cancel()
		}
	}})
}

type healthWatch struct {
	grpc.ServerStreamingServer[healthv1.HealthCheckResponse]
	ctx  context.Context
	sent func()
}

// Context implements grpc.ServerStream.
func (w *healthWatch) Context() context.Context { return w.ctx }

// Send implements grpc.ServerStreamingServer.
func (w *healthWatch) Send(res *healthv1.HealthCheckResponse) error {
	err := w.ServerStreamingServer.Send(res)
	w.sent()
	return err
}

// Ready gives the reason why the server does not serve, as a CodeUnavailable error: nil only between Serve and Stop, while
// its store answers.
func (s *Server) Ready(ctx context.Context) error { return s.ready.ready(ctx) }

package server

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/retrial-dev/retrial/fixturestore"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server/identity"
	"github.com/retrial-dev/retrial/server/telemetry"
)

// Limits that no configuration changes.
const (
	maxHeaderBytes    = 16 << 10
	connectionTimeout = 3 * time.Second
)

// Server is the service over an open store.
type Server struct {
	grpc     *grpc.Server
	ready    *readiness
	checkers *Checkers
	replays  *replays
	stopping chan struct{} // closed by Stop
	stopOnce sync.Once
	limits   Limits
	log      *zap.Logger
	observer *telemetry.Telemetry // nil observes nothing
	store    *fixturestore.Store
	conforms Conformance
	required atomic.Bool     // every checker reaches the level that is required of it
	methods  map[string]bool // those that are observed, by full name; not written any more once New is over
}

// Parts are what a server is made of.
type Parts struct {
	// Store is the caller's to close, after Stop.
	Store *fixturestore.Store
	// Checkers are made of the same configuration.
	Checkers *Checkers
	// Key signs attestations; without one there are none.
	Key *identity.Key
	Log *zap.Logger
	// Conformance is needed where the configuration demands a level of checkers.
	Conformance Conformance
	// Telemetry observes the server; nil observes nothing. The caller shuts it down, after Stop.
	Telemetry *telemetry.Telemetry
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// New makes a server. The configuration must be valid. CodeInvalid for certificates that cannot be read, and for a method of
// which nobody says who may call it.
func New(c Config, p Parts) (*Server, error) {
	now, log, store, known := p.Now, p.Log, p.Store, c.Auth.on()
	if now == nil {
		now = time.Now
	}
	now = behindNothing(now, store)
	limits := c.Limits.WithDefaults()
	changed := &bell{}
	s := &Server{ready: newReadiness(store.Ping), checkers: p.Checkers, limits: limits, log: log, stopping: make(chan struct{}), observer: p.Telemetry, store: store, conforms: p.Conformance, methods: map[string]bool{}}
	var err error
	if p.Checkers.admission, err = newAdmission(c, p); err != nil {
		return nil, err
	}
	creds, err := c.TLS.credentials()
	if err != nil {
		return nil, err
	}
	auth := newAuthenticator(c.Auth, now, log)
	unary, stream := interceptors(log, limits, auth)
	s.grpc = grpc.NewServer(
		grpc.Creds(creds), s.observer.ServerOption(func(method string) bool { return s.methods[method] }),
		grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...),
		grpc.MaxRecvMsgSize(limits.MessageBytes), grpc.MaxSendMsgSize(limits.MessageBytes),
		grpc.MaxConcurrentStreams(limits.Streams), grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(connectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
	s.replays = &replays{store: store, registry: p.Checkers, limits: limits, override: c.PolicyOverride, now: now, log: log, observer: s.observer,
		slots: make(chan struct{}, limits.Replays), changed: changed, live: map[string]*live{}}
	fixturev1.RegisterFixtureServiceServer(s.grpc, &fixtures{store: store, now: now, known: known, changed: changed, log: log, heavy: newHeavy()})
	replayv1.RegisterReplayServiceServer(s.grpc, s.replays)
	gatev1.RegisterGateServiceServer(s.grpc, &gates{store: store, running: s.replays.isRunning, now: now, required: c.RequiredSets, known: known, key: p.Key, changed: changed, log: log, stopping: s.stopping})
	logv1.RegisterLogServiceServer(s.grpc, &logs{store: store, key: p.Key})
	registryv1.RegisterRegistryServiceServer(s.grpc, p.Checkers)
	healthv1.RegisterHealthServer(s.grpc, s.ready)
	for name := range s.grpc.GetServiceInfo() {
		s.ready.register(name)
	}
	if c.Reflection {
		reflection.Register(s.grpc)
	}
	s.observe(store)
	return s, checkPermissions(s.served())
}

// behindNothing gives a clock that is never before anything that the log has. Where the machine's was set back, what came last
// would not have come yet, and what was newest before it would stand in its place: an older pass, a waiver before it was revoked.
func behindNothing(now func() time.Time, store *fixturestore.Store) func() time.Time {
	return func() time.Time {
		at := now()
		if latest := store.Latest(); at.Before(latest) {
			return latest
		}
		return at
	}
}

// served gives the full name of everything that is served.
func (s *Server) served() (out []string) {
	for service, info := range s.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			out = append(out, "/"+service+"/"+m.Name)
		}
	}
	return out
}

// Serve serves until Stop. It is nil after Stop. Where the configuration requires a level of a checker, Require must have been called.
func (s *Server) Serve(l net.Listener) error {
	if !s.required.Load() && slices.ContainsFunc(slices.Collect(maps.Values(s.checkers.checkers)), func(c CheckerConfig) bool { return c.RequireLevel != "" }) {
		return errors.Join(errors.New("nobody has seen whether the checkers reach the levels that are required of them"), l.Close())
	}
	s.ready.serve()
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Stop ends the server: it is no longer ready nor healthy, takes no new calls, lets those under way end, and ends them itself
// when the timeout is over. Replays that it ends are recorded as cancelled.
func (s *Server) Stop() error {
	s.ready.drain()
	s.stopOnce.Do(func() { close(s.stopping) }) // those that watch the gate would never end
	s.checkers.instances.stop()                 // or their streams would never end
	hard := time.AfterFunc(s.limits.StopTimeout, func() {
		s.log.Warn("calls under way did not end in time; they are cut", zap.Duration("timeout", s.limits.StopTimeout))
		s.replays.cancelAll() // before their checkers are cut off: they are cancelled, and have lost nothing
		s.grpc.Stop()
	})
	defer hard.Stop()
	s.grpc.GracefulStop()
	s.replays.detached.Wait() // until the hard stop cancels them
	s.replays.stop()
	return s.checkers.Close()
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

package server

import (
	"errors"
	"net"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
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
)

// Limits that no configuration changes.
const (
	maxHeaderBytes    = 16 << 10
	connectionTimeout = 3 * time.Second
)

// Server is the service over an open store.
type Server struct {
	grpc     *grpc.Server
	health   *health.Server
	checkers *Checkers
	replays  *replays
	limits   Limits
	log      *zap.Logger
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
	limits := c.Limits.WithDefaults()
	changed := &bell{}
	s := &Server{health: health.NewServer(), checkers: p.Checkers, limits: limits, log: log}
	creds, err := c.TLS.credentials()
	if err != nil {
		return nil, err
	}
	auth := newAuthenticator(c.Auth, now, log)
	unary, stream := interceptors(log, limits, auth)
	s.grpc = grpc.NewServer(
		grpc.Creds(creds),
		grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...),
		grpc.MaxRecvMsgSize(limits.MessageBytes), grpc.MaxSendMsgSize(limits.MessageBytes),
		grpc.MaxConcurrentStreams(limits.Streams), grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(connectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
	s.replays = &replays{store: store, registry: p.Checkers, limits: limits, override: c.PolicyOverride, now: now, log: log,
		slots: make(chan struct{}, limits.Replays), changed: changed, live: map[string]*live{}}
	fixturev1.RegisterFixtureServiceServer(s.grpc, &fixtures{store: store, now: now, known: known, changed: changed})
	replayv1.RegisterReplayServiceServer(s.grpc, s.replays)
	gatev1.RegisterGateServiceServer(s.grpc, &gates{store: store, running: s.replays.isRunning, now: now, required: c.RequiredSets, known: known, key: p.Key, changed: changed})
	logv1.RegisterLogServiceServer(s.grpc, &logs{store: store, key: p.Key})
	registryv1.RegisterRegistryServiceServer(s.grpc, p.Checkers)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	if c.Reflection {
		reflection.Register(s.grpc)
	}
	return s, checkPermissions(s.methods())
}

// methods gives the full name of everything that is served.
func (s *Server) methods() (out []string) {
	for service, info := range s.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			out = append(out, "/"+service+"/"+m.Name)
		}
	}
	return out
}

// Serve serves until Stop. It is nil after Stop.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Stop ends the server: it is no longer healthy, takes no new calls, lets those under way end, and ends them itself when
// the timeout is over. Replays that it ends are recorded as cancelled.
func (s *Server) Stop() error {
	s.health.Shutdown()
	hard := time.AfterFunc(s.limits.StopTimeout, func() {
		s.log.Warn("calls under way did not end in time; they are cut", zap.Duration("timeout", s.limits.StopTimeout))
		s.grpc.Stop()
	})
	defer hard.Stop()
	s.grpc.GracefulStop()
	s.replays.stop()
	return s.checkers.Close()
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

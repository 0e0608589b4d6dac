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
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
)

// Limits that no configuration changes.
const (
	maxHeaderBytes    = 16 << 10
	connectionTimeout = 3 * time.Second
)

// Server is the service over an open store. The store is its caller's to close, after Stop.
type Server struct {
	grpc     *grpc.Server
	health   *health.Server
	checkers *Checkers
	limits   Limits
	log      *zap.Logger
}

// New makes a server. The configuration must be valid, and checkers be made of it. now is the clock; nil is the machine's.
func New(c Config, store *fixturestore.Store, checkers *Checkers, log *zap.Logger, now func() time.Time) *Server {
	if now == nil {
		now = time.Now
	}
	limits := c.Limits.WithDefaults()
	s := &Server{health: health.NewServer(), checkers: checkers, limits: limits, log: log}
	unary, stream := interceptors(log, limits)
	s.grpc = grpc.NewServer(
		grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...),
		grpc.MaxRecvMsgSize(limits.MessageBytes), grpc.MaxSendMsgSize(limits.MessageBytes),
		grpc.MaxConcurrentStreams(limits.Streams), grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(connectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
	replays := &replays{store: store, registry: checkers, limits: limits, override: c.PolicyOverride, now: now, log: log,
		slots: make(chan struct{}, limits.Replays), running: map[uint64]bool{}}
	fixturev1.RegisterFixtureServiceServer(s.grpc, &fixtures{store: store, now: now})
	replayv1.RegisterReplayServiceServer(s.grpc, replays)
	gatev1.RegisterGateServiceServer(s.grpc, &gates{store: store, running: replays.isRunning})
	registryv1.RegisterRegistryServiceServer(s.grpc, checkers)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	if c.Reflection {
		reflection.Register(s.grpc)
	}
	return s
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
	s.checkers.instances.stop() // or their streams would never end
	hard := time.AfterFunc(s.limits.StopTimeout, func() {
		s.log.Warn("calls under way did not end in time; they are cut", zap.Duration("timeout", s.limits.StopTimeout))
		s.grpc.Stop()
	})
	defer hard.Stop()
	s.grpc.GracefulStop()
	return s.checkers.Close()
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

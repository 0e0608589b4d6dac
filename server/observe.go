package server

import (
	"strings"

	"go.uber.org/zap"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/server/telemetry"
)

// Option changes what New makes.
type Option func(*Server)

// WithTelemetry has a server observed. The caller shuts t down, after Stop.
func WithTelemetry(t *telemetry.Telemetry) Option { return func(s *Server) { s.observer = t } }

// observe has the store and the methods of the contract observed, once all are registered. Probes of health would drown the
// rest.
func (s *Server) observe(store *fixturestore.Store) {
	if err := s.observer.ObserveStoreSize(store.Size); err != nil {
		s.log.Warn("the size of the store is not observed", zap.Error(err))
	}
	for service, info := range s.grpc.GetServiceInfo() {
		if !strings.HasPrefix(service, "retrial.") {
			continue
		}
		for _, m := range info.Methods {
			s.methods["/"+service+"/"+m.Name] = true
		}
	}
}

package server

import (
	"strings"

	"go.uber.org/zap"

	"github.com/retrial-dev/retrial/fixturestore"
)

// observe has the store, the attached checkers and the methods of the contract observed, once all are registered. Probes of health would drown the
// rest.
func (s *Server) observe(store *fixturestore.Store) {
	if err := s.observer.ObserveStoreSize(store.Size); err != nil {
		s.log.Warn("the size of the store is not observed", zap.Error(err))
	}
	if err := s.observer.ObserveInstances(s.checkers.instances.attached); err != nil {
		s.log.Warn("the instances of checkers are not observed", zap.Error(err))
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

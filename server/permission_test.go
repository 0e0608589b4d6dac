package server

import (
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

// A method of which nobody says who may call it keeps the server from starting.
func TestEveryMethodNeedsAnEntry(t *testing.T) {
	store, err := fixturestore.Open(filepath.Join(t.TempDir(), "retrial.db"), fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	parts := Parts{Store: store, Checkers: NewCheckers(Config{}), Log: zap.NewNop()}
	s, err := New(Config{Reflection: true}, parts)
	if err != nil {
		t.Fatal(err)
	}
	served := s.served()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if len(served) != len(permissions) {
		t.Errorf("%d methods are served, the table has %d", len(served), len(permissions))
	}
	const method = gatev1.GateService_GrantWaiver_FullMethodName
	before := permissions[method]
	delete(permissions, method)
	defer func() { permissions[method] = before }()
	if _, err := New(Config{}, parts); err == nil || !strings.Contains(err.Error(), method) {
		t.Errorf("got %v", err)
	}
}

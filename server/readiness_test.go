package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/telemetry"
)

// A server is ready between Serve and Stop alone; /readyz says so over HTTP, before and after too, and gRPC health says the
// same of every service, to those who ask and to those who watch. Nobody who watches holds up the stop.
func TestReadinessFollowsTheServer(t *testing.T) {
	t.Parallel()
	c := Config{Limits: Limits{StopTimeout: time.Hour}}
	s, err := New(c, Parts{Store: gateStore(t), Checkers: NewCheckers(c), Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	services := s.ready.services
	if want := len(s.grpc.GetServiceInfo()) + 1; len(services) != want {
		t.Errorf("%d services have a health, want %d", len(services), want)
	}
	hl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := telemetry.NewEndpoint(nil, s.Ready, zap.NewNop())
	endpoint.Start(hl)
	url := "http://" + hl.Addr().String() + "/readyz"
	wantReady(t, s, url, "starting")
	wantHealth(t, s.ready, services, healthv1.HealthCheckResponse_NOT_SERVING)

	l := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{Service: services[1]}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := watch.Recv(); err != nil || res.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v", res, err)
	}
	wantReady(t, s, url, "")
	wantHealth(t, s.ready, services, healthv1.HealthCheckResponse_SERVING)

	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	if res, err := watch.Recv(); err != nil || res.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got %v, %v", res, err)
	}
	if _, err := watch.Recv(); err == nil {
		t.Error("watching goes on")
	}
	if err := errors.Join(<-stopped, <-served); err != nil {
		t.Error(err)
	}
	wantReady(t, s, url, "draining")
	wantHealth(t, s.ready, services, healthv1.HealthCheckResponse_NOT_SERVING)
	s.ready.serve()
	wantReady(t, s, url, "draining")
	if err := endpoint.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// wantReady holds that a server is ready, or else not for this reason, and that /readyz says the same.
func wantReady(t *testing.T, s *Server, url, reason string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if (res.StatusCode == http.StatusOK) != (reason == "") || !strings.Contains(string(body), reason) {
		t.Errorf("/readyz: got %s, %q, want %q", res.Status, body, reason)
	}
	readyErr := s.Ready(t.Context())
	if reason == "" && readyErr != nil || reason != "" && (fixture.CodeOf(readyErr) != fixture.CodeUnavailable || !strings.Contains(readyErr.Error(), reason)) {
		t.Errorf("got %v, want %q", readyErr, reason)
	}
}

func wantHealth(t *testing.T, r *readiness, services []string, want healthv1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	for _, name := range services {
		if res, err := r.Check(t.Context(), &healthv1.HealthCheckRequest{Service: name}); err != nil || res.GetStatus() != want {
			t.Errorf("%q: got %v, %v; want %s", name, res, err, want)
		}
	}
}

// A server whose store does not answer is not ready, and not healthy.
func TestReadinessNeedsTheStore(t *testing.T) {
	t.Parallel()
	store, err := fixturestore.Open(filepath.Join(t.TempDir(), "retrial.db"), fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newReadiness(store.Ping)
	r.serve()
	wantHealth(t, r, []string{""}, healthv1.HealthCheckResponse_SERVING)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.ready(t.Context()); fixture.CodeOf(err) != fixture.CodeUnavailable || !strings.Contains(err.Error(), "read store") {
		t.Errorf("got %v", err)
	}
	wantHealth(t, r, []string{""}, healthv1.HealthCheckResponse_NOT_SERVING)
}

// A store that hangs is asked once, however many ask for it, and nobody waits for longer than the context lasts.
func TestReadinessOfAStoreThatHangs(t *testing.T) {
	t.Parallel()
	answer := make(chan error)
	r := newReadiness(func() error { return <-answer })
	r.serve()
	var first chan struct{}
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.ready(ctx); err == nil || !strings.Contains(err.Error(), "not answered") {
			t.Errorf("got %v", err)
		}
		r.mu.Lock()
		if first == nil {
			first = r.asked
		}
		if first == nil || r.asked != first {
			t.Error("it was asked again")
		}
		r.mu.Unlock()
	}
	close(answer)
	if err := r.ready(t.Context()); err != nil {
		t.Errorf("it answers again, and still: %v", err)
	}
}

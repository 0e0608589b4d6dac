package telemetry

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
)

// serveEndpoint serves until the test is over.
func serveEndpoint(t *testing.T, tel *Telemetry, ready func(context.Context) error) (url string, client *http.Client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := NewEndpoint(tel, ready, zap.NewNop())
	e.Start(l)
	client = &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := e.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String(), client
}

func request(t *testing.T, client *http.Client, method, url string, header http.Header) (status int, body string, got http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// The endpoint has three paths, for reading alone, and bounds what it takes.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	var why atomic.Pointer[error]
	url, client := serveEndpoint(t, observing(t, Options{Metrics: true}), func(context.Context) error {
		if err := why.Load(); err != nil {
			return *err
		}
		return nil
	})
	reason := errors.New("draining: the server is stopping")
	why.Store(&reason)
	for _, tt := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/healthz", 200, "ok"},
		{"HEAD", "/healthz", 200, ""},
		{"GET", "/readyz", 503, "draining: the server is stopping"},
		{"GET", "/metrics", 200, "go_goroutines"},
		{"POST", "/metrics", 405, ""},
		{"DELETE", "/readyz", 405, ""},
		{"PUT", "/healthz", 405, ""},
		{"GET", "/", 404, ""},
		{"GET", "/metrics/x", 404, ""},
		{"GET", "/debug/pprof/", 404, ""},
		{"POST", "/elsewhere", 404, ""},
	} {
		if status, body, _ := request(t, client, tt.method, url+tt.path, nil); status != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s: got %d, %.100q", tt.method, tt.path, status, body)
		}
	}
	why.Store(nil)
	if status, body, header := request(t, client, "GET", url+"/readyz", nil); status != 200 || body != "ok\n" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("ready: got %d, %q, %v", status, body, header)
	}
	if status, _, _ := request(t, client, "GET", url+"/healthz", http.Header{"X": {strings.Repeat("x", 64<<10)}}); status != 431 {
		t.Errorf("a header of 64 KB: got %d", status)
	}
}

// Without metrics there is no /metrics. Who holds a connection, slowly or not at all, is let go: the server has all its timeouts.
func TestEndpointBoundsItsClients(t *testing.T) {
	t.Parallel()
	url, client := serveEndpoint(t, nil, func(context.Context) error { return nil })
	if status, _, _ := request(t, client, "GET", url+"/metrics", nil); status != 404 {
		t.Errorf("got %d", status)
	}
	s := &NewEndpoint(nil, nil, zap.NewNop()).http
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= scrapeTimeout || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
		t.Errorf("unbounded: %+v", s)
	}
}

// Stop cuts a request that does not end in time, and leaves nothing behind.
func TestEndpointStopsInTime(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	e := NewEndpoint(nil, func(ctx context.Context) error { close(asked); <-ctx.Done(); return ctx.Err() }, zap.NewNop())
	e.Start(l)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got := make(chan error, 1)
	go func() {
		res, err := client.Get("http://" + l.Addr().String() + "/readyz")
		if err == nil {
			err = errors.Join(errors.New("an answer"), res.Body.Close())
		}
		got <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Stop(ctx); err != nil {
		t.Error(err)
	}
	if err := <-got; err == nil || strings.Contains(err.Error(), "an answer") {
		t.Errorf("got %v", err)
	}
}

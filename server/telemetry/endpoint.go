package telemetry

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// Bounds of what an HTTP client can hold.
const (
	maxHTTPHeader = 8 << 10
	readTimeout   = 5 * time.Second
	writeTimeout  = 10 * time.Second // longer than a scrape may take
	idleTimeout   = time.Minute
)

// Endpoint serves, over HTTP and to GET and HEAD alone, /metrics, /healthz (200 while the process is alive) and /readyz (200
// while the server serves, 503 with the reason while it does not).
type Endpoint struct {
	http   http.Server
	served chan error
}

// NewEndpoint makes an endpoint that shows the metrics of t. ready gives the reason why the server does not serve, or nil;
// it is called by any number of goroutines, and must not block.
func NewEndpoint(t *Telemetry, ready func(context.Context) error, log *zap.Logger) *Endpoint {
	mux := http.NewServeMux()
	if metrics := t.MetricsHandler(); metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ok")
	})
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		errorLog = zap.NewStdLog(log)
	}
	return &Endpoint{served: make(chan error, 1), http: http.Server{
		Handler: mux, MaxHeaderBytes: maxHTTPHeader, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, ErrorLog: errorLog,
	}}
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone has no use for it
}

// Start serves in the background until Stop. It takes the listener over, and is called once.
func (e *Endpoint) Start(l net.Listener) {
	go func() { e.served <- e.http.Serve(l) }()
}

// Stop takes no new requests, lets those under way end for as long as ctx lasts, and then cuts them. It gives the error that
// ended serving before, if one did.
func (e *Endpoint) Stop(ctx context.Context) error {
	if err := e.http.Shutdown(ctx); err != nil {
		_ = e.http.Close() // what is cut is not worth an error of its own
	}
	if err := <-e.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

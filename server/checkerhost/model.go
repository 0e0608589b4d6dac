package checkerhost

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// Bounds of what a checker can have open at its model endpoint.
const (
	maxModelConnections  = 64
	maxModelHeaderBytes  = 64 << 10
	modelHeaderTimeout   = 10 * time.Second
	modelBaseURLVariable = "OPENAI_BASE_URL"
	modelAPIKeyVariable  = "OPENAI_API_KEY"
)

// model is what one checker reaches in place of a model.
type model struct {
	address  string
	listener net.Listener // where there is one before the checker starts
	handler  http.Handler
	key      string // by which the endpoint knows its own checker
	server   *http.Server
	served   sync.WaitGroup
}

// newModel makes an endpoint that nobody reaches before serve. A checker without a network of its own gets a port of this machine's
// loopback, which all of its programs can reach: none but the one that was given the key is answered, or counts as having asked.
func newModel(ctx context.Context, h http.Handler, level sandbox.Level) (*model, error) {
	m := &model{handler: h, key: rand.Text()}
	m.server = &http.Server{
		Handler: http.HandlerFunc(m.answer), ReadHeaderTimeout: modelHeaderTimeout, MaxHeaderBytes: maxModelHeaderBytes,
		ErrorLog: log.New(io.Discard, "", 0), // what a checker does to its own endpoint is its own trouble
	}
	m.address = net.JoinHostPort(sandbox.LoopbackHost, strconv.Itoa(sandbox.LoopbackPort))
	if level > sandbox.Off {
		return m, nil
	}
	var err error
	if m.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(sandbox.LoopbackHost, "0")); err != nil {
		return nil, err
	}
	m.address = m.listener.Addr().String()
	return m, nil
}

// environment tells a checker where its model is.
func (m *model) environment() []string {
	return []string{modelBaseURLVariable + "=http://" + m.address + "/v1", modelAPIKeyVariable + "=" + m.key}
}

// answer has whoever knows the key answered.
func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+m.key)) != 1 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"this endpoint answers the checker that it was made for, by the key in OPENAI_API_KEY","type":"invalid_request_error","code":"invalid_api_key","param":null}}`) // whoever asked is gone
		return
	}
	m.handler.ServeHTTP(w, r)
}

// serve answers until close. within is what listens in the checker's own network; nil where it has none.
func (m *model) serve(within net.Listener) {
	l := m.listener
	if l == nil {
		l = within
	}
	if l != nil {
		m.served.Go(func() { _ = m.server.Serve(netutil.LimitListener(l, maxModelConnections)) }) // it ends by close
	}
}

// close ends the endpoint, with what is being answered.
func (m *model) close() error {
	if m == nil {
		return nil
	}
	err := m.server.Close()
	if m.listener != nil {
		if closed := m.listener.Close(); !errors.Is(closed, net.ErrClosed) { // serve was never called
			err = errors.Join(err, closed)
		}
	}
	m.served.Wait()
	return err
}

// Model gives what answers a launched checker in place of a model; nil where nothing does.
func (h *Host) Model() http.Handler {
	if h.process == nil || h.process.model == nil {
		return nil
	}
	return h.process.model.handler
}

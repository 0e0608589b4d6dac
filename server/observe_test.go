//go:build linux

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/telemetry"
)

// lines is a log kept for a test. Safe for concurrent use.
type lines struct {
	mu  sync.Mutex // guards out
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// about gives the lines that have all of the words.
func (l *lines) about(t *testing.T, words ...string) (found []map[string]any) {
	t.Helper()
next:
	for line := range strings.Lines(l.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		found = append(found, fields)
	}
	return found
}

// observed is a server with everything that can be seen of it.
type observed struct {
	*bench
	telemetry *telemetry.Telemetry
	spans     *tracetest.SpanRecorder
	log       *lines
	stop      func() // ends the server; what is recorded afterwards is all
}

func newObserved(t *testing.T) *observed {
	t.Helper()
	sockets, err := os.MkdirTemp("", "rt-")
	if err != nil {
		t.Fatal(err)
	}
	checkNothingLeft(t, sockets)
	o := &observed{bench: &bench{dir: t.TempDir()}, spans: tracetest.NewSpanRecorder(), log: &lines{}}
	o.telemetry, err = telemetry.New(t.Context(), telemetry.Options{Metrics: true, Spans: o.spans})
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{DialAllow: []string{"*"}}
	store, err := fixturestore.Open(filepath.Join(o.dir, "retrial.db"), fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(o.log), zap.DebugLevel))
	s, err := server.New(c, server.Parts{Store: store, Checkers: server.NewCheckers(c), Log: log, Telemetry: o.telemetry})
	if err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	o.conn, err = grpc.NewClient("passthrough:observed", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	o.good = goodChecker(t, filepath.Join(sockets, "good"))
	o.stop = sync.OnceFunc(func() {
		for _, end := range []func() error{o.conn.Close, s.Stop, func() error { return <-served }, store.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() {
		o.stop()
		if err := o.telemetry.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	o.push(t, plainSet, plainCount, nil)
	return o
}

func (o *observed) scrape() string {
	w := httptest.NewRecorder()
	o.telemetry.MetricsHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// After a replay that passed and one that never began to ask, metrics, spans and the audit log say so.
func TestReplayIsObserved(t *testing.T) {
	o := newObserved(t)
	const release = "release-nobody-counts"
	passed := o.replay(t, release, &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(o.good), Candidate: dialled(o.good)})
	if passed.err != nil || passed.decision.GetRuling() != gatev1.Ruling_RULING_PASS {
		t.Fatalf("got %v, %v", passed.decision, passed.err)
	}
	if failed := o.replay(t, release, &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled("unix:/nowhere"), Candidate: dialled(o.good)}); failed.err == nil {
		t.Fatal("a checker that is not there was reached")
	}
	// A method that nobody serves makes no metric and no span, nor does a probe of health.
	if _, err := healthv1.NewHealthClient(o.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	if err := o.conn.Invoke(t.Context(), "/retrial.gate.v1.GateService/MadeUp", &gatev1.GetGateStatusRequest{}, &gatev1.GetGateStatusResponse{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	o.stop()

	metrics := o.scrape()
	for _, line := range []string{
		`retrial_replays_running 0`,
		`retrial_replays_ended_total{outcome="pass",set="plain"} 1`,
		`retrial_replays_ended_total{outcome="failed",set="plain"} 1`,
		`retrial_replay_duration_seconds_count{set="plain"} 2`,
		`retrial_fixtures_answered_total{phase="confirmation"} 300`,
		`retrial_fixtures_answered_total{phase="candidate"} 300`,
		`retrial_fixtures_answered_total{phase="probe"} 300`,
		`retrial_decisions_total{policy="full",ruling="pass"} 1`,
		`rpc_server_call_duration_seconds_count{rpc_method="retrial.replay.v1.ReplayService/Replay",rpc_response_status_code="OK",rpc_system_name="grpc"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if !strings.Contains(metrics, "\nretrial_store_size_bytes ") {
		t.Error("the store has no size")
	}
	for _, secret := range []string{release, passed.decision.GetReplayId(), fixtureID(0), "MadeUp", "grpc.health"} {
		if strings.Contains(metrics, secret) {
			t.Errorf("a metric has %q", secret)
		}
	}
	checkSpans(t, o, passed.decision)
	checkAudit(t, o, passed.decision)
}

// checkSpans holds that the RPC has a span and the phases have its children, and that log lines name the trace.
func checkSpans(t *testing.T, o *observed, d *gatev1.Decision) {
	t.Helper()
	var rpc sdktrace.ReadOnlySpan
	phases := map[string]sdktrace.ReadOnlySpan{}
	if started, ended := len(o.spans.Started()), len(o.spans.Ended()); started != ended {
		t.Errorf("%d spans began and %d ended", started, ended)
	}
	for _, s := range o.spans.Ended() {
		switch name := s.Name(); {
		case strings.Contains(name, "MadeUp"), strings.Contains(name, "grpc.health"):
			t.Errorf("a span %q", name)
		case name == "retrial.replay.v1.ReplayService/Replay" && rpc == nil:
			rpc = s
		case strings.HasPrefix(name, "replay "):
			phases[strings.TrimPrefix(name, "replay ")] = s
		}
	}
	if rpc == nil || len(phases) != 3 {
		t.Fatalf("the RPC has %v, the phases have %v", rpc, phases)
	}
	for name, s := range phases {
		if s.Parent().SpanID() != rpc.SpanContext().SpanID() || s.StartTime().Before(rpc.StartTime()) || s.EndTime().After(rpc.EndTime()) {
			t.Errorf("%s is no part of the RPC: %v", name, s)
		}
	}
	if phases["probe"].StartTime().Before(phases["confirmation"].EndTime()) {
		t.Error("the probe begins before the baseline is confirmed")
	}
	if len(o.log.about(t, `"logger":"audit"`, `"trace_id":"`+rpc.SpanContext().TraceID().String()+`"`, d.GetReplayId())) != 1 {
		t.Errorf("the audit line does not name the trace:\n%s", o.log)
	}
}

// checkAudit holds that there is one audit line, and that the call's own line says what it was about.
func checkAudit(t *testing.T, o *observed, d *gatev1.Decision) {
	t.Helper()
	audits := o.log.about(t, `"logger":"audit"`)
	if len(audits) != 2 || audits[0]["msg"] != "version published" || audits[0]["set"] != plainSet || audits[0]["checksum"] != d.GetChecksum() {
		t.Fatalf("%d audit lines:\n%s", len(audits), o.log)
	}
	a := audits[1]
	if a["msg"] != "decision" || a["replay"] != d.GetReplayId() || a["release"] != d.GetRelease() || a["set"] != plainSet || a["version"] != 1.0 ||
		a["checksum"] != d.GetChecksum() || a["ruling"] != "pass" || a["policy"] != "full" || a["baseline"].(map[string]any)["name"] != "good" || a["request_id"] == nil {
		t.Errorf("got %v", a)
	}
	calls := o.log.about(t, `"msg":"call"`, d.GetReplayId())
	if len(calls) != 1 || calls[0]["request_id"] != a["request_id"] || calls[0]["set"] != plainSet || calls[0]["version"] != 1.0 {
		t.Errorf("the line of the call is %v", calls)
	}
}

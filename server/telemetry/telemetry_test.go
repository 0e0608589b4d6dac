package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

func observing(t *testing.T, o Options) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return tel
}

func scrape(t *testing.T, tel *Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.MetricsHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// nowhere is a sink that takes everything.
type nowhere struct{}

func (nowhere) Started(replayer.Selection) error { return nil }
func (nowhere) Progress(replayer.Progress) error { return nil }
func (nowhere) Finding(gate.Finding) error       { return nil }

// observeReplay observes a replay of two phases, the second of which is cut, with two findings.
func observeReplay(t *testing.T, tel *Telemetry, set string) {
	t.Helper()
	r := tel.Begin(t.Context(), set, 7, "r-secret")
	sink := r.Sink(nowhere{})
	if err := errors.Join(
		sink.Started(replayer.Selection{Hermetic: 4}),
		sink.Progress(replayer.Progress{Phase: replayer.PhaseConfirmation, Answered: 2, Expected: 4}),
		sink.Progress(replayer.Progress{Phase: replayer.PhaseCandidate, Answered: 1, Expected: 4}),
		sink.Progress(replayer.Progress{Phase: replayer.PhaseConfirmation, Answered: 4, Expected: 4}),
		sink.Finding(gate.Finding{Code: gate.Flip, Subject: "f-secret"}),
		sink.Finding(gate.Finding{Code: "MADE_UP"}),
	); err != nil {
		t.Fatal(err)
	}
	r.Decided(Blocked, "full")
	r.End()
}

// What Prometheus sees is what Metrics says: names, types, labels, help. ARCHITECTURE.md is held against Metrics.
func TestMetricsAreWhatIsScraped(t *testing.T) {
	t.Parallel()
	tel := observing(t, Options{Metrics: true})
	observeReplay(t, tel, "memory")
	if err := errors.Join(tel.ObserveInstances(func() int64 { return 3 }), tel.ObserveStoreSize(func() (int64, error) { return 4096, nil })); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, tel)
	for _, m := range Metrics() {
		if !strings.Contains(text, fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Type)) {
			t.Errorf("%s is not there as it is described", m.Name)
		}
		series := regexp.MustCompile(`(?m)^`+m.Name+`(?:_bucket|_sum|_count)?(?:\{(.*)\})? `).FindAllStringSubmatch(text, -1)
		if len(series) == 0 {
			t.Errorf("%s has no series", m.Name)
		}
		for _, s := range series {
			var labels []string
			for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(s[1], -1) {
				labels = append(labels, l[1])
			}
			if labels = slices.DeleteFunc(labels, func(l string) bool { return l == "le" }); !slices.Equal(labels, m.Labels) {
				t.Errorf("%s has the labels %q, want %q", m.Name, labels, m.Labels)
			}
		}
	}
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (retrial_\S+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(Metrics(), func(m Metric) bool { return m.Name == name[1] }) {
			t.Errorf("%s is described nowhere", name[1])
		}
	}
	for _, line := range []string{
		`retrial_replays_running 0`,
		`retrial_replays_ended_total{outcome="block",set="memory"} 1`,
		`retrial_replay_duration_seconds_count{set="memory"} 1`,
		`retrial_fixtures_answered_total{phase="confirmation"} 4`,
		`retrial_fixtures_answered_total{phase="candidate"} 1`,
		`retrial_findings_total{code="FLIP"} 1`,
		`retrial_findings_total{code="other"} 1`,
		`retrial_decisions_total{policy="full",ruling="block"} 1`,
		`retrial_checker_instances 3`,
		`retrial_store_size_bytes 4096`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "MADE_UP") {
		t.Error("a metric has what callers can make up")
	}
}

// After a hundred sets the next ones are "other" together, and the first ones stay.
func TestSetsAsLabelsAreBounded(t *testing.T) {
	t.Parallel()
	tel := observing(t, Options{Metrics: true})
	for n := range 150 {
		tel.Begin(t.Context(), fmt.Sprintf("set-%03d", n), 1, "r").End()
	}
	tel.Begin(t.Context(), "set-000", 1, "r").End()
	text := scrape(t, tel)
	for line, want := range map[string]int{
		`retrial_replays_ended_total{outcome="failed",set="`:            101,
		`retrial_replays_ended_total{outcome="failed",set="other"} 50`:  1,
		`retrial_replays_ended_total{outcome="failed",set="set-000"} 2`: 1,
		`retrial_replays_ended_total{outcome="failed",set="set-099"} 1`: 1,
	} {
		if got := strings.Count(text, line); got != want {
			t.Errorf("%d times %s, want %d", got, line, want)
		}
	}
}

// A phase has a span from where it began to its last answer; one that was cut ends with the replay, as an error.
func TestPhasesHaveSpans(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	observeReplay(t, observing(t, Options{Spans: recorder}), "memory")
	got := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range recorder.Ended() {
		got[s.Name()] = s
	}
	whole, cut := got["replay confirmation"], got["replay candidate"]
	if len(got) != 2 || whole == nil || cut == nil {
		t.Fatalf("got %v", got)
	}
	if whole.Status().Code != codes.Unset || cut.Status().Code != codes.Error || !whole.StartTime().Equal(cut.StartTime()) || whole.EndTime().Before(whole.StartTime()) {
		t.Errorf("got %v from %s to %s, %v from %s", whole.Status(), whole.StartTime(), whole.EndTime(), cut.Status(), cut.StartTime())
	}
}

// Nothing asked for is nothing made, and nothing made can be used all the same.
func TestNothingIsObserved(t *testing.T) {
	t.Parallel()
	tel, err := New(t.Context(), Options{})
	if tel != nil || err != nil {
		t.Fatalf("got %v, %v", tel, err)
	}
	sink := nowhere{}
	r := tel.Begin(t.Context(), "memory", 1, "r-1")
	if r.Sink(sink) != replayer.Sink(sink) || tel.MetricsHandler() != nil {
		t.Error("a sink is put in front, or there are metrics")
	}
	r.Decided(Passed, "full")
	r.End()
	if err := errors.Join(tel.ObserveInstances(nil), tel.ObserveStoreSize(nil), tel.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprintf("%T", tel.ServerOption(nil)); !strings.Contains(got, "EmptyServerOption") {
		t.Errorf("the server has %s", got)
	}
}

// A value that cannot be looked at leaves its metric out, and the others in.
func TestScrapeOfAnErrorIsNoFailure(t *testing.T) {
	t.Parallel()
	tel := observing(t, Options{Metrics: true})
	if err := errors.Join(tel.ObserveInstances(func() int64 { return 1 }), tel.ObserveStoreSize(func() (int64, error) { return 0, errors.New("gone") })); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, tel)
	if strings.Contains(text, "retrial_store_size_bytes ") || !strings.Contains(text, "retrial_checker_instances 1\n") || !strings.Contains(text, "go_goroutines ") {
		t.Errorf("got %s", text)
	}
}

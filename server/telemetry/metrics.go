package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

// Metric describes a metric as Prometheus shows it.
type Metric struct {
	Name string
	// Type is counter, gauge or histogram.
	Type string
	// Unit is in the notation of UCUM: "s", "By", or in braces what is counted.
	Unit string
	// Labels are in ascending order; may be empty. No label has values that callers can make up.
	Labels []string
	// Help says what is measured.
	Help string
}

// maxSets bounds the names of sets that stand in the label "set". Those that come later are "other" together.
const maxSets = 100

const other = "other"

var (
	running   = Metric{"retrial_replays_running", "gauge", "{replay}", nil, "Replays under way."}
	ended     = Metric{"retrial_replays_ended_total", "counter", "{replay}", []string{"outcome", "set"}, "Replays that ended: pass, block, baseline_unconfirmed, or failed where there is no decision."}
	duration  = Metric{"retrial_replay_duration_seconds", "histogram", "s", []string{"set"}, "How long a replay took from its record to its end."}
	answered  = Metric{"retrial_fixtures_answered_total", "counter", "{fixture}", []string{"phase"}, "Fixtures answered, told in hundredths of a phase: confirmation, candidate, probe, derived."}
	findings  = Metric{"retrial_findings_total", "counter", "{finding}", []string{"code"}, "Findings by their code, as they are made; a flip that turns out to be nondeterministic is there as both."}
	decisions = Metric{"retrial_decisions_total", "counter", "{decision}", []string{"policy", "ruling"}, "Decisions recorded, by the kind of their policy: full, bounded, allowlist."}
	instances = Metric{"retrial_checker_instances", "gauge", "{instance}", nil, "Checker instances attached."}
	storeSize = Metric{"retrial_store_size_bytes", "gauge", "By", nil, "Size of the store's file."}
)

// Metrics lists the service's own metrics.
func Metrics() []Metric {
	return []Metric{running, ended, duration, answered, findings, decisions, instances, storeSize}
}

// durations are the bounds of the buckets of a replay's duration, in seconds: from a small set to the longest run.
var durations = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800, 7200}

type instruments struct {
	running                              metric.Int64UpDownCounter
	ended, answered, findings, decisions metric.Int64Counter
	duration                             metric.Float64Histogram
}

func newInstruments(m metric.Meter) (i instruments, err error) {
	var errs [6]error
	i.running, errs[0] = m.Int64UpDownCounter(running.Name, metric.WithUnit(running.Unit), metric.WithDescription(running.Help))
	for n, c := range []struct {
		to *metric.Int64Counter
		Metric
	}{{&i.ended, ended}, {&i.answered, answered}, {&i.findings, findings}, {&i.decisions, decisions}} {
		*c.to, errs[1+n] = m.Int64Counter(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Help))
	}
	i.duration, errs[5] = m.Float64Histogram(duration.Name, metric.WithUnit(duration.Unit), metric.WithDescription(duration.Help),
		metric.WithExplicitBucketBoundaries(durations...))
	return i, errors.Join(errs[:]...)
}

// ObserveInstances has count asked, at every scrape, how many checker instances are attached. It must not block.
func (t *Telemetry) ObserveInstances(count func() int64) error {
	return t.observe(instances, func() (int64, error) { return count(), nil })
}

// ObserveStoreSize has size asked, at every scrape, for the bytes of the store's file.
func (t *Telemetry) ObserveStoreSize(size func() (int64, error)) error {
	return t.observe(storeSize, size)
}

func (t *Telemetry) observe(m Metric, value func() (int64, error)) error {
	if t == nil {
		return nil
	}
	_, err := t.meter.Int64ObservableGauge(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			v, err := value()
			if err == nil {
				o.Observe(v)
			}
			return err
		}))
	return err
}

// bounded admits so many distinct values of a label, and gives "other" for the rest. Safe for concurrent use.
type bounded struct {
	most int

	mu   sync.Mutex // guards seen
	seen map[string]bool
}

func newBounded(most int) *bounded { return &bounded{most: most, seen: map[string]bool{}} }

func (b *bounded) value(v string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[v] && len(b.seen) >= b.most {
		return other
	}
	b.seen[v] = true
	return v
}

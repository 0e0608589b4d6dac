package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// Outcome says how a replay ended.
type Outcome string

// The outcomes. A replay that came to no decision, or whose decision could not be recorded, has failed.
const (
	Passed      Outcome = "pass"
	Blocked     Outcome = "block"
	Unconfirmed Outcome = "baseline_unconfirmed"
	Failed      Outcome = "failed"
)

// Replay observes one replay. A nil one observes nothing. Its methods are not safe for concurrent use.
type Replay struct {
	t       *Telemetry
	ctx     context.Context // has the span that those of the phases are children of
	set     string
	about   []attribute.KeyValue
	begun   time.Time
	outcome Outcome
	sink    *observed // nil before there is one
}

// Begin observes a replay that begins, of a set that the store has. The caller ends it with End.
func (t *Telemetry) Begin(ctx context.Context, set string, version uint64, replay string) *Replay {
	if t == nil {
		return nil
	}
	about := []attribute.KeyValue{attribute.String("retrial.set", set), attribute.Int64("retrial.version", int64(version)), attribute.String("retrial.replay", replay)}
	trace.SpanFromContext(ctx).SetAttributes(about...)
	t.measured.running.Add(ctx, 1)
	return &Replay{t: t, ctx: ctx, set: t.sets.value(set), about: about, begun: time.Now(), outcome: Failed}
}

// Decided observes that the replay's decision is recorded: the ruling, and the kind of the policy that it was made by.
func (r *Replay) Decided(ruling Outcome, policy string) {
	if r == nil {
		return
	}
	r.outcome = ruling
	r.t.measured.decisions.Add(r.ctx, 1, labelled("ruling", string(ruling), "policy", policy))
}

// End observes that the replay is over: as it was decided, or failed. It ends the spans of phases that were cut.
func (r *Replay) End() {
	if r == nil {
		return
	}
	if r.sink != nil {
		r.sink.end()
	}
	r.t.measured.running.Add(r.ctx, -1)
	r.t.measured.ended.Add(r.ctx, 1, labelled("set", r.set, "outcome", string(r.outcome)))
	r.t.measured.duration.Record(r.ctx, time.Since(r.begun).Seconds(), labelled("set", r.set))
}

// Sink gives a sink that counts what goes through it to another, with a span for each phase. It is called once.
func (r *Replay) Sink(to replayer.Sink) replayer.Sink {
	if r == nil {
		return to
	}
	r.sink = &observed{Sink: to, r: r, phases: map[replayer.Phase]*phase{}}
	return r.sink
}

// phaseNames are the values of the label "phase".
var phaseNames = map[replayer.Phase]string{
	replayer.PhaseConfirmation: "confirmation",
	replayer.PhaseCandidate:    "candidate",
	replayer.PhaseProbe:        "probe",
	replayer.PhaseDerived:      "derived",
}

// observed is a sink in front of another. It relies on a Sink's methods never being called at the same time.
type observed struct {
	replayer.Sink
	r      *Replay
	begun  time.Time // when the first two phases began
	closed time.Time // when the last phase that ended did: there the next begins
	phases map[replayer.Phase]*phase
}

type phase struct {
	span     trace.Span
	answered uint64
	over     bool
}

// Started implements replayer.Sink.
func (s *observed) Started(n replayer.Selection) error {
	s.begun = time.Now()
	s.closed = s.begun
	return s.Sink.Started(n)
}

// Progress implements replayer.Sink. A phase is first told of when it is under way: its span begins where it did.
func (s *observed) Progress(p replayer.Progress) error {
	ph := s.phases[p.Phase]
	if ph == nil {
		begun := s.closed
		if p.Phase == replayer.PhaseConfirmation || p.Phase == replayer.PhaseCandidate {
			begun = s.begun // they run side by side
		}
		ph = &phase{}
		_, ph.span = s.r.t.tracer.Start(s.r.ctx, "replay "+phaseNames[p.Phase], trace.WithTimestamp(begun), trace.WithAttributes(s.r.about...))
		s.phases[p.Phase] = ph
	}
	s.r.t.measured.answered.Add(s.r.ctx, int64(p.Answered-ph.answered), labelled("phase", phaseNames[p.Phase]))
	ph.answered = p.Answered
	if p.Answered == p.Expected && !ph.over {
		ph.over, s.closed = true, time.Now()
		ph.span.End(trace.WithTimestamp(s.closed))
	}
	return s.Sink.Progress(p)
}

// Finding implements replayer.Sink.
func (s *observed) Finding(f gate.Finding) error {
	code := string(f.Code)
	if !slices.Contains(gate.Codes(), f.Code) {
		code = other
	}
	s.r.t.measured.findings.Add(s.r.ctx, 1, labelled("code", code))
	return s.Sink.Finding(f)
}

func (s *observed) end() {
	for _, ph := range s.phases {
		if !ph.over {
			ph.span.SetStatus(codes.Error, "the phase did not come to its end")
			ph.span.End()
		}
	}
}

func labelled(pairs ...string) metric.MeasurementOption {
	attrs := make([]attribute.KeyValue, 0, len(pairs)/2)
	for kv := range slices.Chunk(pairs, 2) {
		attrs = append(attrs, attribute.String(kv[0], kv[1]))
	}
	return metric.WithAttributes(attrs...)
}

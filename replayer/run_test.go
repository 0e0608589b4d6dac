package replayer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

func wantRuling(t *testing.T, r *replayer.Report, want gate.Ruling, codes ...gate.Code) {
	t.Helper()
	if r.Ruling != want {
		t.Errorf("ruling %d, want %d: %s", r.Ruling, want, r.Summary)
	}
	for _, code := range codes {
		if !slices.ContainsFunc(r.Causes, func(c gate.Cause) bool { return c.Code == code }) {
			t.Errorf("the causes %+v lack %s", r.Causes, code)
		}
	}
}

// R22, R23: the baseline confirms every fixture, and the candidate that is its equal passes. Every case is asked once in
// each phase.
func TestEqualCandidatePasses(t *testing.T) {
	for _, n := range []int{1, 2, 99, 100, 101, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSet(t, n, nil)
			baseline, candidate := honest("old"), honest("new")
			r, e := run(t, trial(s, baseline, candidate))
			wantRuling(t, r, gate.Pass)
			total := uint64(n)
			if r.Evidence != (gate.Evidence{Expected: total, Confirmed: total, Evaluated: total, Probed: total}) {
				t.Errorf("evidence %+v", r.Evidence)
			}
			if len(baseline.asked) != n || len(candidate.asked) != 2*n || candidate.streams != 2 {
				t.Errorf("asked %d and %d times over %d streams", len(baseline.asked), len(candidate.asked), candidate.streams)
			}
			if e.order[0] != "started" || e.started.Hermetic != total {
				t.Errorf("events begin with %q, %+v", e.order[0], e.started)
			}
		})
	}
}

// R23, R25: flips are told in the order of fixtures, with old and new, class, row and the members to show, and none before
// the baseline has confirmed everything.
func TestR23FlipsInOrderBehindTheConfirmation(t *testing.T) {
	s := newSet(t, 3000, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		switch {
		case strings.HasSuffix(r.Fixture.ID, "01"):
			a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}
		case strings.HasSuffix(r.Fixture.ID, "50"):
			a.Outcome.ReasonCode = "other"
		}
		return a
	}
	tr := trial(s, honest("old"), candidate)
	tr.Show = []string{"i", "nope"}
	r, e := run(t, tr)
	wantRuling(t, r, gate.Block, gate.Flip)
	flips := e.subjects(gate.Flip)
	if !slices.IsSorted(flips) || uint64(len(flips)) != r.Tally.Flipped() || len(flips) == 0 {
		t.Errorf("%d flips, %d counted", len(flips), r.Tally.Flipped())
	}
	confirmed := slices.Index(e.order, "progress 1 3000/3000")
	first := slices.IndexFunc(e.order, func(s string) bool { return strings.HasPrefix(s, "finding FLIP") })
	if confirmed < 0 || first < confirmed {
		t.Errorf("the first flip stands at %d, the end of the confirmation at %d", first, confirmed)
	}
	i := slices.IndexFunc(e.findings, func(f gate.Finding) bool { return f.Subject == "f-00050" })
	f := e.findings[i]
	if f.SourceRowID != "row-50" || f.Class != fixture.ClassReason || f.Old.String() != "promoted/large" || f.New.String() != "promoted/other" || f.Inputs[0].Value != "50" || f.Inputs[1].Value != "" {
		t.Errorf("got %+v", f)
	}
}

// R22: a baseline that does not reproduce its past stops the run; each mismatch is named, and nothing of the candidate is
// told.
func TestR22UnconfirmedBaselineStops(t *testing.T) {
	s := newSet(t, 1000, nil)
	baseline := honest("old")
	baseline.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.ID == "f-00500" || r.Fixture.ID == "f-00999" {
			a.Outcome.ReasonCode = "other"
		}
		return a
	}
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "all"}
		return a
	}
	r, e := run(t, trial(s, baseline, candidate))
	wantRuling(t, r, gate.BaselineUnconfirmed, gate.BaselineMismatch)
	if got := e.subjects(gate.BaselineMismatch); !slices.Equal(got, []string{"f-00500", "f-00999"}) {
		t.Errorf("mismatches %v", got)
	}
	if got := e.subjects(gate.Flip); len(got) != 0 || r.Evidence.Evaluated != 0 {
		t.Errorf("%d flips are told, %+v", len(got), r.Evidence)
	}
	if r.Evidence.Confirmed != 998 {
		t.Errorf("evidence %+v", r.Evidence)
	}
	t.Run("keep going", func(t *testing.T) {
		tr := trial(s, baseline, candidate)
		tr.KeepGoing = true
		r, e := run(t, tr)
		wantRuling(t, r, gate.BaselineUnconfirmed)
		if len(e.subjects(gate.Flip)) != 1000 {
			t.Errorf("%d flips", len(e.subjects(gate.Flip)))
		}
	})
}

// More flips than are held back while the baseline is not confirmed: none is lost, and the order stays.
func TestCandidateWaitsForTheBaseline(t *testing.T) {
	s := newSet(t, 10_000, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome.ReasonCode = "other"
		return a
	}
	r, e := run(t, trial(s, honest("old"), candidate))
	if flips := e.subjects(gate.Flip); len(flips) != 10_000 || !slices.IsSorted(flips) || r.Tally.Flipped() != 10_000 || len(r.Findings) != replayer.MaxFindings {
		t.Errorf("%d flips told, %d counted, %d kept", len(flips), r.Tally.Flipped(), len(r.Findings))
	}
}

// R29: an empty selection blocks.
func TestR29NothingSelected(t *testing.T) {
	s := newSet(t, 10, nil)
	tr := trial(s, honest("old"), honest("new"))
	tr.Selected = func(string) bool { return false }
	r, _ := run(t, tr)
	wantRuling(t, r, gate.Block, gate.NoFixtures)
	t.Run("only derived ones", func(t *testing.T) {
		s := newSet(t, 10, func(_ int, doc string) string { return strings.Replace(doc, `{`, `{"group":"derived",`, 1) })
		tr := trial(s, honest("old"), honest("new"))
		tr.IncludeDerived = true
		r, _ := run(t, tr)
		wantRuling(t, r, gate.Block, gate.NoFixtures)
	})
}

// R16: a version whose content has another checksum is not tried at all.
func TestR16ChecksumIsVerified(t *testing.T) {
	s := newSet(t, 10, nil)
	tr := trial(s, honest("old"), honest("new"))
	s.cases = s.cases[:9] // a removal behind the store's back
	_, err := replayer.Run(context.Background(), tr, &events{})
	if fixture.CodeOf(err) != fixture.CodeCorrupt || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
}

// R17: derived fixtures are tried when asked for, reported, and never gate.
func TestR17DerivedNeverGates(t *testing.T) {
	s := newSet(t, 300, func(i int, doc string) string {
		if i%10 == 0 {
			return strings.Replace(doc, `{`, `{"group":"derived",`, 1)
		}
		return doc
	})
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.Group == fixture.Derived {
			a.Outcome.ReasonCode = "recomputed"
		}
		return a
	}
	r, e := run(t, trial(s, honest("old"), candidate))
	wantRuling(t, r, gate.Pass)
	if n := len(e.subjects(gate.Flip)); n != 0 || r.Evidence.Expected != 270 {
		t.Errorf("%d flips unasked for, %+v", n, r.Evidence)
	}
	tr := trial(s, honest("old"), candidate)
	tr.IncludeDerived = true
	r, e = run(t, tr)
	wantRuling(t, r, gate.Pass)
	if n := len(e.subjects(gate.Flip)); n != 30 || r.Tally.Flipped() != 0 {
		t.Errorf("%d flips told, %d counted", n, r.Tally.Flipped())
	}
}

// R19: stubs go with their case; one that neither checker asks for is told, and a baseline that asks for none of them is
// not pinned.
func TestR19StubUsage(t *testing.T) {
	stubbed := func() *set {
		s := &set{sum: fixture.NewChecksum(vocabulary)}
		for _, c := range newSet(t, 10, nil).cases {
			d := fixture.DigestOf([]byte("stubs"))
			c.StubDigest, c.Stubs = &d, []replayer.Stub{{Call: "classify", Value: []byte(`"fact"`)}, {Call: "rank", Value: []byte(`1`)}}
			s.add(t, c)
		}
		return s
	}
	using := func(calls ...string) *checker {
		c := honest("c")
		c.decide = func(r replayer.Request) replayer.Answer {
			a := faithful(r)
			a.StubsUsed = calls
			return a
		}
		return c
	}
	r, e := run(t, trial(stubbed(), using("classify"), using("rank")))
	wantRuling(t, r, gate.Pass)
	if n := len(e.subjects(gate.StubUnused)); n != 0 {
		t.Errorf("%d stubs are said to be unused, and each was asked for by one checker", n)
	}
	r, e = run(t, trial(stubbed(), using("classify"), using("classify")))
	wantRuling(t, r, gate.Pass)
	if got := e.subjects(gate.StubUnused); len(got) != 10 || !slices.IsSorted(got) || !strings.Contains(e.findings[len(e.findings)-1].Message, "rank") {
		t.Errorf("got %v", got)
	}
	r, _ = run(t, trial(stubbed(), using(), using("classify", "rank")))
	wantRuling(t, r, gate.Block, gate.StubsBypassed)
	r, e = run(t, trial(stubbed(), using("classify", "rank"), using()))
	wantRuling(t, r, gate.Pass)
	if got := e.subjects(gate.StubsBypassed); len(got) != 1 {
		t.Errorf("a candidate that asks for no stub is not told of: %v", e.findings)
	}
}

package replayer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// R27: an expired entry and one that covers nothing block; one that covers its flip lets it pass.
func TestR27AllowlistInARun(t *testing.T) {
	s := newSet(t, 10, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.ID == "f-00001" {
			a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}
		}
		return a
	}
	tr := trial(s, honest("old"), candidate)
	entry := gate.Entry{FixtureID: "f-00001", Old: fixture.Outcome{Verdict: "promoted", ReasonCode: "large"}, New: fixture.Outcome{Verdict: "dropped", ReasonCode: "small"},
		Reason: "r", Owner: "o", ExpiresAt: tr.Now.Add(time.Hour)}
	tr.Policy = gate.Policy{Kind: gate.Listed}
	for _, tt := range []struct {
		name   string
		change func(e *gate.Entry)
		want   gate.Ruling
		codes  []gate.Code
	}{
		{"in force", func(*gate.Entry) {}, gate.Pass, nil},
		{"expired", func(e *gate.Entry) { e.ExpiresAt = tr.Now }, gate.Block, []gate.Code{gate.AllowlistExpired, gate.Flip}},
		{"for another fixture", func(e *gate.Entry) { e.FixtureID = "f-00002" }, gate.Block, []gate.Code{gate.AllowlistUnused, gate.Flip}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := entry
			tt.change(&e)
			tr.Allowlist = []gate.Entry{e}
			r, _ := run(t, tr)
			wantRuling(t, r, tt.want, tt.codes...)
		})
	}
}

// R27: an entry covers no flip whose output documents differ, even where they do so behind all that a finding carries of them.
func TestR27OutputsDifferBehindTheirBeginnings(t *testing.T) {
	long := strings.Repeat("x", 2000)
	output := func(last string) string { return fmt.Sprintf(`"%s%s"`, long, last) }
	s := newSet(t, 10, func(_ int, doc string) string {
		return strings.TrimSuffix(doc, "}") + `,"output":` + output("1") + "}"
	})
	answer := func(last string) func(replayer.Request) replayer.Answer {
		return func(r replayer.Request) replayer.Answer {
			a := faithful(r)
			a.Outcome.Output = []byte(output("1"))
			if r.Fixture.ID == "f-00001" {
				a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "small", Output: []byte(output(last))}
			}
			return a
		}
	}
	for last, want := range map[string]gate.Ruling{"1": gate.Pass, "2": gate.Block} {
		baseline, candidate := honest("old"), honest("new")
		baseline.decide = func(r replayer.Request) replayer.Answer {
			a := faithful(r)
			a.Outcome.Output = []byte(output("1"))
			return a
		}
		candidate.decide = answer(last)
		tr := trial(s, baseline, candidate)
		tr.Policy = gate.Policy{Kind: gate.Listed}
		tr.Allowlist = []gate.Entry{{FixtureID: "f-00001", Old: fixture.Outcome{Verdict: "promoted", ReasonCode: "large"},
			New: fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}, Reason: "r", Owner: "o", ExpiresAt: tr.Now.Add(time.Hour)}}
		r, _ := run(t, tr)
		wantRuling(t, r, want)
	}
}

// R35: a reason code that the set has never seen, and one that is declared and not covered, are told. R9: so is a set of
// one verdict. A baseline of another configuration than the set's blocks.
func TestR35Suspicions(t *testing.T) {
	s := newSet(t, 30, func(_ int, doc string) string { return strings.Replace(doc, `"promoted"`, `"dropped"`, 1) })
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "brand_new"}
		return a
	}
	baseline := honest("old")
	baseline.desc = replayer.Description{ReasonCodes: []string{"small", "rare"}, ConfigurationVersion: "7"}
	tr := trial(s, baseline, candidate)
	tr.QueueConfiguration = "6"
	r, _ := run(t, tr)
	wantRuling(t, r, gate.BaselineUnconfirmed, gate.ConfigurationMismatch)
	tr.QueueConfiguration, tr.KeepGoing = "7", true
	_, e := run(t, tr)
	for code, want := range map[gate.Code][]string{gate.ReasonUnseen: {"brand_new"}, gate.ReasonUncovered: {"rare"}, gate.OneVerdict: {"dropped"}, gate.ConfigurationMismatch: nil} {
		if got := e.subjects(code); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", code, got, want)
		}
	}
}

// A recording that is over its age blocks, at the run's instant and not at the machine's.
func TestStaleRecordingBlocks(t *testing.T) {
	s := newSet(t, 10, nil)
	tr := trial(s, honest("old"), honest("new"))
	expires := tr.Now
	s.cases[3].Recordings = func(now time.Time) []replayer.Problem {
		if !fixture.Expired(expires, now) {
			return nil
		}
		return []replayer.Problem{{Code: gate.RecordingStale, Message: "old"}}
	}
	r, e := run(t, tr)
	wantRuling(t, r, gate.Block, gate.RecordingStale)
	if got := e.subjects(gate.RecordingStale); !slices.Equal(got, []string{"f-00003"}) {
		t.Errorf("got %v", got)
	}
	expires = tr.Now.Add(1)
	r, _ = run(t, tr)
	wantRuling(t, r, gate.Pass)
	s.cases[3].Recordings = func(time.Time) []replayer.Problem {
		return []replayer.Problem{{Code: gate.RecordingChanged, Message: "edited"}}
	}
	r, _ = run(t, tr)
	wantRuling(t, r, gate.Block, gate.RecordingChanged)
}

// R4: neither the machine's clock nor the seed of the probe changes a ruling or a finding. Answers may come in any order
// and any batching.
func TestR4SameFindingsHoweverAnswered(t *testing.T) {
	s := newSet(t, 700, nil)
	flips := func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if strings.HasSuffix(r.Fixture.ID, "7") {
			a.Outcome.ReasonCode = "other"
		}
		return a
	}
	plain := honest("new")
	plain.decide = flips
	want, wantEvents := run(t, trial(s, honest("old"), plain))
	rapid.Check(t, func(rt *rapid.T) {
		c := honest("new")
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1))
		var held []replayer.Answer
		c.answers = func(_ int, batch []replayer.Request) ([]replayer.Answer, error) {
			for _, r := range batch {
				held = append(held, flips(r))
			}
			shuffle.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
			// What is held back would never be answered behind the last batch, so that all goes out.
			out := held
			held = nil
			return out, nil
		}
		tr := trial(s, honest("old"), c)
		tr.Seed = rapid.Uint64().Draw(rt, "seed")
		e := &events{}
		got, err := replayer.Run(context.Background(), tr, e)
		if err != nil {
			rt.Fatal(err)
		}
		if got.Summary != want.Summary || got.Evidence != want.Evidence || !slices.Equal(e.subjects(gate.Flip), wantEvents.subjects(gate.Flip)) {
			rt.Fatalf("got %s, %+v", got.Summary, got.Evidence)
		}
	})
}

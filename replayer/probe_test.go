package replayer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// R24: an answer that changes when it is asked for again is a bug and no flip.
func TestR24Nondeterministic(t *testing.T) {
	s := newSet(t, 500, nil)
	other := fixture.Outcome{Verdict: "dropped", ReasonCode: "other"}
	var seen uint64
	for _, tt := range []struct {
		name   string
		decide func(stream int, r replayer.Request, a *replayer.Answer)
		want   []string
	}{
		{"first as recorded, then otherwise", func(n int, r replayer.Request, a *replayer.Answer) {
			if n == 2 && r.Fixture.ID == "f-00042" {
				a.Outcome = other
			}
		}, []string{"f-00042"}},
		{"first otherwise, then as recorded", func(n int, r replayer.Request, a *replayer.Answer) {
			if n == 1 && r.Fixture.ID == "f-00042" {
				a.Outcome = other
			}
		}, []string{"f-00042"}},
		{"an error once", func(n int, r replayer.Request, a *replayer.Answer) {
			if n == 2 && r.Fixture.ID == "f-00042" {
				a.Err = &replayer.CaseError{Message: "x"}
			}
		}, []string{"f-00042"}},
		{"by the case id", func(_ int, r replayer.Request, a *replayer.Answer) {
			if r.CaseID%2 == 0 {
				a.Outcome = other
			}
		}, nil},
		{"by the case id, over one", func(_ int, r replayer.Request, a *replayer.Answer) {
			if r.Fixture.ID != "f-00042" {
				return
			}
			if seen == 0 {
				seen = r.CaseID
			}
			if r.CaseID == seen {
				a.Outcome = other
			}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			byID := strings.Contains(tt.name, "by the case id")
			c := honest("new")
			c.answers = func(n int, batch []replayer.Request) ([]replayer.Answer, error) {
				var out []replayer.Answer
				for _, r := range batch {
					a := faithful(r)
					tt.decide(n, r, &a)
					out = append(out, a)
				}
				return out, nil
			}
			r, e := run(t, trial(s, honest("old"), c))
			wantRuling(t, r, gate.Block, gate.Nondeterministic)
			got := e.subjects(gate.Nondeterministic)
			if last := len(got) - 1; byID != (got[last] == "new") {
				t.Errorf("blamed for its look at the case id: %v", got)
			} else if byID {
				got = got[:last]
			}
			if !slices.IsSorted(got) || tt.want != nil && !slices.Equal(got, tt.want) || len(got) == 0 {
				t.Errorf("got %v", got)
			}
			if tt.want != nil && r.Tally.Flipped() != 0 {
				t.Errorf("%d flips are counted", r.Tally.Flipped())
			}
		})
	}
}

// The probe asks in another order and in other batches, under other case ids.
func TestProbeAsksOtherwise(t *testing.T) {
	s := newSet(t, 1000, nil)
	c := honest("new")
	ids := map[int]map[uint64]bool{1: {}, 2: {}}
	c.answers = func(n int, batch []replayer.Request) ([]replayer.Answer, error) {
		var out []replayer.Answer
		for _, r := range batch {
			ids[n][r.CaseID] = true
			out = append(out, faithful(r))
		}
		return out, nil
	}
	run(t, trial(s, honest("old"), c))
	first, again := c.asked[:1000], c.asked[1000:]
	if !slices.IsSorted(first) || slices.IsSorted(again) {
		t.Error("the order is the same")
	}
	if sorted := slices.Sorted(slices.Values(again)); !slices.Equal(sorted, first) {
		t.Error("the probe asks for other fixtures")
	}
	for id := range ids[1] {
		if ids[2][id] {
			t.Fatalf("case id %d was given twice", id)
		}
	}
	if len(ids[1]) != 1000 || len(ids[2]) != 1000 || ids[1][0] {
		t.Error("case ids are not unique")
	}
}

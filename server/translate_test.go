package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// A set's configuration survives the way to the wire and back, whatever it holds.
func TestSetRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		verdicts := rapid.SliceOfNDistinct(word, 2, 4, rapid.ID).Draw(t, "verdicts")
		s := Set{
			Vocabulary:         fixture.Vocabulary{Verdicts: verdicts, Permissive: rapid.SampledFrom(verdicts).Draw(t, "permissive"), ReasonCodes: rapid.SliceOfNDistinct(word, 0, 3, rapid.ID).Draw(t, "reasons")},
			QueueConfiguration: rapid.SampledFrom([]string{"", "queue/7"}).Draw(t, "queue"),
			Show:               rapid.SliceOfN(word, 0, 3).Draw(t, "show"),
			Policy:             gate.Policy{Kind: rapid.SampledFrom([]gate.Kind{gate.Full, gate.Bounded, gate.Listed}).Draw(t, "kind"), BlockUnusedStubs: rapid.Bool().Draw(t, "unused"), AllowlistCap: rapid.IntRange(0, 40).Draw(t, "cap")},
		}
		switch s.Policy.Kind {
		case gate.Bounded:
			s.Policy.Bounds = rapid.MapOfN(rapid.SampledFrom(fixture.Classes()), rapid.Uint32(), 1, 3).Draw(t, "bounds")
		case gate.Listed:
			s.Policy.AllowlistCap = 0
			s.Allowlist = []gate.Entry{{
				FixtureID: word.Draw(t, "id"), Old: fixture.Outcome{Verdict: "a", ReasonCode: word.Draw(t, "old")}, New: fixture.Outcome{Verdict: "b", ReasonCode: word.Draw(t, "new")},
				Reason: "r", Owner: "o", ExpiresAt: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "expires"), 5).UTC(),
			}}
		}
		wire, err := proto.Marshal(s.ToProto())
		if err != nil {
			t.Fatal(err)
		}
		var p fixturev1.SetConfig
		if err := proto.Unmarshal(wire, &p); err != nil {
			t.Fatal(err)
		}
		got, err := SetFromProto(&p)
		if err != nil {
			t.Fatal(err)
		}
		empty := cmp.Comparer(func(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") && len(a) == len(b) })
		if diff := cmp.Diff(s, got, empty); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSetFromProtoRefuses(t *testing.T) {
	good := Set{Vocabulary: fixture.Vocabulary{Verdicts: []string{"a", "b"}, Permissive: "a"}}.ToProto()
	if _, err := SetFromProto(good); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*fixturev1.SetConfig)
		want   string
	}{
		{"an unknown schema", func(p *fixturev1.SetConfig) { p.Schema = 2 }, "schema 2 is unknown"},
		{"no vocabulary", func(p *fixturev1.SetConfig) { p.Vocabulary = nil }, "at least two"},
		{"an unknown policy", func(p *fixturev1.SetConfig) { p.Policy.Kind = 77 }, "kind 77 is unknown"},
		{"an unknown class", func(p *fixturev1.SetConfig) {
			p.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_BOUNDED, Bounds: map[string]uint32{"sideways": 1}}
		}, `"sideways" is unknown`},
		{"an incomplete entry", func(p *fixturev1.SetConfig) {
			p.Policy.Kind = gatev1.PolicyKind_POLICY_KIND_ALLOWLIST
			p.Allowlist = []*gatev1.AllowlistEntry{{FixtureId: "f", ExpiresAt: timestamppb.Now()}}
		}, "owner: missing"},
		{"too much to show", func(p *fixturev1.SetConfig) { p.Show = make([]string, 17) }, "over the limit of 16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := proto.CloneOf(good)
			tt.change(p)
			if _, err := SetFromProto(p); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// Every word of the domain has one on the wire, and no two have the same.
func TestWordsHaveTheirOwn(t *testing.T) {
	if len(severities) != 4 || len(rulings) != 4 || len(phases) != 4 {
		t.Errorf("severities %d, rulings %d, phases %d", len(severities), len(rulings), len(phases))
	}
	seen := map[gatev1.Severity]bool{}
	for _, s := range severities {
		if seen[s] || s == gatev1.Severity_SEVERITY_UNSPECIFIED {
			t.Errorf("%s stands twice, or for nothing", s)
		}
		seen[s] = true
	}
	if rulings[gate.NoRuling] != gatev1.Ruling_RULING_UNSPECIFIED || rulings[gate.Pass] != gatev1.Ruling_RULING_PASS || rulings[gate.BaselineUnconfirmed] != gatev1.Ruling_RULING_BASELINE_UNCONFIRMED {
		t.Errorf("got %v", rulings)
	}
}

func TestFindingToProto(t *testing.T) {
	f := gate.Finding{Code: gate.Flip, Severity: gate.Tolerated, Role: gate.Candidate, Subject: "f-1", Message: "m", SourceRowID: "r", Group: fixture.Hermetic,
		Old: fixture.Outcome{Verdict: "a", ReasonCode: "x", Output: []byte("1")}, New: fixture.Outcome{Verdict: "b"}, Class: fixture.ClassLateral,
		Inputs: []gate.ShownInput{{Path: "p", Value: "1"}}, AllowedBy: "ada", OutputDiffers: true}
	want := &gatev1.Finding{Code: "FLIP", Severity: gatev1.Severity_SEVERITY_TOLERATED, Subject: "f-1", Message: "m", SourceRowId: "r", Group: "hermetic",
		Old: &gatev1.Outcome{Verdict: "a", ReasonCode: "x", Output: []byte("1")}, New: &gatev1.Outcome{Verdict: "b"}, FlipClass: "lateral",
		Inputs: []*gatev1.ShownInput{{Path: "p", Value: "1"}}, AllowedBy: "ada", OutputDiffers: true}
	if diff := cmp.Diff(want, findingToProto(f), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

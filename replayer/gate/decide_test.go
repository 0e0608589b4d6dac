package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

var (
	promoted = fixture.Outcome{Verdict: "promoted", ReasonCode: "ok"}
	dropped  = fixture.Outcome{Verdict: "dropped", ReasonCode: "stale"}
	now      = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
)

func flip(i int, class fixture.Class) gate.Finding {
	return gate.Finding{Code: gate.Flip, Role: gate.Candidate, Subject: fmt.Sprintf("f-%d", i), Old: promoted, New: dropped, Class: class, Group: fixture.Hermetic}
}

// full is the evidence of a run that was complete.
func full(n uint64) gate.Evidence {
	return gate.Evidence{Expected: n, Confirmed: n, Evaluated: n, Probed: n}
}

func decide(p gate.Policy, list *gate.Allowlist, e gate.Evidence, findings ...gate.Finding) gate.Decision {
	var t gate.Tally
	for _, f := range findings {
		t.Add(p.Weigh(f, list))
	}
	return gate.Decide(&t, e, p)
}

func wantRuling(t *testing.T, d gate.Decision, ruling gate.Ruling, summary string) {
	t.Helper()
	if d.Ruling != ruling || d.Summary != summary {
		t.Errorf("got ruling %d, %q\nwant       %d, %q\ncauses %+v", d.Ruling, d.Summary, ruling, summary, d.Causes)
	}
	if (len(d.Causes) == 0) != (d.Ruling == gate.Pass) {
		t.Errorf("ruling %d has causes %+v", d.Ruling, d.Causes)
	}
}

func TestDecide(t *testing.T) {
	bounded := gate.Policy{Kind: gate.Bounded, Bounds: map[fixture.Class]uint32{fixture.ClassRestrictive: 2}}
	for _, tt := range []struct {
		name     string
		policy   gate.Policy
		evidence gate.Evidence
		findings []gate.Finding
		ruling   gate.Ruling
		summary  string
	}{
		{"all agree", gate.Policy{}, full(200), nil, gate.Pass, "release passed: 200 of 200 fixtures agree"},
		// R26: full agreement is the default, so that one flip blocks. R28: the last line counts them.
		{"R26 one flip", gate.Policy{}, full(200), []gate.Finding{flip(1, fixture.ClassReason)}, gate.Block, "release blocked: 1 fixture flipped"},
		{"R28 flips", gate.Policy{}, full(200), []gate.Finding{flip(1, fixture.ClassReason), flip(2, fixture.ClassPermissive)}, gate.Block, "release blocked: 2 fixtures flipped"},
		{"R26 within the bounds", bounded, full(9), []gate.Finding{flip(1, fixture.ClassRestrictive), flip(2, fixture.ClassRestrictive)}, gate.Pass, "release passed: 7 of 9 fixtures agree, 2 flipped within the bounds"},
		{"R26 over a bound", bounded, full(9), []gate.Finding{flip(1, fixture.ClassRestrictive), flip(2, fixture.ClassRestrictive), flip(3, fixture.ClassRestrictive)}, gate.Block, "release blocked: 3 fixtures flipped"},
		{"R26 a class without a bound", bounded, full(9), []gate.Finding{flip(1, fixture.ClassRestrictive), flip(2, fixture.ClassPermissive)}, gate.Block, "release blocked: 2 fixtures flipped"},
		// R29: nothing is green by default.
		{"R29 no fixtures", gate.Policy{}, gate.Evidence{}, nil, gate.Block, "release blocked: no fixture was selected"},
		{"R29 a fixture was not tried", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 9, Evaluated: 8, Probed: 9}, nil, gate.Block, "release blocked: not every fixture was tried: 8 of 9, and 9 asked again"},
		{"R29 the probe was cut", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 9, Evaluated: 9, Probed: 3}, nil, gate.Block, "release blocked: not every fixture was tried: 9 of 9, and 3 asked again"},
		{"R29 cancelled", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 4}, []gate.Finding{{Code: gate.RunCancelled}}, gate.Block, "release blocked: the run was cancelled"},
		{"R29 a missing answer", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 9, Evaluated: 8, Probed: 9}, []gate.Finding{{Code: gate.AnswerMissing, Role: gate.Candidate}}, gate.Block, "release blocked: 1 fixture got no answer"},
		// R22: a baseline that does not reproduce its past is neither a pass nor an ordinary block.
		{"R22 a mismatch", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 8}, []gate.Finding{{Code: gate.BaselineMismatch, Role: gate.Baseline}}, gate.BaselineUnconfirmed, "baseline unconfirmed: 8 of 9 fixtures confirmed; the candidate was not ruled on"},
		{"R22 a baseline that crashed", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 8}, []gate.Finding{{Code: gate.CheckerFailed, Role: gate.Baseline}}, gate.BaselineUnconfirmed, "baseline unconfirmed: 8 of 9 fixtures confirmed; the candidate was not ruled on"},
		{"R22 confirmations that are not there", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 8, Evaluated: 9, Probed: 9}, nil, gate.BaselineUnconfirmed, "baseline unconfirmed: 8 of 9 fixtures confirmed; the candidate was not ruled on"},
		// R24: an answer that changes is a bug, whatever the policy tolerates.
		{"R24 nondeterministic", bounded, full(9), []gate.Finding{{Code: gate.Nondeterministic, Group: fixture.Hermetic}}, gate.Block, "release blocked: 1 fixture answered differently when asked again"},
		// R17: what is derived is reported and never gates.
		{"R17 derived", gate.Policy{}, full(9), []gate.Finding{{Code: gate.Flip, Class: fixture.ClassPermissive, Group: fixture.Derived}, {Code: gate.CheckerError, Group: fixture.Derived}}, gate.Pass, "release passed: 9 of 9 fixtures agree"},
		{"R19 an unused stub is told", gate.Policy{}, full(9), []gate.Finding{{Code: gate.StubUnused, Group: fixture.Hermetic}}, gate.Pass, "release passed: 9 of 9 fixtures agree"},
		{"R19 an unused stub blocks where the policy says so", gate.Policy{BlockUnusedStubs: true}, full(9), []gate.Finding{{Code: gate.StubUnused, Group: fixture.Hermetic}}, gate.Block, "release blocked: 1 fixture has a stub nobody asked for"},
		{"a code that nobody has thought about", gate.Policy{}, full(9), []gate.Finding{{Code: "NEW"}}, gate.Block, "release blocked: 1 finding of unknown kind"},
		{"several causes", gate.Policy{}, gate.Evidence{Expected: 9, Confirmed: 9, Evaluated: 7, Probed: 9}, []gate.Finding{{Code: gate.StubMissing}, flip(1, fixture.ClassReason), {Code: gate.CheckerError}}, gate.Block, "release blocked: 1 fixture flipped; 1 fixture ended in a checker error; 1 fixture lacks a stub"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantRuling(t, decide(tt.policy, nil, tt.evidence, tt.findings...), tt.ruling, tt.summary)
		})
	}
}

// R27: an entry allows exactly the flip that it names, until its instant.
func TestR27AllowlistCoversExactlyItsFlip(t *testing.T) {
	policy := gate.Policy{Kind: gate.Listed}
	entry := gate.Entry{FixtureID: "f-1", Old: promoted, New: dropped, Reason: "too old", Owner: "ada", ExpiresAt: now.Add(time.Hour)}
	for _, tt := range []struct {
		name   string
		change func(*gate.Entry)
		pass   bool
	}{
		{"exactly", func(*gate.Entry) {}, true},
		{"another fixture", func(e *gate.Entry) { e.FixtureID = "f-2" }, false},
		{"another old reason", func(e *gate.Entry) { e.Old.ReasonCode = "other" }, false},
		{"another new verdict", func(e *gate.Entry) { e.New.Verdict = "held" }, false},
		{"expired this instant", func(e *gate.Entry) { e.ExpiresAt = now }, false},
		{"in force for a nanosecond", func(e *gate.Entry) { e.ExpiresAt = now.Add(1) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := entry
			tt.change(&e)
			list := gate.NewAllowlist([]gate.Entry{e}, now)
			d := decide(policy, list, full(9), flip(1, fixture.ClassRestrictive))
			if (d.Ruling == gate.Pass) != tt.pass {
				t.Errorf("got %+v", d)
			}
			all := func(string) bool { return true }
			if n := len(list.Unused(all)) + len(list.Expirations()); (n == 0) != tt.pass {
				t.Errorf("%d findings about the entry", n)
			}
		})
	}
	// A flip whose output documents differ is covered by no entry.
	other := flip(1, fixture.ClassRestrictive)
	other.OutputDiffers = true
	if d := decide(policy, gate.NewAllowlist([]gate.Entry{entry}, now), full(9), other); d.Ruling == gate.Pass {
		t.Errorf("got %+v", d)
	}
	// An entry whose fixture a filter has left out is not unused.
	list := gate.NewAllowlist([]gate.Entry{entry}, now)
	if got := list.Unused(func(string) bool { return false }); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// R27: an incomplete, too wide or over-long list is refused, with everything that is wrong named at once.
func TestR27ValidateAllowlist(t *testing.T) {
	listed := gate.Policy{Kind: gate.Listed}
	good := gate.Entry{FixtureID: "f-1", Old: promoted, New: dropped, Reason: "r", Owner: "o", ExpiresAt: now}
	if err := gate.ValidateAllowlist([]gate.Entry{good}, listed); err != nil {
		t.Error(err)
	}
	many := make([]gate.Entry, 41)
	for i := range many {
		many[i] = good
		many[i].FixtureID = fmt.Sprint("f-", i)
	}
	wide := good
	wide.FixtureID, wide.Old = "f-*", fixture.Outcome{Verdict: "*"}
	same := good
	same.New = same.Old
	for _, tt := range []struct {
		name   string
		list   []gate.Entry
		policy gate.Policy
		want   []string
	}{
		{"empty entry", []gate.Entry{{}}, listed, []string{"fixture_id: missing", "old verdict: missing", "new verdict: missing", "reason: missing", "owner: missing", "expires_at: missing"}},
		{"too wide", []gate.Entry{wide}, listed, []string{`"f-*" is too wide`, `"*" is too wide`}},
		{"no change", []gate.Entry{same}, listed, []string{"are the same"}},
		{"twice", []gate.Entry{good, good}, listed, []string{`entry 2 ("f-1")`, "stands in entry 1 as well"}},
		{"over the cap", many, listed, []string{"41 entries are over the cap of 40"}},
		{"over the policy's own cap", many[:3], gate.Policy{Kind: gate.Listed, AllowlistCap: 2}, []string{"3 entries are over the cap of 2"}},
		{"a list that nobody reads", many[:3], gate.Policy{}, []string{"would never read them"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := gate.ValidateAllowlist(tt.list, tt.policy)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

func TestParsePolicy(t *testing.T) {
	for _, s := range []string{"full", "allowlist", "bounded:permissive=0,restrictive=20,reason=5", "bounded:"} {
		p, err := gate.ParsePolicy(s)
		if err != nil || p.String() != s {
			t.Errorf("%s: got %s, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "lax", "bounded:restrictive", "bounded:restrictive=-1", "bounded:restrictive=1x", "bounded:sideways=1", "full:reason=1", "bounded:reason=99999999999"} {
		if p, err := gate.ParsePolicy(s); err == nil {
			t.Errorf("%q was read as %+v", s, p)
		}
	}
	if err := (gate.Policy{AllowlistCap: 41}).Validate(); err == nil {
		t.Error("a cap over 40 was accepted")
	}
}

// Every code has a row, so that none blocks or passes by accident, and is in the list of the documentation.
func TestEveryCodeIsWeighed(t *testing.T) {
	warnings := []gate.Code{gate.PolicyOverridden, gate.Frozen, gate.InstanceLost, gate.OneVerdict, gate.ReasonUnseen, gate.ReasonUncovered, gate.StubUnused}
	for _, code := range gate.Codes() {
		f := gate.Policy{}.Weigh(gate.Finding{Code: code, Group: fixture.Hermetic}, nil)
		want := gate.Blocking
		if slices.Contains(warnings, code) {
			want = gate.Warning
		}
		if f.Severity != want {
			t.Errorf("%s has severity %d, want %d", code, f.Severity, want)
		}
		d := decide(gate.Policy{}, nil, full(9), f)
		if (d.Ruling == gate.Pass) != (want == gate.Warning) {
			t.Errorf("%s: ruling %d", code, d.Ruling)
		}
	}
}

func anyPolicy() *rapid.Generator[gate.Policy] {
	return rapid.Custom(func(t *rapid.T) gate.Policy {
		p := gate.Policy{Kind: rapid.SampledFrom([]gate.Kind{"", gate.Full, gate.Bounded, gate.Listed}).Draw(t, "kind"), BlockUnusedStubs: rapid.Bool().Draw(t, "unused")}
		if p.Kind == gate.Bounded {
			p.Bounds = rapid.MapOf(rapid.SampledFrom(fixture.Classes()), rapid.Uint32Range(0, 5)).Draw(t, "bounds")
		}
		return p
	})
}

func anyFinding() *rapid.Generator[gate.Finding] {
	return rapid.Custom(func(t *rapid.T) gate.Finding {
		f := gate.Finding{
			Code:    rapid.SampledFrom(append(gate.Codes(), "UNKNOWN")).Draw(t, "code"),
			Role:    rapid.SampledFrom([]gate.Role{"", gate.Baseline, gate.Candidate}).Draw(t, "role"),
			Subject: fmt.Sprint("f-", rapid.IntRange(0, 5).Draw(t, "subject")),
			Group:   rapid.SampledFrom([]fixture.Group{"", fixture.Hermetic, fixture.Derived}).Draw(t, "group"),
		}
		if f.Code == gate.Flip {
			f.Old, f.New, f.Class = promoted, dropped, rapid.SampledFrom(fixture.Classes()).Draw(t, "class")
		}
		return f
	})
}

func anyEvidence() *rapid.Generator[gate.Evidence] {
	return rapid.Custom(func(t *rapid.T) gate.Evidence {
		n := rapid.Uint64Range(0, 4)
		if rapid.Bool().Draw(t, "complete") {
			return full(n.Draw(t, "n"))
		}
		return gate.Evidence{Expected: n.Draw(t, "expected"), Confirmed: n.Draw(t, "confirmed"), Evaluated: n.Draw(t, "evaluated"), Probed: n.Draw(t, "probed")}
	})
}

func allowlist() *gate.Allowlist {
	return gate.NewAllowlist([]gate.Entry{{FixtureID: "f-1", Old: promoted, New: dropped, ExpiresAt: now.Add(time.Hour)}}, now)
}

// A finding more never turns a block into a pass, wherever it stands among the others.
func TestFindingMoreNeverPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, e := anyPolicy().Draw(t, "policy"), anyEvidence().Draw(t, "evidence")
		findings := rapid.SliceOfN(anyFinding(), 0, 8).Draw(t, "findings")
		before := decide(p, allowlist(), e, findings...)
		more := slices.Insert(slices.Clone(findings), rapid.IntRange(0, len(findings)).Draw(t, "at"), anyFinding().Draw(t, "more"))
		after := decide(p, allowlist(), e, more...)
		if before.Ruling != gate.Pass && after.Ruling == gate.Pass {
			t.Fatalf("%+v\nbecame\n%+v", before, after)
		}
	})
}

// A ruling depends on what was found and not on the order in which it was, and always says something.
func TestRulingIsAFunctionOfTheFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, e := anyPolicy().Draw(t, "policy"), anyEvidence().Draw(t, "evidence")
		findings := rapid.SliceOfN(anyFinding(), 0, 8).Draw(t, "findings")
		one := decide(p, allowlist(), e, findings...)
		two := decide(p, allowlist(), e, rapid.Permutation(findings).Draw(t, "order")...)
		if fmt.Sprint(one) != fmt.Sprint(two) {
			t.Fatalf("%+v\nand\n%+v", one, two)
		}
		if one.Ruling == gate.NoRuling || one.Summary == "" || (one.Ruling == gate.Pass) != (len(one.Causes) == 0) {
			t.Fatalf("got %+v", one)
		}
	})
}

// A pass rests on complete evidence, whatever was found.
func TestPassNeedsCompleteEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence().Draw(t, "evidence")
		d := decide(anyPolicy().Draw(t, "policy"), allowlist(), e, rapid.SliceOfN(anyFinding(), 0, 3).Draw(t, "findings")...)
		if d.Ruling == gate.Pass && (e.Expected == 0 || e != full(e.Expected)) {
			t.Fatalf("%+v passed: %+v", e, d)
		}
	})
}

// A policy that a run asks for does not lift what the set's own demands beside the flips.
func TestPolicyOver(t *testing.T) {
	own := gate.Policy{Kind: gate.Listed, AllowlistCap: 2, BlockUnusedStubs: true}
	got := gate.Policy{Kind: gate.Full}.Over(own)
	if !got.BlockUnusedStubs || got.Cap() != 2 || got.Kind != gate.Full || got.Equal(gate.Policy{}) {
		t.Errorf("got %+v", got)
	}
	if got := (gate.Policy{AllowlistCap: 1}).Over(own); got.Cap() != 1 {
		t.Errorf("got %+v", got)
	}
}

// R24: only the flip that was filed is taken back: one that was tolerated takes no blocking one with it, and pairs that were
// not kept apart are not counted below nothing.
func TestR24RetractTakesBackItsOwn(t *testing.T) {
	p := gate.Policy{Kind: gate.Bounded, Bounds: map[fixture.Class]uint32{fixture.ClassReason: 5}}
	var tally gate.Tally
	tolerated, blocking := p.Weigh(flip(1, fixture.ClassReason), nil), p.Weigh(flip(2, fixture.ClassPermissive), nil)
	tally.Add(tolerated)
	tally.Add(blocking)
	tally.Retract(tolerated)
	if d := gate.Decide(&tally, full(3), p); d.Ruling != gate.Block || !strings.Contains(d.Summary, "1 fixture flipped") {
		t.Errorf("got %+v", d)
	}
	var many gate.Tally
	for i := range 1001 {
		f := flip(i, fixture.ClassReason)
		f.New.ReasonCode = fmt.Sprint(i)
		many.Add(f)
	}
	last := flip(1000, fixture.ClassReason)
	last.New.ReasonCode = "1000"
	many.Retract(last)
	for _, pair := range many.Pairs() {
		if pair.Count != 1 {
			t.Fatalf("got %+v", pair)
		}
	}
	if many.Flipped() != 1000 {
		t.Errorf("%d flips", many.Flipped())
	}
}

// R24: a flip that turns out to be nondeterministic is no flip any more, and blocks all the same.
func TestR24RetractedFlipStillBlocks(t *testing.T) {
	var tally gate.Tally
	p := gate.Policy{}
	f := p.Weigh(flip(1, fixture.ClassReason), nil)
	tally.Add(f)
	tally.Retract(f)
	tally.Add(p.Weigh(gate.Finding{Code: gate.Nondeterministic, Group: fixture.Hermetic}, nil))
	d := gate.Decide(&tally, full(3), p)
	wantRuling(t, d, gate.Block, "release blocked: 1 fixture answered differently when asked again")
	if tally.Flipped() != 0 || len(tally.Pairs()) != 0 {
		t.Errorf("%d flips are left: %v", tally.Flipped(), tally.Pairs())
	}
}

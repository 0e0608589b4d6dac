package replayer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// wrongOver answers as it should, but over one fixture.
func wrongOver(name, id string) *checker {
	return &checker{name: name, desc: replayer.Description{BuildDigest: "b"}, decide: func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.ID == id {
			a.Outcome = fixture.Outcome{Verdict: "promoted", ReasonCode: "whim"}
		}
		return a
	}}
}

// frozenTrial freezes one fixture, with evidence that holds.
func frozenTrial(t *testing.T, id string, baseline, candidate *checker) replayer.Trial {
	t.Helper()
	s := newSet(t, 10, nil)
	tr := trial(s, baseline, candidate)
	i := slices.IndexFunc(s.cases, func(c replayer.Case) bool { return c.Fixture.ID == id })
	tr.Policy.AdmitFreezes = true
	tr.Since = func(time.Time) (uint32, error) { return 0, nil }
	tr.Freezes = []gate.Freeze{{FixtureID: id, Reason: "r", Owner: "@queue", OpenedAt: tr.Now.Add(-time.Hour), ExpiresAt: tr.Now.Add(time.Hour), RecheckAfterRuns: 3,
		Evidence: gate.FreezeEvidence{Baseline: baseline.Description().Digest(), Fixture: "sha256:" + s.cases[i].Digest.String(), Runs: 20, Failures: 3, RecordedAt: tr.Now.Add(-time.Hour), RecordedBy: "ada"}}}
	if err := gate.ValidateFreezes(tr.Freezes, tr.Policy); err != nil {
		t.Fatal(err)
	}
	return tr
}

// S5: what is frozen runs, is shown, and is not held against the baseline.
func TestS5FrozenBaseline(t *testing.T) {
	r, e := run(t, frozenTrial(t, "f-00003", wrongOver("old", "f-00003"), honest("new")))
	wantRuling(t, r, gate.Pass)
	if r.Evidence.Confirmed != 9 || r.Evidence.Excused != 1 || r.Evidence.Expected != 10 {
		t.Errorf("%+v", r.Evidence)
	}
	if got := e.subjects(gate.Frozen); !slices.Equal(got, []string{"f-00003"}) {
		t.Errorf("told of %v", got)
	}
	// Where the baseline does well this time, nothing is said.
	r, e = run(t, frozenTrial(t, "f-00003", wrongOver("old", ""), honest("new")))
	wantRuling(t, r, gate.Pass)
	if got := e.subjects(gate.Frozen); len(got) != 0 || r.Evidence.Confirmed != 10 {
		t.Errorf("told of %v, %+v", got, r.Evidence)
	}
}

// L7, L8: a freeze that hides a regression, in each way that the rules name.
func TestL8FreezeHidesNoRegression(t *testing.T) {
	frozen := "f-00003"
	always := func() *checker { return wrongOver("old", frozen) }
	for _, tt := range []struct {
		name      string
		candidate *checker
		change    func(tr *replayer.Trial)
		want      gate.Ruling
		code      gate.Code
	}{
		{"the candidate flips what is frozen", wrongOver("new", frozen), nil, gate.Block, gate.FreezeRefused},
		{"and is counted as a flip", wrongOver("new", frozen), nil, gate.Block, gate.Flip},
		{"another fixture flips", wrongOver("new", "f-00004"), nil, gate.Block, gate.Flip},
		{"the baseline fails over another fixture", honest("new"), func(tr *replayer.Trial) {
			b := wrongOver("old", "f-00004")
			tr.Baseline = b
		}, gate.BaselineUnconfirmed, gate.BaselineMismatch},
		{"evidence of another baseline", honest("new"), func(tr *replayer.Trial) {
			b := always()
			b.desc.BuildDigest = "c"
			tr.Baseline = b
		}, gate.BaselineUnconfirmed, gate.FreezeRefused},
		{"evidence of the same build with other parameters", honest("new"), func(tr *replayer.Trial) {
			b := always()
			b.desc.Parameters = map[string]string{"limit": "1"}
			tr.Baseline = b
		}, gate.BaselineUnconfirmed, gate.FreezeRefused},
		{"a baseline that does not say which build it is", honest("new"), func(tr *replayer.Trial) {
			b := always()
			b.desc.BuildDigest = ""
			tr.Baseline, tr.Freezes[0].Evidence.Baseline = b, b.Description().Digest()
		}, gate.BaselineUnconfirmed, gate.FreezeRefused},
		{"the fixture was edited", honest("new"), func(tr *replayer.Trial) { tr.Freezes[0].Evidence.Fixture = "sha256:0" }, gate.BaselineUnconfirmed, gate.FreezeRefused},
		{"it has expired", honest("new"), func(tr *replayer.Trial) { tr.Freezes[0].ExpiresAt = tr.Now }, gate.BaselineUnconfirmed, gate.FreezeExpired},
		{"it is to be proven anew", honest("new"), func(tr *replayer.Trial) { tr.Since = func(time.Time) (uint32, error) { return 4, nil } }, gate.BaselineUnconfirmed, gate.FreezeRecheck},
		{"there is no such fixture", honest("new"), func(tr *replayer.Trial) { tr.Freezes[0].FixtureID = "f-99999" }, gate.BaselineUnconfirmed, gate.FreezeRefused},
		{"it has expired, and the baseline does well", honest("new"), func(tr *replayer.Trial) {
			tr.Baseline, tr.Freezes[0].ExpiresAt = wrongOver("old", ""), tr.Now
		}, gate.Block, gate.FreezeExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := frozenTrial(t, frozen, always(), tt.candidate)
			if tt.change != nil {
				tt.change(&tr)
			}
			r, _ := run(t, tr)
			wantRuling(t, r, tt.want, tt.code)
		})
	}
}

// A stub that nobody recorded is no whim of the baseline's: no freeze excuses it.
func TestFreezeExcusesNoMissingStub(t *testing.T) {
	lost := func() *checker {
		c := wrongOver("old", "")
		c.decide = func(r replayer.Request) replayer.Answer {
			if r.Fixture.ID == "f-00003" {
				return replayer.Answer{CaseID: r.CaseID, Err: &replayer.CaseError{StubMissing: "classify", Message: "no stub"}}
			}
			return faithful(r)
		}
		return c
	}
	r, _ := run(t, frozenTrial(t, "f-00003", lost(), honest("new")))
	wantRuling(t, r, gate.BaselineUnconfirmed, gate.StubMissing)
}

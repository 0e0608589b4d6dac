package gate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

var (
	opened   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	theBuild = "sha256:" + strings.Repeat("b", 64)
	admits   = gate.Policy{AdmitFreezes: true}
)

func freeze() gate.Freeze {
	return gate.Freeze{FixtureID: "f-1", Reason: "rounds at random", Owner: "@queue", OpenedAt: opened, ExpiresAt: opened.Add(14 * 24 * time.Hour), RecheckAfterRuns: 3,
		Evidence: gate.FreezeEvidence{Baseline: theBuild, Fixture: "sha256:" + fixture.DigestOf([]byte("f-1")).String(), Runs: 20, Failures: 4, RecordedAt: opened, RecordedBy: "ada"}}
}

// L7, S5: whatever a freeze lacks, or rests on that is none, it is refused where it is read.
func TestL7FreezeIsComplete(t *testing.T) {
	if err := gate.ValidateFreezes([]gate.Freeze{freeze()}, admits); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(z *gate.Freeze){
		"fixture_id: missing":           func(z *gate.Freeze) { z.FixtureID = "" },
		"owner: missing":                func(z *gate.Freeze) { z.Owner = " " },
		"reason: missing":               func(z *gate.Freeze) { z.Reason = "" },
		"opened_at: missing":            func(z *gate.Freeze) { z.OpenedAt = time.Time{} },
		"expires_at: missing":           func(z *gate.Freeze) { z.ExpiresAt = time.Time{} },
		"expires_at: not after":         func(z *gate.Freeze) { z.ExpiresAt = z.OpenedAt },
		"more than 90 days":             func(z *gate.Freeze) { z.ExpiresAt = z.OpenedAt.Add(gate.MaxFreezeAge + 1) },
		"recheck_after_runs: 0":         func(z *gate.Freeze) { z.RecheckAfterRuns = 0 },
		"recheck_after_runs: 1001":      func(z *gate.Freeze) { z.RecheckAfterRuns = 1001 },
		"patch_applied":                 func(z *gate.Freeze) { z.Evidence.PatchApplied = true },
		"evidence.baseline: missing":    func(z *gate.Freeze) { z.Evidence.Baseline = "" },
		"evidence.fixture: missing":     func(z *gate.Freeze) { z.Evidence.Fixture = "" },
		"evidence.recorded_by: missing": func(z *gate.Freeze) { z.Evidence.RecordedBy = "" },
		"evidence.recorded_at: missing": func(z *gate.Freeze) { z.Evidence.RecordedAt = time.Time{} },
		"evidence.runs: 4 are fewer":    func(z *gate.Freeze) { z.Evidence.Runs, z.Evidence.Failures = 4, 1 },
		"the baseline never failed":     func(z *gate.Freeze) { z.Evidence.Failures = 0 },
		"20 of 20 runs, each time":      func(z *gate.Freeze) { z.Evidence.Failures = 20 },
		"21 of 20 runs":                 func(z *gate.Freeze) { z.Evidence.Failures = 21 },
	} {
		z := freeze()
		spoil(&z)
		if err := gate.ValidateFreezes([]gate.Freeze{z}, admits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if err := gate.ValidateFreezes([]gate.Freeze{freeze()}, gate.Policy{}); err == nil || !strings.Contains(err.Error(), "does not admit") {
		t.Errorf("a policy that does not say so: %v", err)
	}
	if err := gate.ValidateFreezes([]gate.Freeze{freeze(), freeze()}, admits); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("twice: %v", err)
	}
	if err := gate.ValidateFreezes(make([]gate.Freeze, gate.MaxFreezes+1), admits); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("too many: %v", err)
	}
}

// L7, L8, S5: a freeze is in force for one baseline, for the fixture as it was, until an instant and for so many replays; otherwise
// it excuses nothing and says why.
func TestL7FreezeInForce(t *testing.T) {
	digest := fixture.DigestOf([]byte("f-1"))
	for _, tt := range []struct {
		name     string
		now      time.Time
		baseline string
		runs     uint32
		digest   fixture.Digest
		code     gate.Code // "" where it is in force
		want     string
	}{
		{"in force", opened.Add(time.Hour), theBuild, 3, digest, "", ""},
		{"its last instant", freeze().ExpiresAt.Add(-1), theBuild, 0, digest, "", ""},
		{"expired", freeze().ExpiresAt, theBuild, 0, digest, gate.FreezeExpired, "expired at"},
		{"not yet opened", opened.Add(-1), theBuild, 0, digest, gate.FreezeRefused, "in the future"},
		{"another baseline", opened, "sha256:" + strings.Repeat("c", 64), 0, digest, gate.FreezeRefused, "another baseline"},
		{"a baseline of no build", opened, "", 0, digest, gate.FreezeRefused, "which build"},
		{"more replays than it holds for", opened, theBuild, 4, digest, gate.FreezeRecheck, "this is replay 4"},
		{"an edited fixture", opened, theBuild, 0, fixture.DigestOf([]byte("g")), gate.FreezeRefused, "cannot freeze it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			z, err := gate.NewFreezes([]gate.Freeze{freeze()}, tt.now, tt.baseline, func(at time.Time) (uint32, error) {
				if !at.Equal(opened) {
					t.Errorf("asked since %s", at)
				}
				return tt.runs, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			z.Saw("f-0", digest)
			z.Saw("f-1", tt.digest)
			found := z.Findings(true)
			_, excuses := z.Excuses("f-1")
			if excuses != (tt.code == "") || excuses != (len(found) == 0) {
				t.Fatalf("excuses %v, findings %v", excuses, found)
			}
			if tt.code != "" && (found[0].Code != tt.code || found[0].Subject != "f-1" || !strings.Contains(found[0].Message, tt.want)) {
				t.Errorf("%+v", found[0])
			}
			if _, other := z.Excuses("f-0"); other {
				t.Error("it excuses another fixture")
			}
		})
	}
	broken := errors.New("no store")
	if _, err := gate.NewFreezes([]gate.Freeze{freeze()}, opened, theBuild, func(time.Time) (uint32, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("replays that cannot be counted: %v", err)
	}
}

// A freeze of a fixture that is not tried is refused, unless only some were.
func TestL7FreezeOfNothing(t *testing.T) {
	for complete, want := range map[bool]int{true: 1, false: 0} {
		z, err := gate.NewFreezes([]gate.Freeze{freeze()}, opened, theBuild, func(time.Time) (uint32, error) { return 0, nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := z.Findings(complete); len(got) != want {
			t.Errorf("complete %v: %v", complete, got)
		}
	}
	var none *gate.Freezes
	none.Saw("f-1", fixture.Digest{})
	if _, ok := none.Excuses("f-1"); ok || none.Findings(true) != nil {
		t.Error("no freezes excuse something")
	}
}

// S5: what is excused completes what was confirmed, and never takes its place.
func TestS5ExcusedIsNoConfirmation(t *testing.T) {
	for _, tt := range []struct {
		e    gate.Evidence
		want gate.Ruling
	}{
		{gate.Evidence{Expected: 10, Confirmed: 9, Excused: 1, Evaluated: 10, Probed: 10}, gate.Pass},
		{gate.Evidence{Expected: 10, Confirmed: 9, Evaluated: 10, Probed: 10}, gate.BaselineUnconfirmed},
		{gate.Evidence{Expected: 10, Confirmed: 9, Excused: 2, Evaluated: 10, Probed: 10}, gate.BaselineUnconfirmed},
		{gate.Evidence{Expected: 10, Excused: 10, Evaluated: 10, Probed: 10}, gate.BaselineUnconfirmed},
		{gate.Evidence{Expected: 10, Confirmed: 9, Excused: 1, Evaluated: 9, Probed: 10}, gate.Block},
	} {
		d := gate.Decide(&gate.Tally{}, tt.e, admits)
		if d.Ruling != tt.want {
			t.Errorf("%+v: %+v", tt.e, d)
		}
		if d.Ruling == gate.Pass && !strings.Contains(d.Summary, "did not reproduce 1 frozen") {
			t.Errorf("it does not say so: %s", d.Summary)
		}
	}
}

package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Freeze excuses the baseline over one fixture that it does not reproduce each time (S5, L7). It excuses nobody else: the candidate
// has to decide the fixture as it was recorded, and what is excused is shown.
type Freeze struct {
	FixtureID string
	// Reason says why it is frozen rather than mended, Owner who answers for it.
	Reason, Owner string
	// OpenedAt is when it was frozen, ExpiresAt the instant from which on it excuses nothing.
	OpenedAt, ExpiresAt time.Time
	// RecheckAfterRuns is how many replays of the set it may see before it must be proven anew.
	RecheckAfterRuns uint32
	Evidence         FreezeEvidence
}

// FreezeEvidence is what `retrial freeze probe` saw of the baseline alone.
type FreezeEvidence struct {
	// PatchApplied says that the baseline was not as released. Evidence of that kind is refused.
	PatchApplied bool
	// Baseline is the digest of who was asked (replayer.Description.Digest), Fixture that of the fixture, as "sha256:…".
	Baseline, Fixture string
	// Runs is how often it was asked, Failures how often it did not reproduce the outcome.
	Runs, Failures uint32
	RecordedAt     time.Time
	RecordedBy     string
}

// Bounds of freezes.
const (
	// MaxFreezes is the most that a set may have.
	MaxFreezes = 40
	// MinProbeRuns is how often a baseline must have been asked.
	MinProbeRuns = 5
	// MaxFreezeAge is how far ahead the expiry of a freeze may lie.
	MaxFreezeAge = 90 * 24 * time.Hour
	// MaxRecheck is the most replays before a freeze is proven anew.
	MaxRecheck = 1000
)

// ValidateFreezes reports everything that is wrong with a list at once, whatever the instant.
func ValidateFreezes(list []Freeze, p Policy) error {
	var errs []error
	if len(list) > 0 && !p.AdmitFreezes {
		errs = append(errs, invalid("quarantine", "", fmt.Errorf("it has %d entries, and the policy does not admit any: hermetic fixtures gate", len(list))))
	}
	if len(list) > MaxFreezes {
		errs = append(errs, invalid("quarantine", "", fmt.Errorf("%d entries are over the limit of %d: mend the baseline", len(list), MaxFreezes)))
	}
	seen := map[string]bool{}
	for i, z := range list {
		subject := fmt.Sprintf("entry %d (%.80q)", i+1, z.FixtureID)
		for _, err := range z.problems() {
			errs = append(errs, invalid("quarantine", subject, err))
		}
		if seen[z.FixtureID] {
			errs = append(errs, invalid("quarantine", subject, errors.New("the fixture stands there twice")))
		}
		seen[z.FixtureID] = true
	}
	return errors.Join(errs...)
}

func (z Freeze) problems() []error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, m := range []struct{ name, value string }{
		{"fixture_id", z.FixtureID}, {"owner", z.Owner}, {"reason", z.Reason}, {"evidence.baseline", z.Evidence.Baseline},
		{"evidence.fixture", z.Evidence.Fixture}, {"evidence.recorded_by", z.Evidence.RecordedBy},
	} {
		refuse(strings.TrimSpace(m.value) == "", "%s: missing", m.name)
	}
	for _, m := range []struct {
		name string
		at   time.Time
	}{{"opened_at", z.OpenedAt}, {"expires_at", z.ExpiresAt}, {"evidence.recorded_at", z.Evidence.RecordedAt}} {
		refuse(m.at.IsZero(), "%s: missing", m.name)
	}
	refuse(!z.ExpiresAt.After(z.OpenedAt), "expires_at: not after opened_at")
	refuse(z.ExpiresAt.Sub(z.OpenedAt) > MaxFreezeAge, "expires_at: more than %d days after opened_at", int(MaxFreezeAge.Hours()/24))
	refuse(z.RecheckAfterRuns == 0 || z.RecheckAfterRuns > MaxRecheck, "recheck_after_runs: %d is not between 1 and %d", z.RecheckAfterRuns, MaxRecheck)
	e := z.Evidence
	refuse(e.PatchApplied, "evidence.patch_applied: a freeze rests on the baseline as it was released, and not on a change")
	refuse(e.Runs < MinProbeRuns, "evidence.runs: %d are fewer than %d", e.Runs, MinProbeRuns)
	refuse(e.Failures == 0, "evidence.failures: the baseline never failed, so that there is nothing to excuse")
	refuse(e.Failures >= e.Runs && e.Failures > 0, "evidence.failures: the baseline failed in %d of %d runs, each time: that is no whim, and to be mended", e.Failures, e.Runs)
	return errs
}

// Freezes says at one instant which freezes are in force for one baseline. Not safe for concurrent use until all fixtures were seen.
type Freezes struct {
	list    []Freeze
	refused []string // why each is not in force, empty where it is
	code    []Code
	seen    []bool
	byID    map[string]int
}

// NewFreezes takes a valid list. baseline is the digest of the baseline that is asked, empty where it does not say which build it is;
// since gives how many replays of the set began
// at or after an instant, this one among them.
func NewFreezes(list []Freeze, now time.Time, baseline string, since func(time.Time) (uint32, error)) (*Freezes, error) {
	f := &Freezes{list: list, refused: make([]string, len(list)), code: make([]Code, len(list)), seen: make([]bool, len(list)), byID: make(map[string]int, len(list))}
	for i, z := range list {
		f.byID[z.FixtureID] = i
		runs, err := since(z.Evidence.RecordedAt)
		if err != nil {
			return nil, err
		}
		switch {
		case fixture.Expired(z.ExpiresAt, now):
			f.refuse(i, FreezeExpired, "it expired at %s: mend the baseline, or prove and extend it in a change that somebody sees", z.ExpiresAt.UTC().Format(time.RFC3339))
		case z.OpenedAt.After(now) || z.Evidence.RecordedAt.After(now):
			f.refuse(i, FreezeRefused, "it is said to have been opened or proven in the future")
		case baseline == "":
			f.refuse(i, FreezeRefused, "the baseline does not say which build it is, so that no evidence can be about it")
		case baseline != z.Evidence.Baseline:
			f.refuse(i, FreezeRefused, "its evidence is of another baseline than the one that is asked: probe this one")
		case runs > z.RecheckAfterRuns:
			f.refuse(i, FreezeRecheck, "this is replay %d since it was proven, and it holds for %d: probe it again", runs, z.RecheckAfterRuns)
		}
	}
	return f, nil
}

func (f *Freezes) refuse(i int, code Code, format string, args ...any) {
	f.code[i], f.refused[i] = code, fmt.Sprintf(format, args...)
}

// Saw tells of a fixture that is tried. One that has been edited since the evidence was recorded is frozen no longer (L8).
func (f *Freezes) Saw(id string, digest fixture.Digest) {
	if f == nil {
		return
	}
	i, ok := f.byID[id]
	if !ok {
		return
	}
	f.seen[i] = true
	if f.refused[i] == "" && f.list[i].Evidence.Fixture != "sha256:"+digest.String() {
		f.refuse(i, FreezeRefused, "the fixture is not the one that the evidence is about: who edits a fixture cannot freeze it")
	}
}

// Findings gives a finding for each freeze that is not in force; complete says that every fixture of the set was seen.
func (f *Freezes) Findings(complete bool) (out []Finding) {
	if f == nil {
		return nil
	}
	for i, z := range f.list {
		if f.refused[i] == "" && complete && !f.seen[i] {
			f.refuse(i, FreezeRefused, "the set has no such fixture that gates")
		}
		if f.refused[i] != "" {
			out = append(out, Finding{Code: f.code[i], Subject: z.FixtureID, Message: fmt.Sprintf("the freeze of %s is not in force: %s; owner %s", z.FixtureID, f.refused[i], z.Owner)})
		}
	}
	return out
}

// Excuses gives the freeze that is in force for a fixture.
func (f *Freezes) Excuses(id string) (Freeze, bool) {
	if f == nil {
		return Freeze{}, false
	}
	i, ok := f.byID[id]
	if !ok || f.refused[i] != "" {
		return Freeze{}, false
	}
	return f.list[i], true
}

package setdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

const quarantineFile = "quarantine.json"

// frozen is one entry of quarantine.json.
type frozen struct {
	FixtureID        string          `json:"fixture_id"`
	Reason           string          `json:"reason"`
	Owner            string          `json:"owner"`
	OpenedAt         string          `json:"opened_at"`
	ExpiresAt        string          `json:"expires_at"`
	RecheckAfterRuns uint32          `json:"recheck_after_runs"`
	Evidence         *frozenEvidence `json:"evidence"`
}

type frozenEvidence struct {
	PatchApplied *bool  `json:"patch_applied"`
	Baseline     string `json:"baseline"`
	Fixture      string `json:"fixture"`
	Runs         uint32 `json:"runs"`
	Failures     uint32 `json:"failures"`
	RecordedAt   string `json:"recorded_at"`
	RecordedBy   string `json:"recorded_by"`
}

// ReadQuarantine reads quarantine.json of a set's directory: {"quarantine": [{fixture_id, reason, owner, opened_at, expires_at,
// recheck_after_runs, evidence}, …]}. It reports everything that is malformed at once; what an entry lacks, gate.ValidateFreezes
// says. A file that is not there is an empty list.
func ReadQuarantine(dir string) ([]gate.Freeze, error) {
	file := filepath.Join(dir, quarantineFile)
	_, list, err := readList(file, `an object with one member, "quarantine": [entries]`, "quarantine")
	if err != nil || list == nil {
		return nil, err
	}
	return readEntries(file, list, readFreeze)
}

func readFreeze(raw []byte) (gate.Freeze, error) {
	err := fixture.OnlyMembers(raw, "fixture_id", "reason", "owner", "opened_at", "expires_at", "recheck_after_runs", "evidence")
	if e, ok := fixture.Lookup(raw, "evidence"); ok && err == nil {
		err = fixture.OnlyMembers(e, "patch_applied", "baseline", "fixture", "runs", "failures", "recorded_at", "recorded_by")
	}
	var f frozen
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		return gate.Freeze{}, err
	}
	if f.Evidence == nil || f.Evidence.PatchApplied == nil {
		return gate.Freeze{}, errors.New("evidence: missing, or without patch_applied; `retrial freeze probe` records it")
	}
	e := f.Evidence
	z := gate.Freeze{FixtureID: f.FixtureID, Reason: f.Reason, Owner: f.Owner, RecheckAfterRuns: f.RecheckAfterRuns, Evidence: gate.FreezeEvidence{
		PatchApplied: *e.PatchApplied, Baseline: e.Baseline, Fixture: e.Fixture, Runs: e.Runs, Failures: e.Failures, RecordedBy: e.RecordedBy,
	}}
	var errs []error
	for _, m := range []struct {
		name, text string
		to         *time.Time
	}{{"opened_at", f.OpenedAt, &z.OpenedAt}, {"expires_at", f.ExpiresAt, &z.ExpiresAt}, {"evidence.recorded_at", e.RecordedAt, &z.Evidence.RecordedAt}} {
		at, err := time.Parse(time.RFC3339, m.text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %.80q is not an instant such as 2026-12-31T00:00:00Z", m.name, m.text))
			continue
		}
		*m.to = at.UTC()
	}
	return z, errors.Join(errs...)
}

// WriteQuarantine replaces quarantine.json, in the form of S8.
func WriteQuarantine(dir string, list []gate.Freeze) error {
	out := make([]frozen, len(list))
	text := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	for i, z := range list {
		e := z.Evidence
		out[i] = frozen{z.FixtureID, z.Reason, z.Owner, text(z.OpenedAt), text(z.ExpiresAt), z.RecheckAfterRuns, &frozenEvidence{
			&e.PatchApplied, e.Baseline, e.Fixture, e.Runs, e.Failures, text(e.RecordedAt), e.RecordedBy,
		}}
	}
	src, err := json.Marshal(map[string]any{"quarantine": out})
	if err != nil {
		return err
	}
	return WriteJSON(filepath.Join(dir, quarantineFile), src)
}

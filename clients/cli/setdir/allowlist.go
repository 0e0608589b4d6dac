package setdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

type allowlistEntry struct {
	FixtureID string          `json:"fixture_id"`
	Old       *allowedOutcome `json:"old"`
	New       *allowedOutcome `json:"new"`
	Reason    string          `json:"reason"`
	Owner     string          `json:"owner"`
	ExpiresAt string          `json:"expires_at"`
}

type allowedOutcome struct {
	Verdict    string  `json:"verdict"`
	ReasonCode *string `json:"reason_code"`
}

// readAllowlist reads allowlist.json: {"allowlist": [{fixture_id, old, new, reason, owner, expires_at}, …]}. It reports
// everything that is wrong at once. A file that is not there is an empty list.
func readAllowlist(file string) ([]gate.Entry, error) {
	_, list, err := readList(file, `an object with one member, "allowlist": [entries]`, "allowlist")
	if err != nil || list == nil {
		return nil, err
	}
	return readEntries(file, list, readEntry)
}

func readEntry(raw []byte) (gate.Entry, error) {
	var e allowlistEntry
	err := exact(raw)
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	if err != nil {
		return gate.Entry{}, err
	}
	out := gate.Entry{FixtureID: e.FixtureID, Reason: e.Reason, Owner: e.Owner}
	errs := []error{e.Old.outcome("old", &out.Old), e.New.outcome("new", &out.New)}
	if e.ExpiresAt != "" {
		if out.ExpiresAt, err = time.Parse(time.RFC3339, e.ExpiresAt); err != nil {
			errs = append(errs, fmt.Errorf("expires_at: %.80q is not an instant such as 2026-12-31T00:00:00Z", e.ExpiresAt))
			out.ExpiresAt = time.Time{}
		}
	}
	return out, errors.Join(errs...)
}

// exact holds the names of an entry's members to the letter.
func exact(raw []byte) error {
	if err := fixture.OnlyMembers(raw, "fixture_id", "old", "new", "reason", "owner", "expires_at"); err != nil {
		return err
	}
	for _, side := range []string{"old", "new"} {
		if v, ok := fixture.Lookup(raw, side); ok {
			if err := fixture.OnlyMembers(v, "verdict", "reason_code"); err != nil {
				return fmt.Errorf("%s: %w", side, err)
			}
		}
	}
	return nil
}

func (o *allowedOutcome) outcome(field string, to *fixture.Outcome) error {
	if o == nil {
		return fmt.Errorf("%s: missing: an entry names the old and the new outcome", field)
	}
	if o.ReasonCode == nil {
		return fmt.Errorf("%s: reason_code is missing: without it the entry would be too wide (say \"\" for none)", field)
	}
	*to = fixture.Outcome{Verdict: o.Verdict, ReasonCode: *o.ReasonCode}
	return nil
}

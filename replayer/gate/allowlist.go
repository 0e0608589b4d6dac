package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Entry allows exactly one flip until an instant (R27).
type Entry struct {
	FixtureID string
	// Old and New are the outcomes. A flip whose output documents differ is covered by no entry.
	Old, New fixture.Outcome
	// Reason says why the flip is wanted, Owner who answers for it.
	Reason, Owner string
	// ExpiresAt is the instant from which on it allows nothing.
	ExpiresAt time.Time
}

// String gives "fixture old -> new".
func (e Entry) String() string { return fmt.Sprintf("%s %s -> %s", e.FixtureID, e.Old, e.New) }

// ValidateAllowlist reports everything that is wrong with a list at once: entries that are incomplete or allow more
// than one flip, flips that are listed twice, more entries than the policy allows, and a list that no policy reads.
func ValidateAllowlist(list []Entry, p Policy) error {
	var errs []error
	if len(list) > 0 && p.Kind != Listed {
		errs = append(errs, invalid("allowlist", "", fmt.Errorf("it has %d entries, but the policy is %q and would never read them", len(list), p)))
	}
	if len(list) > p.Cap() {
		errs = append(errs, invalid("allowlist", "", fmt.Errorf("%d entries are over the cap of %d: a list of that length is a new baseline; record the fixtures anew", len(list), p.Cap())))
	}
	seen := map[string]int{}
	for i, e := range list {
		subject := fmt.Sprintf("entry %d (%.80q)", i+1, e.FixtureID)
		for _, err := range e.problems() {
			errs = append(errs, invalid("allowlist", subject, err))
		}
		if first, twice := seen[e.FixtureID]; twice {
			errs = append(errs, invalid("allowlist", subject, fmt.Errorf("the fixture stands in entry %d as well", first+1)))
		}
		seen[e.FixtureID] = i
	}
	return errors.Join(errs...)
}

func (e Entry) problems() []error {
	var errs []error
	miss := func(field, value string) {
		if strings.TrimSpace(value) == "" {
			errs = append(errs, fmt.Errorf("%s: missing", field))
		}
	}
	miss("fixture_id", e.FixtureID)
	miss("old verdict", e.Old.Verdict)
	miss("new verdict", e.New.Verdict)
	miss("reason", e.Reason)
	miss("owner", e.Owner)
	if e.ExpiresAt.IsZero() {
		errs = append(errs, errors.New("expires_at: missing"))
	}
	for _, s := range []string{e.FixtureID, e.Old.Verdict, e.Old.ReasonCode, e.New.Verdict, e.New.ReasonCode} {
		if s == "*" || strings.HasSuffix(s, "*") {
			errs = append(errs, fmt.Errorf("%q is too wide: an entry allows one flip of one fixture, and has no wildcards", s))
		}
	}
	if e.Old.Verdict != "" && e.Old.Equal(e.New) {
		errs = append(errs, errors.New("old and new outcome are the same"))
	}
	return errs
}

// Allowlist matches flips with entries at one instant, and remembers which entries were used. Not safe for concurrent use.
type Allowlist struct {
	entries []Entry
	byID    map[string]int
	used    []bool
	now     time.Time
}

// NewAllowlist takes a valid list. now is the run's instant.
func NewAllowlist(entries []Entry, now time.Time) *Allowlist {
	a := &Allowlist{entries: entries, byID: make(map[string]int, len(entries)), used: make([]bool, len(entries)), now: now}
	for i, e := range entries {
		a.byID[e.FixtureID] = i
	}
	return a
}

// Covers gives the entry that allows this flip now, and marks it as used.
func (a *Allowlist) Covers(f Finding) (Entry, bool) {
	if a == nil {
		return Entry{}, false
	}
	i, ok := a.byID[f.Subject]
	if !ok {
		return Entry{}, false
	}
	e := a.entries[i]
	if f.OutputDiffers {
		return Entry{}, false // an entry cannot name an output document, so that it would allow any
	}
	same := e.Old.Verdict == f.Old.Verdict && e.Old.ReasonCode == f.Old.ReasonCode && e.New.Verdict == f.New.Verdict && e.New.ReasonCode == f.New.ReasonCode
	if !same || fixture.Expired(e.ExpiresAt, a.now) {
		return Entry{}, false
	}
	a.used[i] = true
	return e, true
}

// Expirations gives a finding for each entry that has expired. It is asked before a run.
func (a *Allowlist) Expirations() []Finding {
	var out []Finding
	if a == nil {
		return nil
	}
	for _, e := range a.entries {
		if fixture.Expired(e.ExpiresAt, a.now) {
			out = append(out, Finding{Code: AllowlistExpired, Subject: e.FixtureID, Old: e.Old, New: e.New,
				Message: fmt.Sprintf("the entry for %s expired at %s; owner %s", e, e.ExpiresAt.UTC().Format(time.RFC3339), e.Owner)})
		}
	}
	return out
}

// Unused gives a finding for each entry in force that covered no flip. It is asked after a run that was complete;
// selected says whether the run tried a fixture, so that a filter does not make an entry look stale.
func (a *Allowlist) Unused(selected func(id string) bool) []Finding {
	var out []Finding
	if a == nil {
		return nil
	}
	for i, e := range a.entries {
		if !a.used[i] && selected(e.FixtureID) && !fixture.Expired(e.ExpiresAt, a.now) {
			out = append(out, Finding{Code: AllowlistUnused, Subject: e.FixtureID, Old: e.Old, New: e.New,
				Message: fmt.Sprintf("the entry for %s covers no flip of this run; remove it: it would let that flip pass later", e)})
		}
	}
	return out
}

// Package rules is the age rule of Debian's migration to testing: an upload stays in unstable for a number of days that
// depends on its urgency before it is promoted. It is the rule of AgePolicy in britney2, the program that decides the
// migration, without the policies beside it (bugs, dependencies, autopkgtests).
//
// The age in days is read from the input, as it was when the decision was made, and never computed: the checker is not
// told when a decision was made, and has no clock.
package rules

import (
	"context"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// The verdicts and reason codes.
const (
	Promoted = "promoted"
	Dropped  = "dropped"

	AgeOK    = "age_ok"
	TooYoung = "too_young"
)

// The urgencies, which are the parameters too. The changelog of an upload can name any word; an urgency that is none of
// these counts as medium.
const (
	low       = "low"
	medium    = "medium"
	high      = "high"
	critical  = "critical"
	emergency = "emergency"
)

// Checker decides whether an upload is old enough. It holds nothing; the zero value is ready to use.
type Checker struct{}

// Describe implements retrial.Checker. The defaults are the days of a release cycle outside a freeze.
func (Checker) Describe() retrial.Description {
	days := func(urgency string, n int) retrial.Parameter {
		return retrial.Parameter{Name: urgency, Default: n, Description: "Minimum age of an upload of urgency " + urgency + ", in days."}
	}
	return retrial.Description{
		Name: "debian-age", Version: "1.0.0",
		Parameters:  []retrial.Parameter{days(low, 10), days(medium, 5), days(high, 2), days(critical, 0), days(emergency, 0)},
		Verdicts:    []string{Promoted, Dropped},
		ReasonCodes: []string{AgeOK, TooYoung},
	}
}

// Check implements retrial.Checker. An input that lacks urgency (a string), age_days_at_decision (a whole number) or
// is_new (a boolean), or has it in another type, is a *retrial.InputError that names the member.
func (Checker) Check(_ context.Context, c *retrial.Case) (retrial.Outcome, error) {
	u, err := read(c)
	if err != nil {
		return retrial.Outcome{}, err
	}
	if u.age < minimum(c, u) {
		return retrial.Outcome{Verdict: Dropped, ReasonCode: TooYoung}, nil
	}
	return retrial.Outcome{Verdict: Promoted, ReasonCode: AgeOK}, nil
}

// minimum gives the days that an upload must have been in unstable. A source that is not in testing yet has no users
// there who wait for a fix, so its urgency cannot make it faster than medium.
func minimum(c *retrial.Case, u upload) int {
	need := c.Int(medium)
	switch u.urgency {
	case low, high, critical, emergency:
		need = c.Int(u.urgency)
	}
	if u.isNew {
		need = max(need, c.Int(medium))
	}
	return need
}

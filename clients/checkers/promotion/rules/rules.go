// Package rules decides whether a claim from a promotion queue is promoted into long-term memory or dropped.
//
// The rules are tried in this order, and the first that applies decides:
//
//	scope             dropped   scope_mismatch       a key of claim_scope is not in scope with the same value
//	staleness         dropped   stale                age_days_at_decision > max_age_days
//	promoted before   dropped   already_promoted     promoted_before
//	recency           dropped   superseded           a competing claim was accepted later, or at the same instant
//	thresholds        dropped   below_threshold      score < min_score, or occurrence_count < min_occurrences
//	classification    promoted  preference           the model calls the claim a preference
//	                  promoted  fact                 the model calls it a fact, and it is corroborated
//	                  dropped   uncorroborated_fact  the model calls it a fact, and it is not
//
// The classification is the only model call, and the only thing that a stub answers (R20). Everything else is computed,
// from the frozen input alone: no clock is read, for the age is a member of the input (R2).
package rules

import (
	"context"
	"fmt"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// The verdicts. Promoted is the permissive one: what is promoted by mistake is read back by unrelated queries later.
const (
	Promoted = "promoted"
	Dropped  = "dropped"
)

// The reason codes, in the order of the rules.
const (
	ScopeMismatch      = "scope_mismatch"
	Stale              = "stale"
	AlreadyPromoted    = "already_promoted"
	Superseded         = "superseded"
	BelowThreshold     = "below_threshold"
	Preference         = "preference"
	Fact               = "fact"
	UncorroboratedFact = "uncorroborated_fact"
)

// PreferenceOrFact is the name of the model call. Its answer is the string "preference" or "fact".
const PreferenceOrFact = "preference_or_fact"

const (
	maxAgeDays         = "max_age_days"
	minScore           = "min_score"
	minOccurrences     = "min_occurrences"
	minFactOccurrences = "min_fact_occurrences"
)

// Checker applies the rules. It has no state.
type Checker struct{}

var _ retrial.Checker = Checker{}

// Describe implements retrial.Checker.
func (Checker) Describe() retrial.Description {
	return retrial.Description{
		Name:    "promotion",
		Version: "1.0.0",
		Parameters: []retrial.Parameter{
			{Name: maxAgeDays, Default: 30, Description: "The greatest age, in whole days at the time of the decision, at which a claim is not yet stale."},
			{Name: minScore, Default: 0.6, Description: "The lowest score, from 0 to 1, with which a claim is promoted."},
			{Name: minOccurrences, Default: 2, Description: "How often a claim must have been observed to be promoted."},
			{Name: minFactOccurrences, Default: 3, Description: "How many independent observations corroborate a fact."},
		},
		Verdicts: []string{Promoted, Dropped},
		ReasonCodes: []string{
			ScopeMismatch, Stale, AlreadyPromoted, Superseded, BelowThreshold, Preference, Fact, UncorroboratedFact,
		},
		CallsStubs:           true,
		ConfigurationVersion: "promotion-queue/2026-02",
	}
}

// Check implements retrial.Checker. The whole input is read before the first rule, so that an input that is not usable
// is a *retrial.InputError whichever rule would have decided.
func (Checker) Check(_ context.Context, c *retrial.Case) (retrial.Outcome, error) {
	cl, err := readClaim(c)
	if err != nil {
		return retrial.Outcome{}, err
	}
	switch {
	case !cl.inScope():
		return dropped(ScopeMismatch)
	case cl.ageDays > c.Int(maxAgeDays):
		return dropped(Stale)
	case cl.promotedBefore:
		return dropped(AlreadyPromoted)
	case cl.superseded():
		return dropped(Superseded)
	case cl.score < c.Float(minScore), cl.occurrences < c.Int(minOccurrences):
		return dropped(BelowThreshold)
	}
	var kind string
	if err := c.DecodeStub(PreferenceOrFact, &kind); err != nil {
		return retrial.Outcome{}, err
	}
	switch kind {
	case "preference":
		return promoted(Preference)
	case "fact":
		if cl.independentObservations() < c.Int(minFactOccurrences) {
			return dropped(UncorroboratedFact)
		}
		return promoted(Fact)
	default:
		return retrial.Outcome{}, &retrial.InputError{Err: fmt.Errorf(`stub %q: expected "preference" or "fact", found %.40q`, PreferenceOrFact, kind)}
	}
}

func promoted(reason string) (retrial.Outcome, error) {
	return retrial.Outcome{Verdict: Promoted, ReasonCode: reason}, nil
}

func dropped(reason string) (retrial.Outcome, error) {
	return retrial.Outcome{Verdict: Dropped, ReasonCode: reason}, nil
}

package rules

import (
	"errors"
	"time"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// claim is what the rules read of the input. Other members, such as source_event_id, are there for people.
type claim struct {
	// scope is where the claim would be remembered; own is where it was made. Keys such as user_id, with their values.
	scope, own map[string]string
	// ageDays is the claim's age when it was decided, in whole days since its acceptance. Not negative.
	ageDays int
	// promotedBefore says that the memory already held this claim in this scope.
	promotedBefore bool
	// acceptedAt is when this application took the claim in.
	acceptedAt time.Time
	// competingAcceptedAt is when it took in the claim that the memory holds about the same thing; nil if there is none.
	competingAcceptedAt *time.Time
	// score is the extraction's confidence in the claim, from 0 to 1, computed before the decision.
	score float64
	// occurrences is how often the claim was observed. At least 1.
	occurrences int
	// oneSource says that the observations depend on each other, such as the copies of a forwarded message.
	oneSource bool
}

// readClaim reads the input of a case. The error is a *retrial.InputError that names the first member, in the order
// below, that is missing or not usable.
func readClaim(in *retrial.Case) (claim, error) {
	d := newDocument(in)
	var c claim
	c.scope = d.keys("scope")
	c.own = d.keys("claim_scope")
	if d.text("claim_text") == "" {
		d.fail("claim_text", errors.New("empty")) // the classification would have nothing to read
	}
	if c.ageDays = d.whole("age_days_at_decision"); c.ageDays < 0 {
		d.fail("age_days_at_decision", errors.New("negative: the claim would have been decided before it was accepted"))
	}
	c.promotedBefore = d.truth("promoted_before")
	c.acceptedAt = d.times()
	if competing := d.object("competing"); competing != nil {
		at := competing.times()
		c.competingAcceptedAt = &at
	}
	if c.score = d.number("score"); c.score < 0 || c.score > 1 {
		d.fail("score", errors.New("not between 0 and 1"))
	}
	if c.occurrences = d.whole("occurrence_count"); c.occurrences < 1 {
		d.fail("occurrence_count", errors.New("below 1: a claim was observed at least once"))
	}
	c.oneSource = optional[string](d, "dependency_group", "a string or null") != nil
	return c, d.err()
}

// times reads both times of a claim and gives the one that the rules may use (R6). What a source says about when
// something happened is part of the record and has to be an instant, but it orders nothing: whoever writes the source
// could win every conflict with a date in the future.
func (d *document) times() (acceptedAt time.Time) {
	d.instant("event_time")
	return d.instant("accepted_at")
}

// inScope says that the claim would be remembered nowhere but where it was made: each of its own keys binds.
// A claim made by a user in any workspace fits into one workspace; one made in a project does not fit a whole workspace.
func (c *claim) inScope() bool {
	for key, value := range c.own {
		if found, ok := c.scope[key]; !ok || found != value {
			return false
		}
	}
	return true
}

// superseded says that the memory holds a claim about the same thing that was accepted later. Of two that were accepted
// at the same instant, the one that is already held stays.
func (c *claim) superseded() bool {
	return c.competingAcceptedAt != nil && !c.acceptedAt.After(*c.competingAcceptedAt)
}

// independentObservations counts observations that depend on each other once: repeating a thing does not confirm it.
func (c *claim) independentObservations() int {
	if c.oneSource {
		return 1
	}
	return c.occurrences
}

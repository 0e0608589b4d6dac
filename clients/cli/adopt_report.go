package cli

import (
	"fmt"

	"github.com/retrial-dev/retrial/clients/adopt"
	"github.com/retrial-dev/retrial/clients/cli/setdir"
)

// printPlan says what was adopted, what was not and why, and how many would fail today (S15).
func (a *app) printPlan(plan *adopt.Plan, o adoption, ageSaid bool) error {
	var verified *setdir.Verified
	if !o.dryRun {
		var err error
		if verified, err = setdir.VerifyRecordings(o.into, o.options.Now); err != nil {
			return err
		}
	}
	if a.json {
		return a.printValue(struct {
			*adopt.Plan
			WouldFail int              `json:"would_fail"`
			DryRun    bool             `json:"dry_run"`
			Verified  *setdir.Verified `json:"verified,omitempty"`
		}{plan, plan.Failing(), o.dryRun, verified})
	}
	for _, w := range plan.Warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", legible(w))
	}
	if !a.quiet {
		a.printParts(plan)
	}
	verb := "adopted"
	if o.dryRun {
		verb = "would adopt"
	}
	fmt.Fprintf(a.stdout, "%s %d recordings; %d were there already, %d are kept, %d skipped, %d refused\n",
		verb, len(plan.Adopted), len(plan.Already), len(plan.Kept), len(plan.Skipped), len(plan.Refused))
	if !ageSaid && len(plan.Adopted) > 0 {
		fmt.Fprintf(a.stdout, "each may be %d days old, since --max-age-days says nothing else\n", o.options.MaxAgeDays)
	}
	unearned := ""
	if plan.Failing() > 0 {
		unearned = ": so much of what is green is not earned"
	}
	fmt.Fprintf(a.stdout, "%d of %d would fail today%s\n", plan.Failing(), len(plan.Adopted), unearned)
	if verified != nil {
		fmt.Fprintf(a.stdout, "the set has %d recordings and %d problems: `retrial stubs verify` names them\n", verified.Checked, len(verified.Problems))
	}
	if plan.ChangesChecksum() && !a.quiet {
		fmt.Fprintf(a.stdout, "retrial.yaml states a checksum, and the set has another now: `retrial fixtures checksum --update` when the recordings are reviewed\n")
	}
	return nil
}

func (a *app) printParts(plan *adopt.Plan) {
	p := newPaint(a.stdout)
	for _, r := range plan.Adopted {
		fmt.Fprintf(a.stdout, "adopted  %s  %s of %s\n", legible(r.ID), legible(r.Call), legible(r.FixtureID))
		for _, problem := range r.Problems {
			fmt.Fprintf(a.stdout, "%s  %s\n", p.red(string(problem.Kind)), legible(problem.String()))
		}
	}
	for _, part := range []struct {
		word string
		list []adopt.Skip
	}{{"kept", plan.Kept}, {"skipped", plan.Skipped}, {"refused", plan.Refused}} {
		for _, s := range part.list {
			id := ""
			if s.ID != "" {
				id = " (" + s.ID + ")"
			}
			fmt.Fprintf(a.stdout, "%s  %s: %s\n", part.word, legible(s.Where+id), legible(s.Why))
		}
	}
}

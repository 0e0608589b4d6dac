package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// The outcomes of a recording. Their causes have answers of their own, and are not mixed (S4).
const (
	outcomeSame     = "SAME"           // the answer is as it was
	outcomeDrift    = "DRIFT"          // the same prompt has another answer
	outcomePrompt   = "PROMPT_CHANGED" // another prompt was answered, on purpose
	outcomeNew      = "NEW"            // it was declared, and not recorded yet
	outcomeBodyLost = "BODY_LOST"      // its body was missing or edited: there was nothing to compare with
	outcomeFailed   = "FAILED"         // there is no answer that can be kept
)

// recorded is what came of one recording.
type recorded struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
	Owner   string `json:"owner"`
	// Was and Is are excerpts around the first difference.
	Was   string `json:"was,omitempty"`
	Is    string `json:"is,omitempty"`
	Error string `json:"error,omitempty"`
	// Earlier says that a run that was interrupted did it.
	Earlier bool `json:"earlier,omitempty"`
}

// recording is one run.
type recording struct {
	a        *app
	dir      string
	list     []*wanted
	journal  *recorder.Journal
	outcomes []recorded // by the places of list; without an outcome where it was not done
	found    []string   // by the places of list: what a run that was interrupted found, and wrote, and nobody was told at its end
}

// resumeWithin is how long a run that was interrupted is gone on with: later, its first answers say little about now.
const resumeWithin = 24 * time.Hour

// resume takes over what an interrupted run has done, where the files still say so. Its drift is this run's: or else the run that
// ends it would be green.
//
// Another endpoint or recorder was never asked, and neither was what is declared in any other way since, its model included: that is asked
// again. The change that was found stands in the files all the same, and stays one where the answer is what was written then.
func (r *recording) resume(u *recorder.Unfinished, asked string, restart bool) error {
	if u == nil || restart {
		return nil
	}
	n := 0
	for i, w := range r.list {
		declared, err := w.Digest()
		if err != nil {
			return err
		}
		var found *recorder.Kept
		for _, k := range u.Kept {
			if k.ID != w.ID || w.Value == nil {
				continue
			}
			if u.Asked == asked && k.Declaration == declared && !w.PromptChanged && time.Since(k.At) <= resumeWithin {
				if err := r.journal.Keep(k); err != nil {
					return err
				}
				r.outcomes[i] = recorded{ID: w.ID, Outcome: k.Outcome, Owner: w.Owner, Earlier: true}
				n++
				break
			}
			if k.Outcome != outcomeSame && k.Body == fixture.DigestOf(w.Value).String() {
				k.Declaration = ""
				found = &k
			}
		}
		if found != nil && r.outcomes[i].Outcome == "" {
			if err := r.journal.Keep(*found); err != nil { // or else it would be lost where this run is interrupted as well
				return err
			}
			r.found[i] = found.Outcome
		}
	}
	if err := r.beside(u); err != nil {
		return err
	}
	if n > 0 && !r.a.json && !r.a.quiet {
		fmt.Fprintf(r.a.stdout, "going on with the run of %s, which was interrupted: %d of %d are done\n", u.At.Format(time.RFC3339), n, len(r.list))
	}
	return nil
}

// beside takes over the changes that an interrupted run found in recordings that this one does not ask for: it is the next to come to an end,
// and behind that nobody would tell them.
func (r *recording) beside(u *recorder.Unfinished) error {
	told := map[string]bool{}
	for _, w := range r.list {
		told[w.ID] = true
	}
	for _, k := range u.Kept {
		if told[k.ID] || k.Outcome == outcomeSame {
			continue
		}
		told[k.ID] = true
		k.Declaration = ""
		if err := r.journal.Keep(k); err != nil {
			return err
		}
		r.outcomes = append(r.outcomes, recorded{ID: k.ID, Outcome: k.Outcome, Earlier: true})
	}
	return nil
}

// ask asks for what is not done yet, keeps each answer as it comes, and reports.
func (r *recording) ask(ctx context.Context, asker *recorder.Asker, questions []recorder.Question, f recordFlags) error {
	var left []int
	var ask []recorder.Question
	for i, q := range questions {
		if r.outcomes[i].Outcome == "" {
			left, ask = append(left, i), append(ask, q)
		}
	}
	progress, done := r.a.progress(), uint64(len(questions)-len(ask))
	err := recorder.Run(ctx, asker, ask, 1, f.parallel, func(res recorder.Result) error {
		done++
		progress.show("recorded:", done, uint64(len(questions)))
		return r.keep(left[res.Index], res)
	})
	progress.clear()
	if err != nil {
		return errors.Join(r.a.tellRecorded(r.outcomes), r.interrupted(ctx, err, done))
	}
	if err := r.journal.End(time.Now()); err != nil {
		return err
	}
	return errors.Join(r.a.tellRecorded(r.outcomes), recordExit(r.outcomes))
}

// keep classes one result and writes it.
func (r *recording) keep(i int, res recorder.Result) error {
	w, out := r.list[i], &r.outcomes[i]
	*out = recorded{ID: w.ID, Owner: w.Owner}
	if err := res.Err; err != nil {
		out.Outcome, out.Error = outcomeFailed, err.Error()
		return nil //nolint:nilerr // it is the recording's, and ends no run
	}
	value := res.Answers[0].Value
	switch {
	case !w.Recorded:
		out.Outcome = outcomeNew
	case w.PromptChanged:
		out.Outcome = outcomePrompt
	case w.Value == nil:
		out.Outcome = outcomeBodyLost
	case w.comparison.Same(w.Value, value):
		out.Outcome = outcomeSame
	default:
		out.Outcome = outcomeDrift
	}
	now := time.Now()
	var d setdir.Declaration
	if out.Outcome == outcomeSame {
		d, value = w.Verified(now), nil // what it may vary in stays as it was
	} else {
		d = w.Answered(value, now)
		out.Was, out.Is = excerpts(w.Value, value)
	}
	if found := r.found[i]; found != "" && out.Outcome == outcomeSame {
		out.Outcome, out.Earlier = found, true
	}
	// In the log before it is in the files: a drift that is written and not logged would be the same when it is asked for again.
	declared, err := d.Digest()
	if err == nil {
		err = r.journal.Keep(recorder.Kept{At: now.UTC(), ID: w.ID, Outcome: out.Outcome, Declaration: declared, Body: d.BodySHA256})
	}
	if err != nil {
		return err
	}
	err = w.Keep(r.dir, d, value)
	if fixture.CodeOf(err) == fixture.CodeConflict { // somebody works on this one; the others can be kept
		*out = recorded{ID: w.ID, Owner: w.Owner, Outcome: outcomeFailed, Error: err.Error()}
		return nil
	}
	return err
}

// interrupted says how far a run came that did not end.
func (r *recording) interrupted(ctx context.Context, err error, done uint64) error {
	if ctx.Err() == nil {
		return err
	}
	return &exit{exitUndecided, fmt.Errorf("interrupted: %d of %d are done and kept; the same command goes on with the others", done, len(r.list))}
}

// recordExit gives the exit status of a run that came to its end. What is missing counts before what has changed.
func recordExit(all []recorded) error {
	changed := false
	for _, o := range all {
		switch o.Outcome {
		case outcomeSame:
		case outcomeDrift, outcomePrompt, outcomeNew, outcomeBodyLost:
			changed = true
		default:
			return &exit{status: exitUndecided}
		}
	}
	if changed {
		return &exit{status: exitBlocked}
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// tellPlan prints the arithmetic, also where little is to be printed: nobody is to be surprised by it (S10).
func (a *app) tellPlan(p recorder.Plan) error {
	if a.json {
		return a.printValue(map[string]any{"plan": p})
	}
	_, err := fmt.Fprintln(a.stdout, p)
	return err
}

func (a *app) tellNoneStale() error {
	if a.json {
		return a.printValue(map[string]any{"recordings": []recorded{}})
	}
	_, err := fmt.Fprintln(a.stdout, "nothing is stale: nothing was asked")
	return err
}

// tellRecorded prints what came of each recording that was done, in the order of ids.
func (a *app) tellRecorded(all []recorded) error {
	counts := map[string]int{}
	listed := []recorded{}
	for _, o := range all {
		counts[o.Outcome]++
		if o.Outcome != "" {
			listed = append(listed, o)
		}
	}
	if a.json {
		return a.printValue(map[string]any{"recordings": listed})
	}
	p := newPaint(a.stdout)
	for _, o := range listed {
		if o.Outcome == outcomeSame {
			continue
		}
		name := p.yellow(o.Outcome)
		if o.Outcome == outcomeDrift || o.Outcome == outcomeFailed {
			name = p.red(o.Outcome)
		}
		line := fmt.Sprintf("%s  %s", name, o.ID)
		if o.Owner != "" {
			line += "; owner " + fixture.Printable(o.Owner, maxCell)
		}
		if o.Earlier {
			line += "; before the interruption"
		}
		if o.Error != "" {
			line += ": " + fixture.Printable(o.Error, maxCell)
		}
		fmt.Fprintln(a.stdout, line)
		if o.Is != "" {
			fmt.Fprintf(a.stdout, "  was  %s\n  is   %s\n", o.Was, o.Is)
		}
	}
	_, err := fmt.Fprintf(a.stdout, "recorded %d of %d: %d as they were, %d drifted, %d with another prompt, %d new, %d whose body was lost; %d failed\n",
		len(listed)-counts[outcomeFailed], len(all), counts[outcomeSame], counts[outcomeDrift], counts[outcomePrompt], counts[outcomeNew], counts[outcomeBodyLost], counts[outcomeFailed])
	return err
}

// Bounds of an excerpt, in bytes: of the whole, and of what stands before the first difference.
const (
	maxExcerpt    = 200
	excerptBefore = 30
)

// excerpts gives two values from shortly before where they begin to differ. was is nil where there was none.
func excerpts(was, is []byte) (string, string) {
	if was == nil {
		return "(nothing)", fixture.Printable(string(is), maxExcerpt)
	}
	at := 0
	for at < min(len(was), len(is)) && was[at] == is[at] {
		at++
	}
	from := func(b []byte) string {
		if at <= excerptBefore {
			return fixture.Printable(string(b), maxExcerpt)
		}
		return "…" + fixture.Printable(string(b[at-excerptBefore:]), maxExcerpt)
	}
	return from(was), from(is)
}

// reportSpread asks for every recording several times and prints how much the answers vary.
func (a *app) reportSpread(ctx context.Context, asker *recorder.Asker, list []*wanted, questions []recorder.Question, f recordFlags, journal *recorder.Journal) error {
	spreads, failed, done := make([]*recorder.Spread, len(list)), make([]recorded, len(list)), uint64(0)
	progress := a.progress()
	err := recorder.Run(ctx, asker, questions, f.repeat, f.parallel, func(res recorder.Result) error {
		done++
		progress.show("recordings asked:", done, uint64(len(list)))
		w := list[res.Index]
		if res.Err != nil {
			failed[res.Index] = recorded{ID: w.ID, Outcome: outcomeFailed, Owner: w.Owner, Error: res.Err.Error()}
			return nil //nolint:nilerr // it is the recording's, and ends no run
		}
		s := w.comparison.Spread(w.ID, res.Answers, w.Value)
		spreads[res.Index] = &s
		return nil
	})
	progress.clear()
	if err == nil {
		err = journal.End(time.Now())
	} else if ctx.Err() != nil {
		err = &exit{exitUndecided, fmt.Errorf("interrupted: %d of %d were asked %d times", done, len(list), f.repeat)}
	}
	return errors.Join(a.tellSpread(spreads, failed), err)
}

func (a *app) tellSpread(spreads []*recorder.Spread, failed []recorded) error {
	var known []*recorder.Spread
	bad := []recorded{}
	for i, s := range spreads {
		if s != nil {
			known = append(known, s)
		} else if failed[i].ID != "" {
			bad = append(bad, failed[i])
		}
	}
	if a.json {
		if err := a.printValue(map[string]any{"spreads": known, "failed": bad}); err != nil {
			return err
		}
	} else {
		a.tellSpreadTable(known, bad)
	}
	if len(bad) > 0 {
		return &exit{status: exitUndecided}
	}
	return nil
}

func (a *app) tellSpreadTable(known []*recorder.Spread, bad []recorded) {
	t := newTable(a.stdout)
	t.row("RECORDING", "COMPARE", "FIELD", "ANSWERS", "DISTINCT", "MOST FREQUENT", "AS RECORDED")
	for _, s := range known {
		for _, row := range s.Rows {
			as := "-"
			if row.AsRecorded != nil {
				as = fmt.Sprintf("%d", *row.AsRecorded)
			}
			field := row.Field
			if field == "" {
				field = "-"
			}
			t.row(s.ID, s.Compare, field, fmt.Sprint(s.Answers), fmt.Sprint(row.Distinct), fmt.Sprintf("%d (%.0f%%)", row.Most, 100*row.Share), as)
		}
	}
	t.flush()
	p := newPaint(a.stdout)
	for _, o := range bad {
		fmt.Fprintf(a.stdout, "%s  %s; owner %s: %s\n", p.red(o.Outcome), o.ID, o.Owner, fixture.Printable(o.Error, maxCell))
	}
	fmt.Fprintln(a.stdout, "nothing was written: this is how much the answers vary by themselves")
}

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/customerdata"
	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/stub"
)

// wanted is one recording that a run asks for.
type wanted struct {
	setdir.Recordable
	comparison *recorder.Comparison
}

func (w *wanted) question() recorder.Question {
	q := recorder.Question{ID: w.ID, Model: w.Model, Prompt: w.Text}
	if w.Comparison.Kind == stub.Schema {
		q.Schema = w.Comparison.Schema
	}
	return q
}

// selectRecordings reads what is to be recorded, and refuses all that cannot be, at once.
func selectRecordings(dir string, ids []string, stale bool, rules customerdata.Rules, now time.Time) ([]*wanted, error) {
	all, err := setdir.Recordables(dir, now)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(r setdir.Recordable) bool { return r.ID == id }) {
			return nil, usage(fmt.Errorf("the manifest declares no recording %q", id))
		}
	}
	var out []*wanted
	var errs []error
	for _, r := range all {
		if len(ids) > 0 && !slices.Contains(ids, r.ID) || stale && !r.Stale {
			continue
		}
		w := &wanted{Recordable: r}
		if w.comparison, err = recorder.NewComparison(r.Comparison); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.ID, err))
		}
		if found := rules.Disallowed(customerdata.In(r.Text)); len(found) > 0 {
			errs = append(errs, fmt.Errorf("%s: refused: the prompt prompts/%s has customer data in it: %s: write a synthetic one", r.ID, r.Prompt, places(found)))
		}
		out = append(out, w)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &exit{exitInvalid, err}
	}
	return out, nil
}

// places names findings; a few stand for many.
func places(found []customerdata.Finding) string {
	const most = 5
	var out []string
	for _, f := range found[:min(len(found), most)] {
		out = append(out, f.String())
	}
	if n := len(found) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}

// check makes the function that an answer must pass before it is compared or kept: scrubbed, by its comparison, without customer
// data.
func check(list []*wanted, rules customerdata.Rules) func(recorder.Question, []byte) ([]byte, error) {
	comparisons := map[string]*recorder.Comparison{}
	for _, w := range list {
		comparisons[w.ID] = w.comparison
	}
	return func(q recorder.Question, value []byte) ([]byte, error) {
		value, err := rules.Scrubbed(value)
		if err != nil {
			return nil, fmt.Errorf("scrubbed, the answer is no JSON: %w", err)
		}
		if found := rules.Disallowed(customerdata.InJSON(value)); len(found) > 0 {
			return nil, fmt.Errorf("refused: the answer has customer data in it, and nothing of it is kept: %s; a scrub rule of %s can replace it", places(found), setdir.ConfigFile)
		}
		return value, comparisons[q.ID].Check(value)
	}
}

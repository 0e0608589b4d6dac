package replayer

import (
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxText bounds what is passed on of a checker's words, in bytes.
const maxText = 500

// printable makes a checker's words fit for a terminal.
func printable(s string) string { return fixture.Printable(s, maxText) }

// sanitized is an outcome that stands in the vocabulary, or the reason why it does not.
func (r *run) sanitized(a Answer) (fixture.Outcome, error) {
	o := a.Outcome
	for _, part := range []struct{ name, value string }{{"verdict", o.Verdict}, {"reason code", o.ReasonCode}} {
		if part.value == "" {
			continue
		}
		if err := fixture.CheckName(part.value, fixture.MaxIDBytes); err != nil {
			return o, fmt.Errorf("its %s is %w", part.name, err)
		}
	}
	if err := r.t.Vocabulary.Check(o); err != nil {
		return o, err
	}
	if o.ReasonCode == "" && r.t.Tally.WithoutReason == 0 {
		return o, errors.New("it gave no reason code, and every fixture of the set has one")
	}
	if o.Output != nil {
		doc, err := fixture.Canonicalize(nil, o.Output)
		if err != nil {
			return o, fmt.Errorf("its output is no JSON document: %w", err)
		}
		o.Output = doc
		if string(doc) == "null" {
			o.Output = nil
		}
	}
	return o, nil
}

package replayer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// maxBlamed bounds the fixtures by which a checker is found to answer by the case id, and blameTries is how often it is asked under
// each id, over all of them, at least.
const (
	maxBlamed  = 8
	blameTries = 12
)

// blameHandles finds out whether what a candidate answers differently hangs on the case id: a handle of the run, which says nothing
// of a case. A few of those fixtures are asked again, each alone, under the ids of both times. If every answer comes back with the id
// that it was given under, that is what the checker looks at.
func (r *run) blameHandles(found []probed) error {
	found = found[:min(len(found), maxBlamed)]
	cases, err := r.again(found)
	if err != nil {
		return err
	}
	for _, c := range cases {
		for range max(2, blameTries/len(cases)) {
			for _, under := range []struct {
				salt uint64
				want print
			}{{r.salt(2) + c.first, r.answers.prints[c.Position]}, {r.salt(3) + c.probed.ordinal, c.probed.print}} {
				got, err := r.askAlone(c.Case, under.salt)
				if err != nil || got != under.want {
					return err // something else is to blame
				}
			}
		}
	}
	name := r.t.Candidate.Description().Name
	r.docket.file(gate.Finding{Code: gate.Nondeterministic, Role: gate.Candidate, Subject: name,
		Message: fmt.Sprintf("the candidate %q answers by the case id, which says nothing of a case: each of %d fixtures is answered as it was under that id, whenever it is asked", name, len(cases))})
	return nil
}

// askedTwice is a case with what the probe saw of it, and the place that it had in the first pass: its id came from that.
type askedTwice struct {
	Case
	first  uint64
	probed probed
}

// again finds the cases of fixtures once more.
func (r *run) again(found []probed) (cases []askedTwice, err error) {
	n := uint64(0)
	err = r.every(r.ctx, reader{r.t.Source, nil, 0}, fixture.Hermetic)(func(c *Case) error {
		if i := slices.IndexFunc(found, func(p probed) bool { return p.position == c.Position }); i >= 0 {
			cases = append(cases, askedTwice{*c, n, found[i]})
		}
		n++
		return nil
	})
	return cases, err
}

// askAlone asks the candidate one case over a stream of its own. A checker that is to blame for something else gives errorPrint.
func (r *run) askAlone(c Case, salt uint64) (answer print, err error) {
	answer = errorPrint
	judge := r.judge(gate.Candidate)
	p := &pass{checker: r.t.Candidate, role: gate.Candidate, salt: salt, timeout: r.t.CaseTimeout, elapsed: r.t.Elapsed,
		feed: func(ask func(*Case) error) error { return ask(&c) }}
	p.handle = func(c *Case, a *Answer) error {
		if outcome, f := judge(c, a); f == nil {
			answer = r.answers.printOf(outcome)
		}
		return nil
	}
	r.begin(p)
	var fault *Fault
	var missing *missingAnswers
	if err = p.run(r.ctx); errors.As(err, &fault) || errors.As(err, &missing) {
		return errorPrint, nil
	}
	return answer, err
}

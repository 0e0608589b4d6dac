package replayer

import (
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// judge gives a function that checks the answers of one pass. It gives the outcome, or the finding that there is none.
// What stands in the vocabulary once, it knows again.
func (r *run) judge(role gate.Role) func(*Case, *Answer) (fixture.Outcome, *gate.Finding) {
	var known outcomes
	return func(c *Case, a *Answer) (fixture.Outcome, *gate.Finding) {
		if a.Err == nil && len(a.StubsUsed) == 0 && known.find(a.Outcome) >= 0 {
			return a.Outcome, nil
		}
		outcome, f := r.examine(role, *c, *a)
		if f == nil {
			known.add(outcome)
		}
		return outcome, f
	}
}

// outcomes are the first few outcomes without a document that were met: most sets have no others.
type outcomes []fixture.Outcome

// find gives the place of an outcome, or -1.
func (l outcomes) find(o fixture.Outcome) int {
	for i := range l {
		if l[i].Verdict == o.Verdict && l[i].ReasonCode == o.ReasonCode && o.Output == nil {
			return i
		}
	}
	return -1
}

func (l *outcomes) add(o fixture.Outcome) bool {
	if o.Output != nil || len(*l) == 16 || l.find(o) >= 0 {
		return false
	}
	*l = append(*l, o)
	return true
}

// examine checks an answer.
func (r *run) examine(role gate.Role, c Case, a Answer) (fixture.Outcome, *gate.Finding) {
	refuse := func(code gate.Code, format string, args ...any) (fixture.Outcome, *gate.Finding) {
		f := finding(code, role, c)
		f.Message = fmt.Sprintf(format, args...)
		return fixture.Outcome{}, &f
	}
	switch {
	case a.Err != nil && a.Err.StubMissing != "":
		return refuse(gate.StubMissing, "the %s asked for the stub %q, which nobody recorded for this fixture", role, printable(a.Err.StubMissing))
	case a.Err != nil:
		return refuse(gate.CheckerError, "the %s could not decide: %s", role, printable(a.Err.Message))
	}
	outcome, err := r.sanitized(a)
	if err == nil {
		err = unknownStub(c, a)
	}
	if err != nil {
		return refuse(gate.CheckerError, "the %s answered what is no outcome of this set: %s", role, printable(err.Error()))
	}
	return outcome, nil
}

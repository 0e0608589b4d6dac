package replayer

import (
	"errors"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// tryDerived tries the fixtures that do not gate, if the caller asked for them (R17). What it finds is reported.
func (r *run) tryDerived() error {
	if !r.t.IncludeDerived || r.selection.Derived == 0 {
		return nil
	}
	r.fileLate() // what was asked for fixtures that gate is no matter of this pass
	step := newStep(PhaseDerived, r.selection.Derived, &r.docket)
	file := func(f gate.Finding) error {
		f.Group = fixture.Derived
		r.docket.file(f)
		return r.ctx.Err()
	}
	p := &pass{checker: r.t.Candidate, role: gate.Candidate, feed: r.every(r.ctx, reader{r.t.Source, nil, 0}, fixture.Derived), salt: r.salt(4)}
	judge := r.judge(gate.Candidate)
	p.handle = func(c *Case, a *Answer) error {
		outcome, f := judge(c, a)
		step.answered()
		switch {
		case f != nil:
			return file(*f)
		case !outcome.Equal(c.Fixture.Expected):
			return file(r.flip(*c, outcome))
		}
		return nil
	}
	err := r.ask(r.ctx, p, fixture.Derived, file)
	if errors.Is(err, errRuled) {
		return nil // a fault over what does not gate is reported, and rules nothing
	}
	return err
}

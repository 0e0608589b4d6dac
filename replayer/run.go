package replayer

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

var (
	errRunTimeout  = errors.New("the run took longer than it may")
	errUnconfirmed = errors.New("the baseline is not confirmed")
)

// run is one trial under way.
type run struct {
	t      Trial
	ctx    context.Context
	docket docket

	selection Selection
	started   bool
	evidence  gate.Evidence
	answers   memory
	usage     stubUsage
	freezes   *gate.Freezes // nil where there are none; not written behind the preflight
	stubs     hash.Hash     // of Report.StubsDigest; nil until there is a stub
}

// phases goes through the five phases of a replay.
func (r *run) phases() (*Report, error) {
	if err := r.preflight(); err != nil {
		return r.stopped(err)
	}
	if r.selection.Hermetic == 0 {
		return r.rule(), nil // nothing to ask: the gate says what that means
	}
	if err := r.confirmAndTry(); err != nil {
		return r.stopped(err)
	}
	if err := r.probe(); err != nil {
		return r.stopped(err)
	}
	if err := r.tryDerived(); err != nil {
		return r.stopped(err)
	}
	r.close()
	// The last answers may have been in hand when the caller went away, or the sink broke over the last finding.
	if r.ctx.Err() != nil {
		return r.stopped(context.Cause(r.ctx))
	}
	return r.rule(), nil
}

func (r *run) rule() *Report {
	r.docket.mu.Lock()
	defer r.docket.mu.Unlock()
	return &Report{Decision: gate.Decide(&r.docket.tally, r.evidence, r.t.Policy), StubsDigest: r.stubsDigest(), Evidence: r.evidence, Tally: r.docket.tally, Findings: r.docket.findings}
}

// errRuled ends a run early: what there is to say stands in the docket.
var errRuled = errors.New("the run has ended early")

// stopped turns the reason for an early end into a ruling, or into an error where there can be none.
func (r *run) stopped(err error) (*Report, error) {
	switch {
	case errors.Is(err, errRuled):
	case errors.Is(err, errRunTimeout) || r.ctx.Err() != nil && errors.Is(context.Cause(r.ctx), errRunTimeout):
		r.start(gate.Finding{Code: gate.RunTimeout, Message: fmt.Sprintf("the run did not end within %s", r.t.RunTimeout)})
	case r.ctx.Err() != nil:
		r.start(gate.Finding{Code: gate.RunCancelled, Message: "the caller went away, or cancelled the run"})
	default:
		return nil, err
	}
	return r.rule(), nil
}

// confirmAndTry runs the baseline and the candidate side by side. What the candidate gives is held back until the
// baseline has confirmed every fixture (R22), and dropped if it does not.
func (r *run) confirmAndTry() error {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	hold := newHold(ctx, &r.docket)
	r.answers = newMemory(r.t.Tally.Total)
	baseline, candidate := share(r.t.Source)

	var wg sync.WaitGroup
	var candidateErr error
	wg.Go(func() { candidateErr = r.tryCandidate(ctx, candidate, hold) })
	err := r.confirm(ctx, baseline)
	confirmed := err == nil && r.evidence.Reproduced()
	if confirmed || r.t.KeepGoing && r.ctx.Err() == nil && errors.Is(orRuled(err), errRuled) {
		hold.release()
	} else {
		cancel(errUnconfirmed)
	}
	wg.Wait()
	switch {
	case !confirmed && !r.t.KeepGoing:
		r.evidence.Evaluated = 0 // the candidate's answers were not looked at
		return orRuled(err)
	case err != nil && !errors.Is(err, errRuled):
		return err
	}
	return candidateErr
}

// orRuled gives errRuled for a pass that ended without an error of its own.
func orRuled(err error) error {
	if err == nil {
		return errRuled
	}
	return err
}

// ask runs one pass. A checker that is to blame becomes a finding, and then errRuled comes back.
func (r *run) ask(ctx context.Context, p *pass, group fixture.Group, file func(gate.Finding) error) error {
	p.timeout, p.elapsed = r.t.CaseTimeout, r.t.Elapsed
	r.begin(p)
	err := p.run(ctx)
	if filed := fileLosses(p, group, file); filed != nil {
		return filed
	}
	if filed := r.fileRefusals(p.role, p.checker, group, file); filed != nil && !errors.Is(filed, errRuled) {
		return filed
	} else if err == nil {
		err = filed
	}
	var fault *Fault
	var missing *missingAnswers
	switch {
	case errors.As(err, &missing):
		for _, c := range missing.cases {
			f := finding(gate.AnswerMissing, p.role, c)
			f.Message = p.name() + " ended its stream without an answer for this fixture"
			if err := file(f); err != nil {
				return err
			}
		}
		return errRuled
	case errors.As(err, &fault):
		if err := file(gate.Finding{Code: fault.Code, Role: p.role, Subject: p.checker.Description().Name, Message: fault.Message, Group: group}); err != nil {
			return err
		}
		return errRuled
	}
	return err
}

// every feeds a pass all selected cases of a group, in order.
func (r *run) every(ctx context.Context, source reader, group fixture.Group) feed {
	return func(ask func(*Case) error) error {
		for i := range source.Blocks() {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			cases, err := source.read(i)
			if err != nil {
				return err
			}
			for j := range cases {
				c := &cases[j]
				if c.Fixture.Group != group || !r.selected(c.Fixture.ID) {
					continue
				}
				if err := ask(c); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func (r *run) selected(id string) bool { return r.t.Selected == nil || r.t.Selected(id) }

// confirm has the baseline reproduce every recorded outcome (R22).
func (r *run) confirm(ctx context.Context, source reader) error {
	step := newStep(PhaseConfirmation, r.evidence.Expected, &r.docket)
	file := func(f gate.Finding) error { r.docket.file(f); return nil }
	p := &pass{checker: r.t.Baseline, role: gate.Baseline, feed: r.every(ctx, source, fixture.Hermetic), salt: r.salt(1)}
	judge := r.judge(gate.Baseline)
	p.handle = func(c *Case, a *Answer) error {
		outcome, f := judge(c, a)
		if f == nil && !outcome.Equal(c.Fixture.Expected) {
			mismatch := finding(gate.BaselineMismatch, gate.Baseline, *c)
			mismatch.Old, mismatch.New, mismatch.Inputs = excerpt(c.Fixture.Expected), excerpt(outcome), r.shown(*c)
			mismatch.Message = "the baseline does not reproduce the recorded outcome"
			f = &mismatch
		}
		if f == nil {
			r.evidence.Confirmed++
		} else {
			r.docket.file(r.excused(*f))
		}
		r.usage.baseline(c, a)
		step.confirmed(r.evidence.Confirmed)
		return nil
	}
	return r.ask(ctx, p, fixture.Hermetic, file)
}

// tryCandidate asks the candidate every case and files the flips (R23).
func (r *run) tryCandidate(ctx context.Context, source reader, hold *hold) error {
	step := newStep(PhaseCandidate, r.evidence.Expected, &r.docket)
	unseen := r.unseen()
	p := &pass{checker: r.t.Candidate, role: gate.Candidate, feed: r.every(ctx, source, fixture.Hermetic), salt: r.salt(2)}
	judge := r.judge(gate.Candidate)
	p.handle = func(c *Case, a *Answer) error {
		outcome, f := judge(c, a)
		r.usage.candidate(c, a)
		step.answered()
		if f != nil {
			r.answers.remember(c.Position, errorPrint)
			return hold.file(*f)
		}
		r.evidence.Evaluated++
		r.answers.rememberOutcome(c.Position, outcome)
		if f := unseen(outcome); f != nil {
			if err := hold.file(*f); err != nil {
				return err
			}
		}
		if outcome.Equal(c.Fixture.Expected) {
			return nil
		}
		if z, frozen := r.freezes.Excuses(c.Fixture.ID); frozen {
			f := finding(gate.FreezeRefused, gate.Candidate, *c)
			f.Message = fmt.Sprintf("the freeze of %s is refused: the candidate flips it, and a change freezes nothing that it makes fail; owner %s", c.Fixture.ID, z.Owner)
			if err := hold.file(f); err != nil {
				return err
			}
		}
		return hold.file(r.flip(*c, outcome))
	}
	err := r.ask(ctx, p, fixture.Hermetic, hold.file)
	if err == nil || errors.Is(err, errRuled) {
		// Nothing of it may be lost, nor told too early: the baseline decides.
		if held := hold.wait(); held != nil {
			return held
		}
	}
	return err
}

// salt gives each pass case ids of its own.
func (r *run) salt(pass uint64) uint64 {
	return mix(r.t.Seed^pass*scramble) >> 2
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}

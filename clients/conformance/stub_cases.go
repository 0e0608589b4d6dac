package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// stubbed gives the samples that have stubs, at most 100, or says why there is nothing to see.
func (r *runner) stubbed() ([]*checkerv1.Case, error) {
	if !r.main.Description().GetCallsStubs() {
		return nil, unobserved{"it declares that it calls no stubs"}
	}
	var out []*checkerv1.Case
	for i, s := range r.t.Samples {
		if len(s.Stubs) > 0 && len(out) < 100 {
			out = append(out, &checkerv1.Case{CaseId: uint64(i) + 1, Input: s.Input, Stubs: s.Stubs})
		}
	}
	if len(out) == 0 {
		return nil, unobserved{"no sample has a stub: give it a set with some"}
	}
	return out, nil
}

func stubCases() []testCase {
	return []testCase{
		contract("stub-missing", "a call without a stub ends the case in STUB_MISSING, with the call's name, and never in a default", missingStub),
		contract("stub-used", "the stubs that it says it used are those that the case has", usedStubs),
		contract("stub-beside", "a stub that it does not need changes nothing, and is not reported", besideStub),
		contract("stub-other-case", "a stub of another case answers nothing", otherStub),
	}
}

// noStubs takes the stubs out of every case.
func noStubs(cases []*checkerv1.Case) (out []*checkerv1.Case) {
	for _, c := range cases {
		out = append(out, &checkerv1.Case{CaseId: c.GetCaseId(), Input: c.GetInput()})
	}
	return out
}

func missingStub(ctx context.Context, r *runner) error {
	// A checker that calls none has nothing to miss: then no case may end so.
	cases, err := r.stubbed()
	var nothing unobserved
	if errors.As(err, &nothing) {
		if r.main.Description().GetCallsStubs() {
			return err
		}
		cases = r.samples(r.some(), 1)
		if !slices.ContainsFunc(cases, func(c *checkerv1.Case) bool { return len(c.GetStubs()) > 0 }) {
			return inapplicable{"it declares that it calls no stubs, and no sample has one"}
		}
	}
	with, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{cases}})
	if err != nil {
		return err
	}
	without, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{noStubs(cases)}})
	if err != nil {
		return err
	}
	seen := false
	for id, res := range with {
		bare := without[id]
		used := len(res.GetStubsUsed()) > 0
		seen = seen || used
		switch e := bare.GetError(); {
		case used && e.GetCode() != checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING:
			return fmt.Errorf("case %d used stub %q; without it, it was answered %s", id, res.GetStubsUsed()[0], shown(bare))
		case used && !slices.Contains(res.GetStubsUsed(), e.GetCall()):
			return fmt.Errorf("case %d misses the call %q, and used %q", id, e.GetCall(), res.GetStubsUsed())
		case !used && shown(res) != shown(bare):
			return fmt.Errorf("case %d used no stub, and yet without one it was answered %s in place of %s", id, shown(bare), shown(res))
		}
	}
	if !seen && r.main.Description().GetCallsStubs() {
		return unobserved{fmt.Sprintf("it declares that it calls stubs, and used none over %d samples that have some", len(with))}
	}
	return nil
}

func usedStubs(ctx context.Context, r *runner) error {
	cases := r.samples(r.some(), 1)
	out, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{cases}})
	if err != nil {
		return err
	}
	for _, c := range cases {
		for _, call := range out[c.GetCaseId()].GetStubsUsed() {
			if !slices.ContainsFunc(c.GetStubs(), func(s *checkerv1.Stub) bool { return s.GetCall() == call }) {
				return fmt.Errorf("case %d says that it used stub %q, which it does not have", c.GetCaseId(), call)
			}
		}
	}
	return nil
}

func besideStub(ctx context.Context, r *runner) error {
	cases := r.samples(r.some(), 1)
	want, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{cases}})
	if err != nil {
		return err
	}
	var more []*checkerv1.Case
	for _, c := range cases {
		stubs := append(slices.Clone(c.GetStubs()), &checkerv1.Stub{Call: "zzz_conformance", Value: []byte(`"x"`)})
		more = append(more, &checkerv1.Case{CaseId: c.GetCaseId(), Input: c.GetInput(), Stubs: stubs})
	}
	got, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{more}})
	if err != nil {
		return err
	}
	return alike(want, got, sameID, "with a stub beside its own")
}

// otherStub puts a case without its stubs beside one that has them.
func otherStub(ctx context.Context, r *runner) error {
	cases, err := r.stubbed()
	var nothing unobserved
	if errors.As(err, &nothing) && !r.main.Description().GetCallsStubs() {
		cases, err = r.samples(r.some(), 1), nil
	}
	if err != nil {
		return err
	}
	bare := noStubs(cases)
	alone, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{bare}})
	if err != nil {
		return err
	}
	var mixed []*checkerv1.Case
	for i, c := range cases {
		mixed = append(mixed, &checkerv1.Case{CaseId: c.GetCaseId() + 1_000_000, Input: c.GetInput(), Stubs: c.GetStubs()}, bare[i])
	}
	beside, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{mixed}})
	if err != nil {
		return err
	}
	return alike(alone, beside, sameID, "beside a case that has the stub")
}

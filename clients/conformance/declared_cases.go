package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

func declared(name, says string, fn func(ctx context.Context, r *runner) error) testCase {
	return testCase{name, Declared, says, fn}
}

func declaredCases() []testCase {
	return []testCase{
		declared("declared-some", "it declares the verdicts that it can give, two at least", func(_ context.Context, r *runner) error {
			if d := r.main.Description(); len(d.GetVerdicts()) < 2 {
				return fmt.Errorf("it declares %d verdicts", len(d.GetVerdicts()))
			}
			return nil
		}),
		declared("declared-verdicts", "every verdict that it gives is declared", func(ctx context.Context, r *runner) error {
			return r.everyOutcome(ctx, func(o *checkerv1.Outcome) error {
				if !slices.Contains(r.main.Description().GetVerdicts(), o.GetVerdict()) {
					return fmt.Errorf("verdict %q is not declared", o.GetVerdict())
				}
				return nil
			})
		}),
		declared("declared-reasons", "every reason code that it gives is declared, if it declares any", func(ctx context.Context, r *runner) error {
			// Verdicts are few words. Reason codes can be open: the names of rules that somebody writes.
			if len(r.main.Description().GetReasonCodes()) == 0 {
				return inapplicable{"it declares no reason codes: nothing to hold"}
			}
			return r.everyOutcome(ctx, func(o *checkerv1.Outcome) error {
				if o.GetReasonCode() != "" && !slices.Contains(r.main.Description().GetReasonCodes(), o.GetReasonCode()) {
					return fmt.Errorf("reason code %q is not declared", o.GetReasonCode())
				}
				return nil
			})
		}),
		declared("declared-decides", "it decides the samples of a set, and one at least of others", func(ctx context.Context, r *runner) error {
			out, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
			if err != nil {
				return err
			}
			decided, other := 0, uint64(0)
			for id, res := range out {
				if res.GetOutcome() != nil {
					decided++
				} else if other == 0 || id < other {
					other = id
				}
			}
			switch {
			case decided == 0:
				return unobserved{fmt.Sprintf("it decided none of %d samples, such as %s: give it a set that it can decide", len(out), shown(out[other]))}
			case decided < len(out) && r.given: // alike errors would be taken for alike answers
				return unobserved{fmt.Sprintf("it decided %d of %d samples, and not one such as %s: give it a set that it can decide", decided, len(out), shown(out[other]))}
			}
			return nil
		}),
		declared("declared-stubs", "it uses stubs only if it says that it calls them", func(ctx context.Context, r *runner) error {
			out, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
			if err != nil {
				return err
			}
			for id, res := range out {
				if len(res.GetStubsUsed()) > 0 && !r.main.Description().GetCallsStubs() {
					return fmt.Errorf("case %d used stub %q, and it says that it calls none", id, res.GetStubsUsed()[0])
				}
			}
			return nil
		}),
		declared("declared-defaults", "the defaults that it declares are those that it takes", defaults),
		declared("declared-parameters", "every number or truth value that it declares changes something over the samples", parametersMatter),
		declared("declared-build", "it has a build digest, so that two instances can be told to be one build", func(_ context.Context, r *runner) error {
			if r.main.Description().GetBuildDigest() == "" {
				return errors.New("it has none")
			}
			return nil
		}),
	}
}

// everyOutcome looks at what the samples come to, under the parameters as they are and with each of them moved.
func (r *runner) everyOutcome(ctx context.Context, look func(*checkerv1.Outcome) error) error {
	for _, p := range append([]map[string][]byte{r.parameters(r.main)}, r.moved()...) {
		out, err := r.ask(ctx, plan{parameters: p, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
		if err != nil {
			return err
		}
		for id, res := range out {
			if res.GetOutcome() == nil {
				continue
			}
			if err := look(res.GetOutcome()); err != nil {
				return fmt.Errorf("case %d: %w", id, err)
			}
		}
	}
	return nil
}

// moved gives parameters of which one is far from where it was.
func (r *runner) moved() (out []map[string][]byte) {
	for _, p := range r.main.Description().GetParameters() {
		out = append(out, r.move(p)...)
	}
	return out
}

func (r *runner) move(p *checkerv1.Parameter) (out []map[string][]byte) {
	base := r.parameters(r.main)
	with := func(v string) {
		m := maps.Clone(base)
		m[p.GetName()] = []byte(v)
		out = append(out, m)
	}
	at, err := strconv.ParseFloat(string(base[p.GetName()]), 64)
	switch {
	case p.GetType() == checkerv1.ParameterType_PARAMETER_TYPE_BOOLEAN:
		with(strconv.FormatBool(string(base[p.GetName()]) != "true"))
	case err != nil:
	case p.GetType() == checkerv1.ParameterType_PARAMETER_TYPE_INTEGER:
		for _, v := range []float64{0, 1, at / 2, at*2 + 1, at*1000 + 1000} {
			with(strconv.FormatInt(int64(v), 10))
		}
	case p.GetType() == checkerv1.ParameterType_PARAMETER_TYPE_NUMBER:
		for _, v := range []float64{0, at / 2, at*1.2 + 0.1, at*1000 + 1000} {
			with(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return out
}

// defaults opens a stream without the parameters that have one.
func defaults(ctx context.Context, r *runner) error {
	if len(r.main.Description().GetParameters()) == 0 {
		return errNoParameters
	}
	all, bare := map[string][]byte{}, map[string][]byte{}
	for _, p := range r.main.Description().GetParameters() {
		if p.DefaultJson != nil {
			all[p.GetName()] = p.GetDefaultJson()
			continue
		}
		v, ok := r.t.Parameters[p.GetName()]
		if !ok {
			return unobserved{fmt.Sprintf("parameter %q has no default, and no value was given", p.GetName())}
		}
		all[p.GetName()], bare[p.GetName()] = []byte(v), []byte(v)
	}
	want, err := r.ask(ctx, plan{parameters: all, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err != nil {
		return err
	}
	got, err := r.ask(ctx, plan{parameters: bare, batches: [][]*checkerv1.Case{r.samples(r.some(), 1)}})
	if err != nil {
		return err
	}
	return alike(want, got, sameID, "without the parameters that have a default")
}

var errNoParameters = inapplicable{"it declares no parameters"}

func parametersMatter(ctx context.Context, r *runner) error {
	if len(r.main.Description().GetParameters()) == 0 {
		return errNoParameters
	}
	base, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{r.samples(len(r.t.Samples), 1)}})
	if err != nil {
		return err
	}
	decided := slices.ContainsFunc(slices.Collect(maps.Values(base)), func(res *checkerv1.Result) bool { return res.GetOutcome() != nil })
	moved := false
	for _, p := range r.main.Description().GetParameters() {
		moves := r.move(p)
		moved = moved || len(moves) > 0
		matters := len(moves) == 0 // a text could be anything
		for _, m := range moves {
			if matters || bytes.Equal(m[p.GetName()], r.parameters(r.main)[p.GetName()]) {
				continue
			}
			out, err := r.ask(ctx, plan{parameters: m, batches: [][]*checkerv1.Case{r.samples(len(r.t.Samples), 1)}})
			if err != nil {
				return fmt.Errorf("with %s = %s: %w", p.GetName(), m[p.GetName()], err)
			}
			matters = alike(base, out, sameID, "") != nil
		}
		switch {
		case !matters && !decided:
			return unobserved{"it decides none of the samples, so that nothing of its parameters can be seen"}
		case !matters:
			return fmt.Errorf("parameter %q changes no answer over %d samples, whatever its value", p.GetName(), len(base))
		}
	}
	if !moved {
		return inapplicable{"none of its parameters is a number with a value or a truth value, whose other values could be tried"}
	}
	return nil
}

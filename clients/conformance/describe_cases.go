package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/server/wire"
)

// describe asks the checker who it is.
func (r *runner) describe(ctx context.Context) (*checkerv1.DescribeResponse, error) {
	return checkerv1.NewCheckerServiceClient(r.main.Conn()).Describe(ctx, &checkerv1.DescribeRequest{}, callOptions()...)
}

// about makes a case of one look at the description.
func about(name, says string, look func(d *checkerv1.DescribeResponse) error) testCase {
	return testCase{name, Contract, says, func(ctx context.Context, r *runner) error {
		d, err := r.describe(ctx)
		if err != nil {
			return err
		}
		return look(d)
	}}
}

func describeCases() []testCase {
	return []testCase{
		about("describe-name", "it has a name", func(d *checkerv1.DescribeResponse) error { return named(d.GetName()) }),
		about("describe-version", "it has a version", func(d *checkerv1.DescribeResponse) error { return named(d.GetVersion()) }),
		about("describe-contract", "it speaks this version of the contract", func(d *checkerv1.DescribeResponse) error {
			if d.GetContractVersion() != wire.ContractVersion {
				return fmt.Errorf("it speaks version %d, this release speaks %d", d.GetContractVersion(), wire.ContractVersion)
			}
			return nil
		}),
		about("describe-parameters", "every parameter has a name of its own, a type, and a default of that type if it has one", parametersOf),
		about("describe-words", "verdicts and reason codes are words, each declared once", wordsOf),
		{"describe-same", Contract, "it says the same about itself each time, and to several who ask at once", describedAlike},
		{"describe-quick", Contract, "it describes itself within a second", func(ctx context.Context, r *runner) error {
			var took time.Duration
			for range 3 { // a machine can be slow once
				begun := time.Now()
				if _, err := r.describe(ctx); err != nil {
					return err
				}
				if took = time.Since(begun); took <= time.Second {
					return nil
				}
			}
			return fmt.Errorf("it took %s", took)
		}},
	}
}

func named(s string) error {
	if s == "" || !clean(s) || len(s) > 256 {
		return fmt.Errorf("%.80q is none: 1 to 256 bytes of UTF-8 without control characters", s)
	}
	return nil
}

func parametersOf(d *checkerv1.DescribeResponse) error {
	seen := map[string]bool{}
	for _, p := range d.GetParameters() {
		if err := named(p.GetName()); err != nil {
			return err
		}
		if seen[p.GetName()] {
			return fmt.Errorf("parameter %q stands there twice", p.GetName())
		}
		seen[p.GetName()] = true
		if p.GetType() == checkerv1.ParameterType_PARAMETER_TYPE_UNSPECIFIED {
			return fmt.Errorf("parameter %q has no type", p.GetName())
		}
		if p.DefaultJson != nil && !json.Valid(p.GetDefaultJson()) {
			return fmt.Errorf("the default of parameter %q is no JSON: %.40q", p.GetName(), p.GetDefaultJson())
		}
	}
	return nil
}

func wordsOf(d *checkerv1.DescribeResponse) error {
	for what, words := range map[string][]string{"verdict": d.GetVerdicts(), "reason code": d.GetReasonCodes()} {
		seen := map[string]bool{}
		for _, w := range words {
			if what == "verdict" && w == "" || !clean(w) {
				return fmt.Errorf("%.80q is no %s", w, what)
			}
			if seen[w] {
				return fmt.Errorf("%s %q is declared twice", what, w)
			}
			seen[w] = true
		}
	}
	return nil
}

func describedAlike(ctx context.Context, r *runner) error {
	first, err := r.describe(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			again, err := r.describe(ctx)
			if err == nil && !proto.Equal(first, again) {
				err = fmt.Errorf("it said first %v, and then %v", first, again)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

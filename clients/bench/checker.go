package main

import (
	"context"
	"strconv"

	"github.com/retrial-dev/retrial/clients/retrial"
)

const roleChecker = "bench-checker"

// checker is as little of a checker as there can be, so that what is measured is everything else.
type checker struct{}

func serveChecker() int { return retrial.Serve(checker{}) }

// Describe implements retrial.Checker.
func (checker) Describe() retrial.Description {
	return retrial.Description{
		Name: "bench", Version: "1",
		Parameters: []retrial.Parameter{{Name: paramAge, Default: maxAge, Description: "How old a promoted fact may be, in days."}},
		Verdicts:   []string{promoted, dropped}, ReasonCodes: []string{fresh, stale},
	}
}

// Check implements retrial.Checker.
func (checker) Check(_ context.Context, c *retrial.Case) (retrial.Outcome, error) {
	value, _ := c.Value(member)
	age, err := strconv.Atoi(string(value))
	switch {
	case err != nil:
		return retrial.Outcome{}, &retrial.InputError{Err: err}
	case age > c.Int(paramAge):
		return retrial.Outcome{Verdict: dropped, ReasonCode: stale}, nil
	}
	return retrial.Outcome{Verdict: promoted, ReasonCode: fresh}, nil
}

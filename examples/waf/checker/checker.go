// Package checker makes a checker of the OWASP Core Rule Set: a case is one HTTP request and the id of one rule, and the
// verdict says whether that rule matches the request. Coraza evaluates the rules. The rule set is handed in, so that
// each of its versions makes a program of its own; one program cannot link two versions of a module.
package checker

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/corazawaf/coraza/v3"
	"github.com/corazawaf/coraza/v3/types"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// The verdicts. The reason code of a match is the id of the rule in decimal; of no match, it is NoRule.
const (
	Match   = "match"
	NoMatch = "no_match"

	NoRule = "none"
)

// Checker answers for one version of the rule set. Safe for concurrent use.
type Checker struct {
	version string
	waf     coraza.WAF
}

// New parses the rules, which takes about a tenth of a second. They lie in the file system as in coraza-coreruleset:
// @crs-setup.conf.example, and the rules in @owasp_crs.
func New(version string, rules fs.FS) (*Checker, error) {
	waf, err := coraza.NewWAF(coraza.NewWAFConfig().WithRootFS(rules).WithDirectives(directives))
	if err != nil {
		return nil, fmt.Errorf("load rule set %s: %w", version, err)
	}
	return &Checker{version, waf}, nil
}

// Serve serves the rules to Retrial, and gives the exit status for main.
func Serve(version string, rules fs.FS) int {
	c, err := New(version, rules)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return retrial.Serve(c)
}

// Describe implements retrial.Checker. The reason codes are not declared: there are as many as rules.
func (c *Checker) Describe() retrial.Description {
	return retrial.Description{Name: "coraza-crs", Version: c.version, Verdicts: []string{Match, NoMatch}}
}

// Check implements retrial.Checker. An input that lacks a member, or has it in another type, is a *retrial.InputError.
func (c *Checker) Check(_ context.Context, k *retrial.Case) (retrial.Outcome, error) {
	r, err := read(k)
	if err != nil {
		return retrial.Outcome{}, err
	}
	matched, err := c.matched(r)
	if err != nil {
		return retrial.Outcome{}, err
	}
	if slices.ContainsFunc(matched, func(m types.MatchedRule) bool { return m.Rule().ID() == r.askedRule }) {
		return retrial.Outcome{Verdict: Match, ReasonCode: strconv.Itoa(r.askedRule)}, nil
	}
	return retrial.Outcome{Verdict: NoMatch, ReasonCode: NoRule}, nil
}

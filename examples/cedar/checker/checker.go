// Package checker makes a checker of cedar-go: a case is one authorization request with the policies and entities that it
// is judged by, and the verdict says whether they allow it. A program links one version of a module, so that each version
// of cedar-go makes a program of its own, around this package.
package checker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// The verdicts. An application that gets Error from the library has neither an allow nor a deny, and must not let that pass
// for either: it is a verdict of its own, as it was when the decisions were recorded.
const (
	Allow = "allow"
	Deny  = "deny"
	Error = "error"
)

// The reason codes beside ids of policies. What failed to be read is the code of an Error.
const (
	// NoPolicy says that no policy applied. Cedar denies then.
	NoPolicy = "no_policy_matched"

	PoliciesUnread = "policy_parse"
	EntitiesUnread = "entities_parse"
	ContextUnread  = "context_parse"
)

// Checker answers for one version of cedar-go. Safe for concurrent use.
type Checker struct{ version string }

// New says that it is of the version of cedar-go that the program was linked with; a program that does not know is refused,
// since two versions under one name could not be told apart.
func New() (*Checker, error) {
	const module = "github.com/cedar-policy/cedar-go"
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, m := range info.Deps {
			if m.Path == module {
				return &Checker{strings.TrimPrefix(m.Version, "v")}, nil
			}
		}
	}
	return nil, fmt.Errorf("the program does not say which version of %s it was linked with: build it with go build", module)
}

// Serve serves cedar-go to Retrial, and gives the exit status for main.
func Serve() int {
	c, err := New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return retrial.Serve(c)
}

// Describe implements retrial.Checker. The reason codes are not declared: ids of policies are among them.
func (c *Checker) Describe() retrial.Description {
	return retrial.Description{Name: "cedar", Version: c.version, Verdicts: []string{Allow, Deny, Error}}
}

// Check implements retrial.Checker. Of an Allow or Deny, the reason code has the policies that determined it, and after
// "!err:" those that could not be evaluated: Cedar goes on without them. Both are sorted, and joined by a plus.
func (c *Checker) Check(_ context.Context, k *retrial.Case) (retrial.Outcome, error) {
	r, err := read(k)
	if err != nil {
		return retrial.Outcome{}, err
	}
	q, unread := parse(r)
	if unread != "" {
		return retrial.Outcome{Verdict: Error, ReasonCode: unread}, nil
	}
	decision, diagnostic := cedar.Authorize(q.policies, q.entities, q.Request)
	verdict := Deny
	if decision == cedar.Allow {
		verdict = Allow
	}
	return retrial.Outcome{Verdict: verdict, ReasonCode: reason(diagnostic)}, nil
}

// question is what the library made of a request.
type question struct {
	policies *cedar.PolicySet
	entities cedar.EntityMap
	cedar.Request
}

// parse gives the reason code of an Error where the library cannot read the request, otherwise none.
func parse(r request) (q question, unread string) {
	var err error
	if q.policies, err = cedar.NewPolicySetFromBytes("policies.cedar", []byte(r.policies)); err != nil {
		return q, PoliciesUnread
	}
	if json.Unmarshal(r.entities, &q.entities) != nil {
		return q, EntitiesUnread
	}
	q.Request = cedar.Request{Principal: r.principal, Action: r.action, Resource: r.resource}
	if json.Unmarshal(r.context, &q.Context) != nil {
		return q, ContextUnread
	}
	return q, ""
}

// reason sorts: policies are kept in a map, and the diagnostic lists them as they came out of it.
func reason(d cedar.Diagnostic) string {
	determined := make([]string, 0, len(d.Reasons))
	for _, r := range d.Reasons {
		determined = append(determined, string(r.PolicyID))
	}
	failed := make([]string, 0, len(d.Errors))
	for _, e := range d.Errors {
		failed = append(failed, string(e.PolicyID))
	}
	slices.Sort(determined)
	slices.Sort(failed)
	code := NoPolicy
	if len(determined) > 0 {
		code = strings.Join(determined, "+")
	}
	if len(failed) > 0 {
		code += "!err:" + strings.Join(failed, "+")
	}
	return code
}

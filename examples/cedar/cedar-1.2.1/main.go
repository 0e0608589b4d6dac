// Command cedar-1.2.1 is the checker cedar over version 1.2.1 of cedar-go.
package main

import (
	"os"

	"github.com/cedar-policy/cedar-go"

	"github.com/retrial-dev/retrial/examples/cedar/checker"
)

func main() {
	os.Exit(checker.Serve(func(p *cedar.PolicySet, e cedar.EntityMap, r cedar.Request) (cedar.Decision, cedar.Diagnostic) {
		return p.IsAuthorized(e, r)
	}))
}

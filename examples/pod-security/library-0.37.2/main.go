// Command library-0.37.2 is the checker pod-security over version 0.37.2 of k8s.io/pod-security-admission.
package main

import (
	"os"

	"k8s.io/pod-security-admission/policy"

	"github.com/retrial-dev/retrial/examples/pod-security/checker"
)

func main() {
	os.Exit(checker.Serve(func(checks []policy.Check) (policy.Evaluator, error) {
		return policy.NewEvaluator(checks, nil)
	}))
}

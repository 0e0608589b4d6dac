// Package checker makes a checker of Kubernetes' Pod Security Standards: a case is a pod, and the level and version of the
// standard that its namespace enforces, and the verdict says whether it is admitted. A program links one version of a
// module, so that each version of k8s.io/pod-security-admission makes a program of its own, around this package.
package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// The verdicts. The reason code of Denied has the ids of the checks that refused, in lower case and sorted, joined by a plus.
const (
	Admitted = "admitted"
	Denied   = "denied"

	// OK is the reason code of Admitted.
	OK = "ok"
)

// NewEvaluator makes an evaluator of one version of the library. The function takes other arguments in each.
type NewEvaluator func([]policy.Check) (policy.Evaluator, error)

// Checker answers for one version of the library. Safe for concurrent use.
type Checker struct {
	version string
	checks  []check
}

// check is one check, alone in an evaluator. Together in one, the stricter checks of the level restricted would hide the
// ones of baseline that they override, and the reason code would not name all that refuse. The verdict is the same.
type check struct {
	id        string
	evaluator policy.Evaluator
}

// New takes the checks that the library enforces by default. It says that it is of the version of the library that the
// program was linked with; a program that does not know is refused, since two versions under one name could not be told
// apart.
func New(newEvaluator NewEvaluator) (*Checker, error) {
	version, err := linked("k8s.io/pod-security-admission")
	if err != nil {
		return nil, err
	}
	checks, err := alone(newEvaluator)
	if err != nil {
		return nil, err
	}
	return &Checker{version, checks}, nil
}

// alone gives an evaluator for each check, in the order of their ids.
func alone(newEvaluator NewEvaluator) ([]check, error) {
	var checks []check
	for _, p := range policy.DefaultChecks() {
		evaluator, err := newEvaluator([]policy.Check{p})
		if err != nil {
			return nil, fmt.Errorf("evaluator of %s: %w", p.ID, err)
		}
		checks = append(checks, check{strings.ToLower(string(p.ID)), evaluator})
	}
	slices.SortFunc(checks, func(a, b check) int { return strings.Compare(a.id, b.id) })
	return checks, nil
}

func linked(module string) (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return strings.TrimPrefix(m.Version, "v"), nil
			}
		}
	}
	return "", fmt.Errorf("the program does not say which version of %s it was linked with: build it with go build", module)
}

// Serve serves the library to Retrial, and gives the exit status for main.
func Serve(newEvaluator NewEvaluator) int {
	c, err := New(newEvaluator)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return retrial.Serve(c)
}

// Describe implements retrial.Checker. The reason codes are not declared: a pod can fail any of the checks together.
func (c *Checker) Describe() retrial.Description {
	return retrial.Description{Name: "pod-security", Version: c.version, Verdicts: []string{Admitted, Denied}}
}

// Check implements retrial.Checker. A level or version that the library does not know, or a pod that it cannot read, is a
// *retrial.InputError: such a pod never comes to be decided on.
func (c *Checker) Check(_ context.Context, k *retrial.Case) (retrial.Outcome, error) {
	standard, pod, err := read(k)
	if err != nil {
		return retrial.Outcome{}, err
	}
	var refused []string
	for _, check := range c.checks {
		results := check.evaluator.EvaluatePod(standard, &pod.ObjectMeta, &pod.Spec)
		if slices.ContainsFunc(results, func(r policy.CheckResult) bool { return !r.Allowed }) {
			refused = append(refused, check.id)
		}
	}
	if refused == nil {
		return retrial.Outcome{Verdict: Admitted, ReasonCode: OK}, nil
	}
	return retrial.Outcome{Verdict: Denied, ReasonCode: strings.Join(refused, "+")}, nil
}

func read(k *retrial.Case) (standard api.LevelVersion, pod corev1.Pod, err error) {
	level, levelErr := retrial.Member[string](k, "level")
	version, versionErr := retrial.Member[string](k, "policy_version")
	object, podErr := retrial.Member[map[string]json.RawMessage](k, "pod")
	if podErr == nil && object == nil {
		podErr = &retrial.InputError{Err: errors.New(`the member "pod" is null: expected an object`)}
	}
	if err := errors.Join(levelErr, versionErr, podErr); err != nil {
		return standard, pod, err
	}
	raw, _ := k.Value("pod")
	if err = json.Unmarshal(raw, &pod); err != nil {
		return standard, pod, &retrial.InputError{Err: fmt.Errorf("the member \"pod\" is no pod: %w", err)}
	}
	standard.Level, levelErr = api.ParseLevel(level)
	standard.Version, versionErr = api.ParseVersion(version)
	if err := errors.Join(levelErr, versionErr); err != nil {
		return standard, pod, &retrial.InputError{Err: err}
	}
	return standard, pod, nil
}

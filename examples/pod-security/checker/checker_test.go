package checker

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/pod-security-admission/policy"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// plain is the case that every other starts from. Nothing writes to it.
var plain = map[string]any{"level": "baseline", "policy_version": "v1.25", "pod": pod(map[string]any{})}

func pod(spec map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "p"}, "spec": spec}
}

var (
	plainContainer = []any{map[string]any{"name": "c"}}
	privileged     = []any{map[string]any{"name": "c", "securityContext": map[string]any{"privileged": true}}}
)

func TestCheck(t *testing.T) {
	c := load(t)
	for _, tc := range []struct {
		name  string
		input map[string]any
		want  string
	}{
		{"nothing asked for", nil, "admitted/ok"},
		{"one check refuses", map[string]any{"pod": pod(map[string]any{"hostNetwork": true})}, "denied/hostnamespaces"},
		{"several refuse, in order", map[string]any{"pod": pod(map[string]any{"hostNetwork": true, "containers": privileged})},
			"denied/hostnamespaces+privileged"},
		{"a level that refuses nothing", map[string]any{"level": "privileged", "pod": pod(map[string]any{"hostNetwork": true})}, "admitted/ok"},
		{"a stricter level", map[string]any{"level": "restricted", "pod": pod(map[string]any{"containers": plainContainer})},
			"denied/allowprivilegeescalation+capabilities_restricted+runasnonroot+seccompprofile_restricted"},
		{"an earlier version of it", map[string]any{"level": "restricted", "policy_version": "v1.0", "pod": pod(map[string]any{"containers": plainContainer})},
			"denied/runasnonroot"},
		{"a version to come", map[string]any{"policy_version": "v1.999"}, "admitted/ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ask(t, c, with(tc.input))
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Verdict + "/" + got.ReasonCode; s != tc.want {
				t.Errorf("got %s, want %s", s, tc.want)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	c := load(t)
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		t.Run("no "+name, func(t *testing.T) {
			input := with(nil)
			delete(input, name)
			refused(t, c, input, name)
		})
		t.Run(name+" is null", func(t *testing.T) { refused(t, c, with(map[string]any{name: nil}), name) })
		t.Run(name+" is of another type", func(t *testing.T) { refused(t, c, with(map[string]any{name: true}), name) })
	}
	t.Run("an unknown level", func(t *testing.T) { refused(t, c, with(map[string]any{"level": "strict"}), "restricted") })
	t.Run("an unknown version", func(t *testing.T) { refused(t, c, with(map[string]any{"policy_version": "1"}), "latest") })
	t.Run("no pod", func(t *testing.T) {
		refused(t, c, with(map[string]any{"pod": pod(map[string]any{"containers": 7})}), "pod")
	})
}

func refused(t *testing.T, c *Checker, input map[string]any, member string) {
	t.Helper()
	got, err := ask(t, c, input)
	var refusal *retrial.InputError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), member) {
		t.Errorf("got outcome %+v and error %v, want an InputError that names %q", got, err, member)
	}
}

func ask(t *testing.T, c *Checker, input map[string]any) (retrial.Outcome, error) {
	t.Helper()
	doc, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	k, err := retrial.NewCase(c, doc, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Check(t.Context(), k)
}

func with(parts map[string]any) map[string]any {
	input := maps.Clone(plain)
	maps.Copy(input, parts)
	return input
}

func load(t *testing.T) *Checker {
	t.Helper()
	checks, err := alone(policy.NewEvaluator)
	if err != nil {
		t.Fatal(err)
	}
	return &Checker{"0.0.0", checks}
}

package checker

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// plain is the request that every case starts from. Nothing writes to it.
var plain = map[string]any{
	"policies":  `permit (principal == User::"ada", action, resource);`,
	"entities":  []any{},
	"principal": map[string]any{"type": "User", "id": "ada"},
	"action":    map[string]any{"type": "Action", "id": "view"},
	"resource":  map[string]any{"type": "Photo", "id": "cat.jpg"},
	"context":   map[string]any{},
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name  string
		input map[string]any
		want  string
	}{
		{"permitted", nil, "allow/policy0"},
		{"no policy applies", map[string]any{"principal": map[string]any{"type": "User", "id": "bob"}}, "deny/no_policy_matched"},
		{"nobody asks", map[string]any{"principal": nil}, "deny/no_policy_matched"},
		{"no action is asked for", map[string]any{"action": nil, "policies": `permit (principal, action == Action::"view", resource);`},
			"deny/no_policy_matched"},
		{"no resource is asked for", map[string]any{"resource": nil, "policies": `permit (principal, action, resource == Photo::"cat.jpg");`},
			"deny/no_policy_matched"},
		{"forbidden", map[string]any{"policies": `permit (principal, action, resource); forbid (principal, action, resource);`}, "deny/policy1"},
		{"a policy fails", map[string]any{"policies": `permit (principal, action, resource); forbid (principal, action, resource) when { context.lacking };`},
			"allow/policy0!err:policy1"},
		{"several policies, in order", map[string]any{"policies": strings.Repeat("permit (principal, action, resource);", 3) +
			strings.Repeat("permit (principal, action, resource) when { context.lacking };", 3)},
			"allow/policy0+policy1+policy2!err:policy3+policy4+policy5"},
		{"the context decides", map[string]any{"context": map[string]any{"mfa": true}, "policies": `permit (principal, action, resource) when { context.mfa };`},
			"allow/policy0"},
		{"no context", map[string]any{"context": nil}, "allow/policy0"},
		{"entities decide", map[string]any{
			"entities": []any{map[string]any{"uid": map[string]any{"type": "User", "id": "ada"}, "attrs": map[string]any{"admin": true}, "parents": []any{}}},
			"policies": `permit (principal, action, resource) when { principal.admin };`}, "allow/policy0"},
		{"policies that cannot be read", map[string]any{"policies": "permit ("}, "error/policy_parse"},
		{"entities that cannot be read", map[string]any{"entities": []any{map[string]any{"uid": 7}}}, "error/entities_parse"},
		{"a context that cannot be read", map[string]any{"context": map[string]any{"from": map[string]any{"__extn": map[string]any{"fn": "ip", "arg": "x"}}}},
			"error/context_parse"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := check(t, with(tc.input))
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
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		t.Run("no "+name, func(t *testing.T) {
			input := with(nil)
			delete(input, name)
			refused(t, input, name)
		})
		t.Run(name+" is of another type", func(t *testing.T) { refused(t, with(map[string]any{name: true}), name) })
	}
	for _, name := range []string{"policies", "entities"} {
		t.Run(name+" is null", func(t *testing.T) { refused(t, with(map[string]any{name: nil}), name) })
	}
	t.Run("a principal without an id", func(t *testing.T) {
		refused(t, with(map[string]any{"principal": map[string]any{"type": "User"}}), "id")
	})
}

func refused(t *testing.T, input map[string]any, member string) {
	t.Helper()
	got, err := check(t, input)
	var refusal *retrial.InputError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), member) {
		t.Errorf("got outcome %+v and error %v, want an InputError that names %q", got, err, member)
	}
}

func check(t *testing.T, input map[string]any) (retrial.Outcome, error) {
	t.Helper()
	c := &Checker{"0.0.0"}
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

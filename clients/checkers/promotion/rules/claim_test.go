package rules_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// An input that is not usable is an error that names the member, whichever rule would have decided: here it is scope,
// the first of them.
func TestUnusableInput(t *testing.T) {
	valid := "2026-02-01T00:00:00Z"
	for _, tt := range []struct {
		name, member string
		value        any
		want         string
	}{
		{"missing", "scope", absent, "scope: missing"},
		{"null", "scope", nil, "scope: expected an object of strings, found null"},
		{"no keys", "scope", object{}, "scope: has no keys"},
		{"missing", "claim_scope", absent, "claim_scope: missing"},
		{"no keys", "claim_scope", object{}, "claim_scope: has no keys"},
		{"a number in it", "claim_scope", object{"user_id": 7}, `claim_scope: expected an object of strings, found {"user_id":7}`},
		{"a null in it", "claim_scope", object{"user_id": nil}, "claim_scope: expected an object of strings, found a null in it"},
		{"missing", "claim_text", absent, "claim_text: missing"},
		{"empty", "claim_text", "", "claim_text: empty"},
		{"missing", "age_days_at_decision", absent, "age_days_at_decision: missing"},
		{"null", "age_days_at_decision", nil, "age_days_at_decision: expected a whole number, found null"},
		{"negative", "age_days_at_decision", -1, "age_days_at_decision: negative"},
		{"a fraction", "age_days_at_decision", 3.5, "age_days_at_decision: expected a whole number, found 3.5"},
		{"a string", "age_days_at_decision", "3", `age_days_at_decision: expected a whole number, found "3"`},
		{"missing", "promoted_before", absent, "promoted_before: missing"},
		{"a string", "promoted_before", "no", `promoted_before: expected true or false, found "no"`},
		{"missing", "event_time", absent, "event_time: missing"},
		{"no instant", "event_time", "yesterday", `event_time: "yesterday" is not an instant`},
		{"missing", "accepted_at", absent, "accepted_at: missing"},
		{"a day", "accepted_at", "2026-02-10", `accepted_at: "2026-02-10" is not an instant`},
		{"missing", "competing", absent, "competing: missing"},
		{"a string", "competing", "none", `competing: expected an object or null, found "none"`},
		{"no acceptance time", "competing", object{"event_time": valid}, "competing.accepted_at: missing"},
		{"no event time", "competing", object{"accepted_at": valid}, "competing.event_time: missing"},
		{"missing", "score", absent, "score: missing"},
		{"a string", "score", "0.8", `score: expected a number, found "0.8"`},
		{"over 1", "score", 1.01, "score: not between 0 and 1"},
		{"negative", "score", -0.01, "score: not between 0 and 1"},
		{"missing", "occurrence_count", absent, "occurrence_count: missing"},
		{"none", "occurrence_count", 0, "occurrence_count: below 1"},
		{"missing", "dependency_group", absent, "dependency_group: missing"},
		{"a number", "dependency_group", 4, "dependency_group: expected a string or null, found 4"},
	} {
		t.Run(tt.member+" "+tt.name, func(t *testing.T) {
			changes := object{"claim_scope": object{"user_id": "somebody else"}}
			changes[tt.member] = tt.value
			got, err := check(t, input(t, changes), preference, nil)
			wantInputError(t, got, err, tt.want)
		})
	}
}

func TestInputThatIsNoObject(t *testing.T) {
	for _, in := range []string{`[]`, `"claim"`} {
		got, err := check(t, []byte(in), preference, nil)
		wantInputError(t, got, err, "not a JSON object")
	}
}

// Names are taken as they are written.
func TestMemberNamesAreExact(t *testing.T) {
	got, err := check(t, input(t, object{"score": absent, "Score": 0.9}), preference, nil)
	wantInputError(t, got, err, "score: missing")
}

func wantInputError(t *testing.T, got retrial.Outcome, err error, want string) {
	t.Helper()
	var invalid *retrial.InputError
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Err.Error(), want) {
		t.Errorf("got %v, %v; want an InputError that starts %q", got, err, want)
	}
}

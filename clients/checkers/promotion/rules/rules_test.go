package rules_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
)

type object = map[string]any

// absent takes a member out of the input.
const absent = "\x00absent"

// input gives a claim that every rule accepts, with changes.
func input(t *testing.T, changes object) []byte {
	t.Helper()
	in := object{
		"scope":                object{"user_id": "u-1", "workspace_id": "w-1"},
		"claim_scope":          object{"user_id": "u-1", "workspace_id": "w-1"},
		"claim_text":           "Customer prefers email contact.",
		"source_event_id":      "evt_1",
		"source_type":          "email",
		"age_days_at_decision": 3,
		"occurrence_count":     4,
		"dependency_group":     nil,
		"event_time":           "2026-02-10T08:00:00Z",
		"accepted_at":          "2026-02-10T09:00:00Z",
		"promoted_before":      false,
		"competing":            nil,
		"score":                0.8,
	}
	maps.Copy(in, changes)
	maps.DeleteFunc(in, func(_ string, v any) bool { return v == absent })
	src, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// check decides one case. Answer is what the classification says; empty leaves the case without a stub.
func check(t *testing.T, in []byte, answer string, parameters map[string]string) (retrial.Outcome, error) {
	t.Helper()
	stubs := map[string]string{}
	if answer != "" {
		stubs[rules.PreferenceOrFact] = answer
	}
	c, err := retrial.NewCase(rules.Checker{}, in, stubs, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return rules.Checker{}.Check(t.Context(), c)
}

const (
	preference = `"preference"`
	fact       = `"fact"`
)

func competing(eventTime, acceptedAt string) object {
	return object{"claim_text": "Customer prefers phone contact.", "event_time": eventTime, "accepted_at": acceptedAt}
}

func TestOutcomes(t *testing.T) {
	const earlier, later = "2026-02-01T00:00:00Z", "2026-02-12T00:00:00Z"
	for _, tt := range []struct {
		name    string
		changes object
		answer  string
		params  map[string]string
		want    string
	}{
		{"a preference is promoted", nil, preference, nil, "promoted/preference"},
		{"a corroborated fact is promoted", nil, fact, nil, "promoted/fact"},

		{"scope: another workspace", object{"claim_scope": object{"user_id": "u-1", "workspace_id": "w-2"}}, preference, nil, "dropped/scope_mismatch"},
		{"scope: another user", object{"claim_scope": object{"user_id": "u-2", "workspace_id": "w-1"}}, preference, nil, "dropped/scope_mismatch"},
		{"scope: made in a project, asked for its workspace", object{"claim_scope": object{"user_id": "u-1", "workspace_id": "w-1", "project_id": "p-1"}}, preference, nil, "dropped/scope_mismatch"},
		{"scope: an empty value is not an absent key", object{"claim_scope": object{"project_id": ""}}, preference, nil, "dropped/scope_mismatch"},
		{"scope: made in no workspace in particular", object{"claim_scope": object{"user_id": "u-1"}}, preference, nil, "promoted/preference"},

		{"R2: as old as allowed", object{"age_days_at_decision": 30}, preference, nil, "promoted/preference"},
		{"R2: a day older", object{"age_days_at_decision": 31}, preference, nil, "dropped/stale"},
		{"R2: as old as a shorter limit allows", object{"age_days_at_decision": 14}, preference, map[string]string{"max_age_days": "14"}, "promoted/preference"},
		{"R2: a day older than a shorter limit", object{"age_days_at_decision": 15}, preference, map[string]string{"max_age_days": "14"}, "dropped/stale"},

		{"promoted before", object{"promoted_before": true}, preference, nil, "dropped/already_promoted"},

		{"recency: accepted after its rival", object{"competing": competing(earlier, earlier)}, preference, nil, "promoted/preference"},
		{"recency: accepted before its rival", object{"competing": competing(later, later)}, preference, nil, "dropped/superseded"},
		{"recency: accepted at the same instant, in another offset", object{"competing": competing(earlier, "2026-02-10T10:00:00+01:00")}, preference, nil, "dropped/superseded"},
		{"recency: later on the clock of another offset, but not in time", object{"competing": competing(earlier, "2026-02-10T09:30:00+01:00")}, preference, nil, "promoted/preference"},
		{"R6: a rival's forged later event_time does not win", object{"competing": competing("2031-01-01T00:00:00Z", earlier)}, preference, nil, "promoted/preference"},
		{"R6: the claim's own forged later event_time does not win", object{"event_time": "2031-01-01T00:00:00Z", "competing": competing(earlier, later)}, preference, nil, "dropped/superseded"},

		{"thresholds: the lowest score", object{"score": 0.6}, preference, nil, "promoted/preference"},
		{"thresholds: a score below", object{"score": 0.59}, preference, nil, "dropped/below_threshold"},
		{"thresholds: a score below a higher threshold", object{"score": 0.8}, preference, map[string]string{"min_score": "0.81"}, "dropped/below_threshold"},
		{"thresholds: enough observations", object{"occurrence_count": 2}, preference, nil, "promoted/preference"},
		{"thresholds: one observation too few", object{"occurrence_count": 1}, preference, nil, "dropped/below_threshold"},
		{"thresholds: one is enough where the run says so", object{"occurrence_count": 1}, preference, map[string]string{"min_occurrences": "1"}, "promoted/preference"},

		{"facts: enough observations", object{"occurrence_count": 3}, fact, nil, "promoted/fact"},
		{"facts: one observation too few", object{"occurrence_count": 2}, fact, nil, "dropped/uncorroborated_fact"},
		{"facts: two are enough where the run says so", object{"occurrence_count": 2}, fact, map[string]string{"min_fact_occurrences": "2"}, "promoted/fact"},
		{"facts: copies of one source count once", object{"occurrence_count": 9, "dependency_group": "dg_1"}, fact, nil, "dropped/uncorroborated_fact"},
		{"preferences need no independent sources", object{"occurrence_count": 9, "dependency_group": "dg_1"}, preference, nil, "promoted/preference"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := check(t, input(t, tt.changes), tt.answer, tt.params)
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Verdict + "/" + got.ReasonCode; s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

// The rules are tried in their documented order. The claim starts with everything against it; each step mends what the
// last one failed on. That the steps before the last need no stub shows R20: the rules run for real, and the
// classification is asked only when all of them have passed.
func TestFirstMatchDecides(t *testing.T) {
	claim := object{
		"claim_scope": object{"user_id": "u-2"}, "age_days_at_decision": 99, "promoted_before": true,
		"competing": competing("2026-02-12T00:00:00Z", "2026-02-12T00:00:00Z"), "score": 0.1, "occurrence_count": 2,
	}
	for _, step := range []struct {
		want, mend string
		value      any
	}{
		{rules.ScopeMismatch, "claim_scope", object{"user_id": "u-1"}},
		{rules.Stale, "age_days_at_decision", 1},
		{rules.AlreadyPromoted, "promoted_before", false},
		{rules.Superseded, "competing", nil},
		{rules.BelowThreshold, "score", 0.9},
	} {
		got, err := check(t, input(t, claim), "", nil)
		if err != nil || got.Verdict != rules.Dropped || got.ReasonCode != step.want {
			t.Errorf("got %v, %v; want dropped/%s", got, err, step.want)
		}
		claim[step.mend] = step.value
	}
	got, err := check(t, input(t, claim), fact, nil)
	if err != nil || got.ReasonCode != rules.UncorroboratedFact {
		t.Errorf("got %v, %v; want dropped/%s", got, err, rules.UncorroboratedFact)
	}
}

// R19: a missing stub is an error that names the call, never a default.
func TestMissingStub(t *testing.T) {
	_, err := check(t, input(t, nil), "", nil)
	var missing *retrial.StubMissingError
	if !errors.As(err, &missing) || missing.Call != rules.PreferenceOrFact {
		t.Errorf("got %v, want a StubMissingError for %s", err, rules.PreferenceOrFact)
	}
}

func TestUnusableStub(t *testing.T) {
	for _, answer := range []string{`"opinion"`, `""`, `null`, `true`, `"Preference"`} {
		t.Run(answer, func(t *testing.T) {
			got, err := check(t, input(t, nil), answer, nil)
			if err == nil || !strings.Contains(err.Error(), rules.PreferenceOrFact) {
				t.Errorf("got %v, %v; want an error that names the call", got, err)
			}
		})
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

const generatedCount = 2000

type object = map[string]any

// literal is a JSON text that stands as it is.
type literal = json.RawMessage

// absent takes a member out.
var absent = new(int)

// generated gives the cases that nobody has decided before: those that are hard on purpose, then as many at random.
func generated() []*Vector {
	r := rand.New(rand.NewPCG(20260301, 4))
	out := hard()
	for n := len(out); n < generatedCount; n++ {
		out = append(out, random(r, n))
	}
	return out
}

// vector makes a case of a claim that every rule accepts, with changes.
func vector(name string, changes object, stubs ...Stub) *Vector {
	in := object{
		"scope": object{"user_id": "u-1", "workspace_id": "w-1"}, "claim_scope": object{"user_id": "u-1", "workspace_id": "w-1"},
		"claim_text": "Customer prefers email contact.", "source_event_id": "evt_1", "source_type": "email",
		"age_days_at_decision": 3, "occurrence_count": 4, "dependency_group": nil,
		"event_time": "2026-02-10T08:00:00Z", "accepted_at": "2026-02-10T09:00:00Z", "promoted_before": false, "competing": nil, "score": literal("0.8"),
	}
	maps.Copy(in, changes)
	maps.DeleteFunc(in, func(_ string, v any) bool { return v == any(absent) })
	src, err := json.Marshal(in)
	if err == nil {
		src, err = fixture.Canonicalize(nil, src)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err)) // it stands in this file
	}
	return &Vector{Name: name, Input: src, Stubs: append([]Stub{}, stubs...)}
}

func answer(value string) Stub { return Stub{rules.PreferenceOrFact, []byte(value)} }

var (
	preference = answer(`"preference"`)
	fact       = answer(`"fact"`)
)

// hard gives the cases that implementations get wrong.
func hard() (out []*Vector) {
	add := func(name string, changes object, stubs ...Stub) { out = append(out, vector(name, changes, stubs...)) }
	for _, n := range []string{"0", "-0", "30", "31", "14", "15", "9007199254740993", "9223372036854775807", "9223372036854775808", "-1", "-9223372036854775808",
		"1.0", "1e0", "0.5", "3E0", "100000000000000000000000000000000000000"} {
		add("age "+n, object{"age_days_at_decision": literal(n)}, preference)
		add("occurrences "+n, object{"occurrence_count": literal(n)}, fact)
	}
	for _, n := range []string{"0", "1", "-0", "-0.0", "0.6", "0.60000000000000001", "0.59999999999999998", "0.5999999999999999", "0.75", "1.0000000000000001", "1.0000000000000003",
		"6e-1", "60E-2", "1e-400", "0.1e1", "-1e-400", "-0.1", "2", "0.99999999999999999999"} {
		add("score "+n, object{"score": literal(n)}, preference)
	}
	for name, text := range map[string]string{
		"NUL": "a\x00b", "combining": "e\u0301", "composed": "\u00e9", "astral": "\U0001F9E0", "right to left": "\u05d0\u05d1", "control": "\x01\x1f\x7f", "separator": "\u2028\u2029",
		"space": " ", "quotes": `"\/`, "noncharacter": "\uffff", "long": strings.Repeat("ab", 4096),
	} {
		add("text "+name, object{"claim_text": text}, preference)
		add("scope value "+name, object{"scope": object{"user_id": text}, "claim_scope": object{"user_id": text}}, preference)
		add("scope key "+name, object{"scope": object{text: "x"}, "claim_scope": object{text: "x"}}, preference)
	}
	add("scope not normalised", object{"scope": object{"user_id": "e\u0301"}, "claim_scope": object{"user_id": "\u00e9"}}, preference)
	add("scope differs by case", object{"scope": object{"user_id": "U"}, "claim_scope": object{"user_id": "u"}}, preference)
	add("empty strings", object{"source_event_id": "", "source_type": "", "dependency_group": "", "scope": object{"": ""}, "claim_scope": object{"": ""}}, fact)
	add("empty text", object{"claim_text": ""}, preference)
	add("one source", object{"dependency_group": "g"}, fact)
	add("1 MiB of text", object{"claim_text": strings.Repeat("x", 1<<20)}, preference)
	add("1 MiB of members", object{"more": strings.Split(strings.Repeat("word ", 1<<17), " ")}, fact)
	add("deep", object{"more": literal(strings.Repeat(`{"a":[`, 50) + "1" + strings.Repeat("]}", 50))}, preference)
	add("large numbers beside", object{"more": literal(`[9007199254740993,1.0,1e300,123456789012345678901234567890]`)}, preference)
	add("names that differ by case", object{"Score": 0.1, "score": literal("0.9")}, preference)
	for name, stubs := range map[string][]Stub{
		"none": nil, "another call": {{"other", []byte(`"preference"`)}}, "two": {{"a", []byte("1")}, preference}, "unknown word": {answer(`"maybe"`)}, "empty": {answer(`""`)},
		"number": {answer("7")}, "null": {answer("null")}, "object": {answer(`{"kind":"fact"}`)}, "other case": {answer(`"Fact"`)},
	} {
		add("stub "+name, object{}, stubs...)
	}
	out = append(out, times()...)
	out = append(out, unusable()...)
	slices.SortFunc(out, func(a, b *Vector) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// times gives cases of instants: they are compared as such, to the nanosecond, whatever offset they are written with.
func times() (out []*Vector) {
	for i, pair := range [][2]string{
		{"2026-02-10T09:00:00Z", "2026-02-10T09:00:00Z"}, {"2026-02-10T09:00:00Z", "2026-02-10T10:00:00+01:00"}, {"2026-02-10T09:00:00Z", "2026-02-10T03:29:59-05:30"},
		{"2026-02-10T09:00:00.000000001Z", "2026-02-10T09:00:00Z"}, {"2026-02-10T09:00:00Z", "2026-02-10T09:00:00.000000001Z"}, {"2026-02-10T09:00:00.5Z", "2026-02-10T09:00:00.50Z"},
		{"2024-02-29T00:00:00Z", "2024-02-28T23:59:59Z"}, {"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}, {"2026-01-01T00:00:00+23:59", "2025-12-31T00:00:00Z"},
		{"2026-02-10T09:00:00.123456789Z", "2026-02-10T09:00:00.123456788Z"},
		{"2026-02-10T09:00:00Z", "2026-02-10T01:30:00-08:00"}, {"2026-02-10T09:00:00Z", "2026-02-10T17:30:00+08:00"}, // by the sign of the offset
		{"2026-02-10T09:00:00Z", "2026-02-10T00:30:00-08:00"}, {"2026-02-10T09:00:00Z", "2026-02-10T16:30:00+08:00"},
	} {
		out = append(out, vector(fmt.Sprint("times ", i), object{"accepted_at": pair[0], "competing": object{"event_time": pair[0], "accepted_at": pair[1]}}, preference))
	}
	for _, bad := range []string{"", "2026-02-10", "2026-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-02-10T24:00:00Z", "2026-02-10T09:60:00Z",
		"2026-02-10T09:00:60Z", "2026-02-10T09:00:00", "2026-02-10 09:00:00Z", "2026-02-10T09:00:00z", "2026-02-10t09:00:00Z", "2026-02-10T09:00Z", "2026-02-10T09:00:00+0100",
		"2026-02-10T09:00:00.Z", " 2026-02-10T09:00:00Z", "2026-2-10T09:00:00Z", "20260210T090000Z", "yesterday"} {
		out = append(out, vector("no instant "+bad, object{"accepted_at": bad}, preference), vector("no event time "+bad, object{"event_time": bad}, preference))
	}
	return out
}

// unusable gives inputs without a member, and with every member of every other kind.
func unusable() (out []*Vector) {
	kinds := map[string]any{"null": nil, "true": true, "number": 7, "fraction": literal("0.5"), "text": "x", "array": []int{1}, "object": object{}, "nested": object{"a": object{}}, "absent": absent}
	for _, member := range []string{"scope", "claim_scope", "claim_text", "age_days_at_decision", "promoted_before", "event_time", "accepted_at", "competing", "score", "occurrence_count", "dependency_group"} {
		for kind, value := range kinds {
			out = append(out, vector(member+" "+kind, object{member: value}, fact))
		}
	}
	valid := "2026-02-01T00:00:00Z"
	for name, competing := range map[string]object{"no times": {}, "no acceptance": {"event_time": valid}, "no event": {"accepted_at": valid}, "event null": {"event_time": nil, "accepted_at": valid}} {
		out = append(out, vector("competing "+name, object{"competing": competing}, fact))
	}
	return out
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// random gives a claim as a queue might have it.
func random(r *rand.Rand, n int) *Vector {
	user, workspace := fmt.Sprint("u-", r.IntN(3)), fmt.Sprint("w-", r.IntN(2))
	own := object{"user_id": fmt.Sprint("u-", r.IntN(3))}
	if r.IntN(2) == 0 {
		own = object{"user_id": user, "workspace_id": workspace}
	}
	if r.IntN(8) == 0 {
		own["project_id"] = "p"
	}
	at := func() string {
		return fmt.Sprintf("2026-02-%02dT%02d:%02d:%02d%s%s", 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), pick(r, "", ".5", ".123456789"), pick(r, "Z", "+00:00", "-08:00", "+05:45"))
	}
	changes := object{
		"scope": object{"user_id": user, "workspace_id": workspace}, "claim_scope": own, "claim_text": fmt.Sprintf("Claim %d of many: %s", n, pick(r, "wants mail", "mag keine Anrufe", "préfère l'été")),
		"age_days_at_decision": r.IntN(45), "occurrence_count": 1 + r.IntN(7), "dependency_group": pick[any](r, nil, nil, "thread-7"), "event_time": at(), "accepted_at": at(),
		"promoted_before": r.IntN(6) == 0, "score": literal(fmt.Sprintf("%.*f", 1+r.IntN(16), r.Float64())),
	}
	if r.IntN(3) == 0 {
		changes["competing"] = object{"event_time": at(), "accepted_at": at()}
	}
	var stubs []Stub
	if s := pick(r, `"preference"`, `"fact"`, `"fact"`, ""); s != "" {
		stubs = append(stubs, answer(s))
	}
	return vector(fmt.Sprint("random ", n), changes, stubs...)
}

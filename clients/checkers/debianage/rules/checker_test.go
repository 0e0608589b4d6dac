package rules

import (
	"errors"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// softFreeze is the candidate of the example: ten days, whatever the urgency.
var softFreeze = map[string]string{low: "10", medium: "10", high: "10", critical: "10", emergency: "10"}

var (
	ageOK    = retrial.Outcome{Verdict: Promoted, ReasonCode: AgeOK}
	tooYoung = retrial.Outcome{Verdict: Dropped, ReasonCode: TooYoung}
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name       string
		input      string
		parameters map[string]string
		want       retrial.Outcome
	}{
		{name: "low on its tenth day", input: `{"urgency":"low","age_days_at_decision":10,"is_new":false}`, want: ageOK},
		{name: "low a day early", input: `{"urgency":"low","age_days_at_decision":9,"is_new":false}`, want: tooYoung},
		{name: "medium on its fifth day", input: `{"urgency":"medium","age_days_at_decision":5,"is_new":false}`, want: ageOK},
		{name: "medium a day early", input: `{"urgency":"medium","age_days_at_decision":4,"is_new":false}`, want: tooYoung},
		{name: "high on its second day", input: `{"urgency":"high","age_days_at_decision":2,"is_new":false}`, want: ageOK},
		{name: "high a day early", input: `{"urgency":"high","age_days_at_decision":1,"is_new":false}`, want: tooYoung},
		{name: "critical at once", input: `{"urgency":"critical","age_days_at_decision":0,"is_new":false}`, want: ageOK},
		{name: "emergency at once", input: `{"urgency":"emergency","age_days_at_decision":0,"is_new":false}`, want: ageOK},
		{name: "new source of high urgency waits as long as medium", input: `{"urgency":"high","age_days_at_decision":4,"is_new":true}`, want: tooYoung},
		{name: "new source of high urgency on its fifth day", input: `{"urgency":"high","age_days_at_decision":5,"is_new":true}`, want: ageOK},
		{name: "new source of emergency urgency waits as long as medium", input: `{"urgency":"emergency","age_days_at_decision":0,"is_new":true}`, want: tooYoung},
		{name: "new source of low urgency waits as long as low", input: `{"urgency":"low","age_days_at_decision":9,"is_new":true}`, want: tooYoung},
		{name: "unknown urgency is medium, a day early", input: `{"urgency":"whenever","age_days_at_decision":4,"is_new":false}`, want: tooYoung},
		{name: "unknown urgency is medium, on its fifth day", input: `{"urgency":"whenever","age_days_at_decision":5,"is_new":false}`, want: ageOK},
		{name: "urgency is compared exactly", input: `{"urgency":"HIGH","age_days_at_decision":4,"is_new":false}`, want: tooYoung},
		{name: "parameters replace the defaults", input: `{"urgency":"emergency","age_days_at_decision":9,"is_new":false}`, parameters: softFreeze, want: tooYoung},
		{name: "a parameter of a shorter medium is that of new sources too", input: `{"urgency":"high","age_days_at_decision":3,"is_new":true}`, parameters: map[string]string{medium: "3"}, want: ageOK},
		{name: "other members are not read", input: `{"urgency":"high","age_days_at_decision":2,"is_new":false,"uploaded_at":7,"age_requirement_at_decision":99}`, want: ageOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := check(t, tc.input, tc.parameters)
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != tc.want.Verdict || got.ReasonCode != tc.want.ReasonCode {
				t.Errorf("got %s/%s, want %s/%s", got.Verdict, got.ReasonCode, tc.want.Verdict, tc.want.ReasonCode)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, input string
		members     []string // each is named in the error
	}{
		{"no urgency", `{"age_days_at_decision":3,"is_new":false}`, []string{`"urgency"`}},
		{"no age", `{"urgency":"low","is_new":false}`, []string{`"age_days_at_decision"`}},
		{"no is_new", `{"urgency":"low","age_days_at_decision":3}`, []string{`"is_new"`}},
		{"nothing at all", `{}`, []string{`"urgency"`, `"age_days_at_decision"`, `"is_new"`}},
		{"urgency under another case", `{"Urgency":"low","age_days_at_decision":3,"is_new":false}`, []string{`"urgency"`}},
		{"urgency is a number", `{"urgency":1,"age_days_at_decision":3,"is_new":false}`, []string{`"urgency"`}},
		{"urgency is null", `{"urgency":null,"age_days_at_decision":3,"is_new":false}`, []string{`"urgency"`}},
		{"age is a string", `{"urgency":"low","age_days_at_decision":"3","is_new":false}`, []string{`"age_days_at_decision"`}},
		{"age is a fraction", `{"urgency":"low","age_days_at_decision":3.5,"is_new":false}`, []string{`"age_days_at_decision"`}},
		{"age is null", `{"urgency":"low","age_days_at_decision":null,"is_new":false}`, []string{`"age_days_at_decision"`}},
		{"is_new is a string", `{"urgency":"low","age_days_at_decision":3,"is_new":"false"}`, []string{`"is_new"`}},
		{"is_new is null", `{"urgency":"low","age_days_at_decision":3,"is_new":null}`, []string{`"is_new"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := check(t, tc.input, nil)
			var input *retrial.InputError
			if !errors.As(err, &input) {
				t.Fatalf("got outcome %+v and error %v, want an InputError", got, err)
			}
			for _, name := range tc.members {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%q does not name the member %s", err, name)
				}
			}
			if n := strings.Count(err.Error(), "member "); n != len(tc.members) {
				t.Errorf("%q names %d members, want %d", err, n, len(tc.members))
			}
		})
	}
}

func check(t *testing.T, input string, parameters map[string]string) (retrial.Outcome, error) {
	t.Helper()
	c, err := retrial.NewCase(Checker{}, []byte(input), nil, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return Checker{}.Check(t.Context(), c)
}

package recorder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/stub"
)

func comparison(t *testing.T, c stub.Compare) *recorder.Comparison {
	t.Helper()
	out, err := recorder.NewComparison(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	bySchema = stub.Compare{Kind: stub.Schema, Schema: []byte(`{"required":["v"]}`)}
	byRubric = stub.Compare{Kind: stub.Rubric, Fields: []string{"v", "s.0.n"}}
)

// S4, S11: drift is what the comparison looks at, noise what it does not.
func TestS11Same(t *testing.T) {
	for _, tt := range []struct {
		compare  stub.Compare
		was, is  string
		same, ok bool
	}{
		{stub.Compare{}, `{"v":1}`, `{"v":1}`, true, true},
		{stub.Compare{Kind: stub.Equal}, `{"v":1}`, `{"v":1.0}`, false, true},
		{bySchema, `{"v":1}`, `{"v":2,"w":3}`, true, true},
		{bySchema, `{"v":1}`, `{"w":1}`, true, false},
		{bySchema, `{"w":1}`, `{"v":1}`, false, true}, // the schema is younger than the recording
		{byRubric, `{"s":[{"n":1}],"v":1,"why":"a"}`, `{"s":[{"n":1}],"v":1,"why":"b"}`, true, true},
		{byRubric, `{"s":[{"n":1}],"v":1}`, `{"s":[{"n":2}],"v":1}`, false, true},
		{byRubric, `{"s":[{"n":1}],"v":1}`, `{"s":[],"v":1}`, false, false},
		{byRubric, `{"v":1}`, `{"s":[{"n":1}],"v":1}`, false, true},
		{byRubric, `{"v":1}`, `{"v":1}`, false, false}, // what neither has is not equal
	} {
		c := comparison(t, tt.compare)
		if got := c.Same([]byte(tt.was), []byte(tt.is)); got != tt.same {
			t.Errorf("%s: %s and %s are the same: %v", tt.compare.Kind, tt.was, tt.is, got)
		}
		if err := c.Check([]byte(tt.is)); (err == nil) != tt.ok {
			t.Errorf("%s: %s: %v", tt.compare.Kind, tt.is, err)
		}
	}
}

// A schema that is none, and one that would read files, is refused.
func TestSchemaIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{`{"type":"colour"}`, `{"$ref":"file://` + filepath.ToSlash(file) + `"}`, `{"$ref":"https://json.schemastore.org/package.json"}`, `{"$ref":"#/$defs/none"}`, `[]`, `7`} {
		if _, err := recorder.NewComparison(stub.Compare{Kind: stub.Schema, Schema: []byte(schema)}); err == nil {
			t.Errorf("%s: accepted", schema)
		}
	}
}

// The spread of ten answers: by the whole, by each field of a rubric, and how many are as what is recorded.
func TestSpread(t *testing.T) {
	var answers []recorder.Answer
	for i := range 10 {
		answers = append(answers, recorder.Answer{Value: fmt.Appendf(nil, `{"s":[{"n":%d}],"v":%d}`, i%2, i/7)})
	}
	recorded := []byte(`{"s":[{"n":1}],"v":0}`)
	for _, tt := range []struct {
		compare stub.Compare
		want    string
	}{
		{stub.Compare{}, "[{ 4 4 0.4 3}]"},
		{bySchema, "[{ 4 4 0.4 10}]"},
		{byRubric, "[{v 2 7 0.7 7} {s.0.n 2 5 0.5 5}]"},
	} {
		s := comparison(t, tt.compare).Spread("triage-1", answers, recorded)
		var rows []string
		for _, r := range s.Rows {
			rows = append(rows, fmt.Sprintf("{%s %d %d %g %d}", r.Field, r.Distinct, r.Most, r.Share, *r.AsRecorded))
		}
		if got := "[" + strings.Join(rows, " ") + "]"; got != tt.want || s.Answers != 10 {
			t.Errorf("%s: got %s, want %s", s.Compare, got, tt.want)
		}
	}
	if s := comparison(t, stub.Compare{}).Spread("new", answers, nil); s.Rows[0].AsRecorded != nil {
		t.Error("nothing is recorded, and some are as it")
	}
}

// S10: recordings x average prompt tokens x repeats x runs a day.
func TestS10Plan(t *testing.T) {
	p := recorder.NewPlan([]recorder.Question{{Prompt: make([]byte, 400)}, {Prompt: make([]byte, 100), Schema: make([]byte, 100)}, {Prompt: make([]byte, 200)}}, 5, 2)
	want := "3 recordings x 66.7 prompt tokens on average x 5 answers each = 1000 prompt tokens a run, x 2 runs a day = 2000 a day\nestimated at 4 bytes a token; answers come on top, and attempts that fail may be charged: 3 a call at most"
	if p.String() != want {
		t.Errorf("got  %s\nwant %s", p, want)
	}
	if p := recorder.NewPlan(nil, 1, 0); p.AverageTokens != 0 || p.Tokens != 0 {
		t.Errorf("nothing costs %+v", p)
	}
}

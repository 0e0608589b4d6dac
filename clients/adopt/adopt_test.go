package adopt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrial-dev/retrial/clients/adopt"
)

// line gives what a test compares of a pair: all but its prompt, which stands for itself.
func line(p adopt.Pair) string {
	at := p.RecordedAt.Format(time.RFC3339)
	if p.FileTime {
		at = "FILE"
	}
	return fmt.Sprintf("%s %s %s %s %s", p.ID, p.Extension, at, p.Model, p.Value)
}

func skips(list []adopt.Skip) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, s.Where+": "+s.Why)
	}
	return out
}

// Each format as its tool writes it.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		source            string
		pairs, skips      []string
		warnings, prompts []string // parts of each
	}{
		{
			source:   "go-vcr-1",
			pairs:    []string{`f-1.1 .json 2026-01-01T00:00:02Z m-large "stale"`},
			warnings: []string{"f-1.yaml: there is a key in it, in the header authorization: have it revoked"},
			prompts:  []string{"{\n  \"messages\": [\n    {\n      \"content\": \"Answer with one word.\",\n      \"role\": \"system\"\n    },\n    {\n      \"content\": \"Is <b>this</b> stale?\",\n      \"role\": \"user\"\n    }\n  ],\n  \"model\": \"m-large\",\n  \"temperature\": 0\n}\n"},
		},
		{
			source: "go-vcr-2",
			pairs: []string{
				`calls.1 .json 2026-01-01T00:00:00Z m-large {"label":"stale","score":0.10}`,
				`calls.2 .json 2026-01-01T00:00:00Z m-large "not stale"`,
				`calls.3 .json 2026-01-01T00:00:00Z m-large "stale"`,
				`calls.9 .json 2026-01-01T00:00:00Z m-old " upon"`,
				`calls.10 .json 2026-01-01T00:00:00Z m-large "fresh"`,
				`calls.11 .json 2026-01-01T00:00:00Z m-large "fresh"`,
				`calls.12 .json FILE e-1 [[0.1,-0.002],[1,0]]`,
			},
			skips: []string{
				"calls.yaml #4: no model call: GET /v1/models",
				"calls.yaml #5: no answer: its status is 429",
				"calls.yaml #6: the stream of the answer was cut",
				"calls.yaml #7: there are several answers in it, and a stub has one",
				"calls.yaml #8: the answer has no text: it calls tools, refuses, or is empty",
				"calls.yaml #13: it was asked for JSON, and answered with no JSON: invalid character 's' looking for beginning of value",
				"calls.yaml #14: the body of the request: no JSON: invalid character 'm' looking for beginning of value",
			},
		},
		{
			source: "ruby",
			pairs: []string{
				`judge/f-2.1 .json 2025-12-02T10:00:00Z m-large "stale"`,
				`judge/f-2.2 .json 2025-12-02T10:00:01Z m-large "stale"`,
				`serialized.1 .json 2025-12-02T10:00:02Z m-large "stale"`,
			},
		},
		{
			source:   "python",
			pairs:    []string{`f-3.1 .json 2026-01-02T00:00:00Z m-large "stale"`},
			warnings: []string{"in the header api-key, the query's key: have it revoked"},
		},
		{
			source: "plain",
			pairs: []string{
				`a-b .txt FILE  "yes"`,
				`c .md 2026-01-01T00:00:00Z m-1 "no"`,
				`d.1 .json 2026-01-03T00:00:00Z  {"x":[1]}`,
				`d.3 .md FILE  true`,
				`deep/a .md FILE  {"label":"stale","n":9007199254740993}`,
			},
			skips: []string{
				"a-b.json: its id would be a-b, as that of a b.json: give one of the files another name",
				"d.json #2: no prompt beside it, and no prompt with its answer in it",
				"d.json #4: there is no prompt in it",
				"e.json: no JSON: unexpected EOF",
				"f.prompt: there is no answer beside it",
				"g.csv: neither JSON nor YAML, by its name",
				"h.json: its prompt h.md is empty",
				"lone.json: no prompt beside it, and no prompt with its answer in it",
			},
			prompts: []string{"Is it?", "Is it?", "[\n  {\n    \"content\": \"Hm?\",\n    \"role\": \"user\"\n  }\n]\n", "p", "Is it stale?\n"},
		},
		{
			source:   "promptfoo",
			pairs:    []string{`results.1 .md 2026-01-05T10:00:00Z openai:m-large "stale"`, `results.2 .md 2026-01-05T10:00:00Z openai:m-small {"label":"fresh"}`},
			skips:    []string{"results.json #3: the model gave no answer, but an error", "results.json #4: there is no prompt in it"},
			warnings: []string{"results.json: 1 answers came out of a cache: they are older than the file says"},
			prompts:  []string{"Is it stale?", `[{"role":"user","content":"Hm?"}]`},
		},
	} {
		t.Run(tt.source, func(t *testing.T) {
			found, err := adopt.Read("testdata/"+tt.source, adopt.Auto)
			if err != nil {
				t.Fatal(err)
			}
			var pairs []string
			for i, p := range found.Pairs {
				pairs = append(pairs, line(p))
				if i < len(tt.prompts) && p.Prompt != tt.prompts[i] {
					t.Errorf("the prompt of %s is %q, want %q", p.ID, p.Prompt, tt.prompts[i])
				}
			}
			if diff := cmp.Diff(tt.pairs, pairs); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(append([]string{}, tt.skips...), skips(found.Skipped)); diff != "" {
				t.Error(diff)
			}
			if len(found.Warnings) != len(tt.warnings) {
				t.Fatalf("got the warnings %q, want %q", found.Warnings, tt.warnings)
			}
			for i, w := range tt.warnings {
				if !strings.Contains(found.Warnings[i], w) {
					t.Errorf("got %q, want %q", found.Warnings[i], w)
				}
			}
			for _, key := range []string{"sk-", "0123456789abcdef", "abcdefgh", "Bearer", "Authorization"} {
				if all := fmt.Sprint(found); strings.Contains(all, key) {
					t.Errorf("%s was copied", key)
				}
			}
		})
	}
}

// A format that is said is not guessed; a file can be a source; what is no source is an error.
func TestReadAs(t *testing.T) {
	found, err := adopt.Read("testdata/promptfoo/results.json", adopt.VCR)
	if err != nil || len(found.Pairs) != 0 || len(found.Skipped) != 1 || found.Skipped[0].Why != "no cassette: there is no list of interactions" {
		t.Errorf("got %+v, %v", found, err)
	}
	if found, err = adopt.Read("testdata/go-vcr-1/f-1.yaml", adopt.Auto); err != nil || len(found.Pairs) != 1 || found.Pairs[0].ID != "f-1.1" {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err = adopt.Read("testdata", "har"); err == nil || !strings.Contains(err.Error(), "none of the formats") {
		t.Errorf("got %v", err)
	}
	if _, err = adopt.Read("testdata/nowhere", adopt.Auto); err == nil {
		t.Error("nothing is a source")
	}
}

// A cassette is anybody's: what is endless, nested without end or two documents ends in a reason.
func TestReadHostile(t *testing.T) {
	endless := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 20 {
		alias := fmt.Sprintf("*a%d", i)
		endless += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias}, ","))
	}
	call := "- request: {method: POST, url: 'https://models.test/v1/completions', body: '{\"prompt\":\"p\"}'}\n  response: {body: '{\"choices\":[{\"text\":\"t\"}]}', status: %s}\n"
	for _, tt := range []struct {
		name, src string
		format    adopt.Format
		want      string
	}{
		{"an endless status", endless + "interactions:\n" + fmt.Sprintf(call, "*a20"), adopt.Auto, "c.yaml #1: no answer: its status is 0"},
		{"an endless body", endless + "interactions:\n" + strings.Replace(fmt.Sprintf(call, "200"), "'{\"prompt\":\"p\"}'", "*a20", 1), adopt.Auto, "c.yaml #1: the body of the request: it has no form that is known"},
		{"an endless answer", endless + "prompt: p\nanswer: *a20\n", adopt.JSON, "c.yaml: YAML is read as a cassette alone"},
		{"nested without end", strings.Repeat("[", 1_000_000), adopt.Auto, "c.yaml: no YAML: it is nested too deep"},
		{"two documents", "a: 1\n---\nb: 1\n", adopt.Auto, "c.yaml: expected one YAML document"},
		{"no document", "", adopt.Auto, "c.yaml: expected one YAML document"},
		{"no text", "\x00\xff", adopt.Auto, "c.yaml: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"c.yaml": tt.src})
			found, err := adopt.Read(dir, tt.format)
			if err != nil || len(found.Pairs) != 0 || len(found.Skipped) != 1 || !strings.HasPrefix(skips(found.Skipped)[0], tt.want) {
				t.Errorf("got %v, %v; want %q", found, err, tt.want)
			}
		})
	}
}

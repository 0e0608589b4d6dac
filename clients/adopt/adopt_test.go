package adopt_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrial-dev/retrial/clients/adopt"
	"github.com/retrial-dev/retrial/stub"
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
				`calls.12 .json FILE e-1 [[0.1,-0.002],[1,0]]`,
			},
			skips: []string{
				"calls.yaml #4: no model call: GET /v1/models",
				"calls.yaml #5: no answer: its status is 429",
				"calls.yaml #6: the stream of the answer was cut",
				"calls.yaml #7: the response has 2 answers, want 1",
				"calls.yaml #8: the answer has no content, such as one that calls a tool: there is nothing to record",
				"calls.yaml #9: a call of completions without messages (/v1/completions): it cannot be asked again as a chat",
				"calls.yaml #10: a call of the Responses API (/v1/responses): it cannot be asked again as a chat",
				"calls.yaml #11: a call of the Responses API (/v1/responses): it cannot be asked again as a chat",
				"calls.yaml #13: the answer was to be JSON, and is none",
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
			prompts: []string{"Is it?", "Is it?", "{\n  \"messages\": [\n    {\n      \"content\": \"Hm?\",\n      \"role\": \"user\"\n    }\n  ]\n}\n", "p", "Is it stale?\n"},
		},
		{
			source:   "promptfoo",
			pairs:    []string{`results.1 .md 2026-01-05T10:00:00Z openai:m-large "stale"`, `results.2 .json 2026-01-05T10:00:00Z openai:m-small {"label":"fresh"}`},
			skips:    []string{"results.json #3: the model gave no answer, but an error", "results.json #4: there is no prompt in it"},
			warnings: []string{"results.json: 1 answers came out of a cache: they are older than the file says"},
			prompts:  []string{"Is it stale?", "{\n  \"messages\": [\n    {\n      \"content\": \"Hm?\",\n      \"role\": \"user\"\n    }\n  ]\n}\n"},
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
	call := "- request: {method: POST, url: 'https://models.test/v1/chat/completions', body: '{\"messages\":[1]}'}\n  response: {body: '{\"choices\":[{\"message\":{\"content\":\"t\"}}]}', status: %s}\n"
	for _, tt := range []struct {
		name, src string
		format    adopt.Format
		want      string
	}{
		{"an endless status", endless + "interactions:\n" + fmt.Sprintf(call, "*a20"), adopt.Auto, "c.yaml #1: no answer: its status is 0"},
		{"an endless body", endless + "interactions:\n" + strings.Replace(fmt.Sprintf(call, "200"), "'{\"messages\":[1]}'", "*a20", 1), adopt.Auto, "c.yaml #1: the body of the request: it has no form that is known"},
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

// What is adopted asks, by the rules of the key, what was asked; what no rule reads as that is skipped with its reason.
func TestPromptsAskWhatWasAsked(t *testing.T) {
	const hm = `[{"role":"user","content":"Hm?"}]`
	for _, tt := range []struct{ name, source, asks, skip string }{
		{"messages", `{"messages":` + hm + `,"answer":1}`, hm, ""},
		{"messages as the prompt", `{"prompt":` + hm + `,"answer":1}`, hm, ""},
		{"a request as the prompt", `{"prompt":{"messages":` + hm + `,"temperature":0},"answer":1}`, hm, ""},
		{"a text that ends in a line feed", `{"prompt":"Hm?\n","answer":1}`, `[{"role":"user","content":"Hm?\n"}]`, ""},
		{"no messages", `{"messages":[],"answer":1}`, "", "messages: [] asks nothing"},
		{"an object that is no request", `{"prompt":{"question":"Hm?"},"answer":1}`, "", "its prompt is neither a text nor a request"},
		{"an object with a prompt", `{"prompt":{"prompt":"Hm?"},"answer":1}`, "", "its prompt is neither a text nor a request"},
		{"a number", `{"prompt":7,"answer":1}`, "", "its prompt is neither a text nor a request"},
		{"a chat and embeddings", `{"prompt":{"messages":` + hm + `,"input":"a"},"answer":1}`, "", "both messages and input"},
		{"the Responses API", `{"prompt":{"input":` + hm + `},"answer":1}`, "", "the Responses API"},
		{"old completions", `{"prompt":{"model":"m","prompt":"Once"},"answer":1}`, "", "completions without messages"},
		{"results with messages as a text", `{"results":{"results":[{"prompt":{"raw":"[{\"role\":\"user\",\"content\":\"Hm?\"}]"},"response":{"output":1}}]}}`, hm, ""},
		{"results with a list that is no messages", `{"results":{"results":[{"prompt":{"raw":"[1]"},"response":{"output":1}}]}}`, `[{"role":"user","content":"[1]"}]`, ""},
		{"results with messages in YAML", `{"results":{"results":[{"prompt":{"raw":"- role: user\n  content: Hm?"},"response":{"output":1}}]}}`, "", "its messages are YAML"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"a.json": tt.source})
			found, err := adopt.Read(dir, adopt.Auto)
			if err != nil {
				t.Fatal(err)
			}
			if tt.skip != "" {
				if len(found.Pairs) != 0 || len(found.Skipped) != 1 || !strings.Contains(found.Skipped[0].Why, tt.skip) {
					t.Errorf("got %+v, want %q", found, tt.skip)
				}
				return
			}
			if len(found.Pairs) != 1 {
				t.Fatalf("got %+v", found)
			}
			got, err := stub.RequestKey([]byte(found.Pairs[0].Prompt))
			want, _ := stub.ReadRequest(stub.Chat, []byte(`{"messages":`+tt.asks+`}`))
			if err != nil || got.Key != want.Key {
				t.Errorf("%q asks %s, want %s; %v", found.Pairs[0].Prompt, got.Excerpt, want.Excerpt, err)
			}
		})
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.json": "1", "a.md": `{"messages": [1],}`})
	if found, err := adopt.Read(dir, adopt.Auto); err != nil || len(found.Skipped) != 1 || !strings.Contains(found.Skipped[0].Why, "looks like a request") {
		t.Errorf("got %+v, %v", found, err)
	}
}

// What the recorder would not record is not adopted either: answers that were cut, refused, filtered, or are no numbers.
func TestAnswersAreReadAsTheRecorderDoes(t *testing.T) {
	chunk := func(rest string) string { return "data: {\"model\":\"m\",\"choices\":[" + rest + "]}\n\n" }
	const done = "data: [DONE]\n\n"
	word := chunk(`{"index":0,"delta":{"content":"ye"}}`)
	for _, tt := range []struct{ name, path, asks, answer, want string }{
		{"an answer", "chat/completions", `{"messages":[1]}`, `{"choices":[{"finish_reason":"stop","message":{"content":"yes"}}]}`, `"yes"`},
		{"cut", "chat/completions", `{"messages":[1]}`, `{"choices":[{"finish_reason":"length","message":{"content":"ye"}}]}`, "cut at the model's limit"},
		{"filtered", "chat/completions", `{"messages":[1]}`, `{"choices":[{"finish_reason":"content_filter","message":{"content":"ye"}}]}`, "a filter"},
		{"refused", "chat/completions", `{"messages":[1]}`, `{"choices":[{"finish_reason":"stop","message":{"content":"","refusal":"no"}}]}`, "refused to answer"},
		{"an error with status 200", "chat/completions", `{"messages":[1]}`, `{"error":{"message":"no"}}`, "0 answers"},
		{"a stream", "chat/completions", `{"messages":[1],"stream":true}`, word + chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`) + done, `"ye"`},
		{"a stream with usage behind it", "chat/completions", `{"messages":[1],"stream":true}`, word + chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`) + chunk("") + done, `"ye"`},
		{"a stream of JSON", "chat/completions", `{"messages":[1],"stream":true,"response_format":{"type":"json_object"}}`, chunk(`{"delta":{"content":"{\"a\":1.10}"},"finish_reason":"stop"}`) + done, `{"a":1.10}`},
		{"a stream that was cut", "chat/completions", `{"messages":[1],"stream":true}`, word + chunk(`{"index":0,"delta":{},"finish_reason":"length"}`) + done, "cut at the model's limit"},
		{"a stream that was cut, with usage behind it", "chat/completions", `{"messages":[1],"stream":true}`, word + chunk(`{"index":0,"delta":{},"finish_reason":"length"}`) + chunk("") + done, "cut at the model's limit"},
		{"a stream that was filtered", "chat/completions", `{"messages":[1],"stream":true}`, word + chunk(`{"index":0,"delta":{},"finish_reason":"content_filter"}`) + done, "a filter"},
		{"a stream that refuses", "chat/completions", `{"messages":[1],"stream":true}`, chunk(`{"index":0,"delta":{"refusal":"no"}}`) + done, "refused to answer"},
		{"a stream of nothing", "chat/completions", `{"messages":[1],"stream":true}`, chunk(`{"index":0,"delta":{"role":"assistant"}}`) + done, "no content"},
		{"an embedding", "embeddings", `{"input":"a"}`, `{"data":[{"index":0,"embedding":[1]}]}`, `[1]`},
		{"embeddings out of order", "embeddings", `{"input":["a","b"]}`, `{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}`, `[[1],[2]]`},
		{"too few embeddings", "embeddings", `{"input":["a","b"]}`, `{"data":[{"index":0,"embedding":[1]}]}`, "1 embeddings for 2 inputs"},
		{"base64", "embeddings", `{"input":"a","encoding_format":"base64"}`, `{"data":[{"index":0,"embedding":"AACAPw=="}]}`, "no array of numbers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			src, err := json.Marshal(map[string]any{"interactions": []any{map[string]any{
				"request":  map[string]any{"method": "POST", "url": "https://models.test/v1/" + tt.path, "body": tt.asks},
				"response": map[string]any{"code": 200, "body": tt.answer},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{"c.json": string(src)})
			holds(t, dir, tt.want)
		})
	}
	for name, tt := range map[string][2]string{
		"results that were cut":      {`{"results":{"results":[{"prompt":{"raw":"p"},"response":{"output":"ye","finishReason":"length"}}]}}`, "cut at the model's limit"},
		"results that were filtered": {`{"results":{"results":[{"prompt":{"raw":"p"},"response":{"output":"ye","finishReason":"content_filter"}}]}}`, "a filter"},
		"results that refuse":        {`{"results":{"results":[{"prompt":{"raw":"p"},"response":{"output":"no","isRefusal":true}}]}}`, "refused to answer"},
		"results that are whole":     {`{"results":{"results":[{"prompt":{"raw":"p"},"response":{"output":"yes","finishReason":"stop"}}]}}`, `"yes"`},
		"an object that was cut":     {`{"prompt":"p","answer":"ye","finish_reason":"length"}`, "cut at the model's limit"},
		"an object that says so":     {`{"prompt":"p","answer":"no","refusal":true}`, "refused to answer"},
		"an object that refuses":     {`{"prompt":"p","answer":"no","refusal":"no"}`, "refused to answer"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"a.json": tt[0]})
			holds(t, dir, tt[1])
		})
	}
}

// holds says whether a source has one pair with this value, or was skipped for this reason.
func holds(t *testing.T, dir, want string) {
	t.Helper()
	found, err := adopt.Read(dir, adopt.Auto)
	switch {
	case err != nil:
		t.Fatal(err)
	case len(found.Pairs) == 1 && len(found.Skipped) == 0 && string(found.Pairs[0].Value) == want:
	case len(found.Pairs) == 0 && len(found.Skipped) == 1 && strings.Contains(found.Skipped[0].Why, want):
	default:
		t.Errorf("got %+v, want %s", found, want)
	}
}

// An instant that is there and cannot be read is a reason to skip, and never that of the file. Milliseconds are read where they can be
// nothing else.
func TestInstants(t *testing.T) {
	cassette := func(recorded, date, created string) string {
		return `{"interactions":[{"recorded_at":` + recorded + `,"request":{"method":"POST","url":"https://models.test/v1/chat/completions","body":"{\"messages\":[1]}"},` +
			`"response":{"code":200,"headers":{"Date":[` + date + `]},"body":"{\"created\":` + created + `,\"choices\":[{\"message\":{\"content\":\"a\"}}]}"}}]}`
	}
	plain := func(at string) string { return `{"prompt":"p","answer":1,"timestamp":` + at + `}` }
	results := func(at, evaluated string) string {
		return `{"metadata":{"evaluationCreatedAt":` + evaluated + `},"results":{"timestamp":` + at + `,"results":[{"prompt":{"raw":"p"},"response":{"output":1}}]}}`
	}
	const unread, day = "UNREAD", "2026-01-01T00:00:00Z"
	for _, tt := range []struct{ name, source, want string }{
		{"seconds", plain(`1767225600`), day},
		{"milliseconds", plain(`1767225600123`), "2026-01-01T00:00:00.123Z"},
		{"neither", plain(`200000000000`), unread},
		{"microseconds", plain(`1767225600123456`), unread},
		{"nothing", plain(`null`), "FILE"},
		{"an empty text", plain(`""`), "FILE"},
		{"zero", plain(`0`), unread},
		{"no zone", plain(`"2025-02-14 09:12:00"`), unread},
		{"a zone", plain(`"2025-02-14 09:12:00Z"`), "2025-02-14T09:12:00Z"},
		{"an object", plain(`{}`), unread},
		{"a cassette's", cassette(`"2026-01-01T00:00:00Z"`, `"Fri, 02 Jan 2026 00:00:00 GMT"`, "1"), day},
		{"a cassette's that cannot be read", cassette(`"2025-02-14 09:12:00"`, `"Fri, 02 Jan 2026 00:00:00 GMT"`, "1"), unread},
		{"a header's", cassette(`null`, `"Thu, 01 Jan 2026 00:00:00 GMT"`, "1"), day},
		{"a header's that cannot be read", cassette(`null`, `"yesterday"`, "1767225600"), unread},
		{"the endpoint's in milliseconds", cassette(`null`, ``, "1767225600000"), day},
		{"none at all", cassette(`null`, ``, "null"), "FILE"},
		{"promptfoo's", results(`"2026-01-01T00:00:00.000Z"`, `"2026-01-02T00:00:00Z"`), day},
		{"promptfoo's that cannot be read", results(`"Jan 1st"`, `"2026-01-02T00:00:00Z"`), unread},
		{"that of the evaluation", results(`null`, `"2026-01-01T00:00:00Z"`), day},
		{"that of the evaluation, which cannot be read", results(`null`, `"Jan 1st"`), unread},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"a.json": tt.source})
			found, err := adopt.Read(dir, adopt.Auto)
			if err != nil {
				t.Fatal(err)
			}
			got := unread
			if len(found.Pairs) == 1 {
				got = found.Pairs[0].RecordedAt.Format(time.RFC3339Nano)
				if found.Pairs[0].FileTime {
					got = "FILE"
				}
			} else if len(found.Skipped) != 1 || !strings.Contains(found.Skipped[0].Why, "its instant cannot be read") {
				t.Errorf("got %+v", found)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

package recorder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/stub"
)

const key = "sk-local-0123456789abcdef-key"

// turn is what a server under test control does with one request.
type turn func(w http.ResponseWriter, r *http.Request)

// says answers with a content.
func says(content string) turn { return finishes(content, "stop") }

func finishes(content, reason string) turn {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, completion(content, reason))
	}
}

func completion(content, reason string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"id":"c-1","object":"chat.completion","model":"small-1-dated","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`, reason, text)
}

func fails(status int, body string, headers ...string) turn {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// cut announces more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	body := completion("yes", "stop")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	fmt.Fprint(w, body[:len(body)/2])
}

// drops ends the connection without a word.
func drops(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// hangs answers never: it ends with the client's patience.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or else the server does not see that the client has gone
	<-r.Context().Done()
}

// bench is a server that takes its turns in their order, and an asker whose pauses are noted and not waited for.
type bench struct {
	recorder.Asker
	mu     sync.Mutex
	turns  []turn
	bodies []string
	header http.Header

	attempts []recorder.Attempt
	pauses   []time.Duration
}

func newBench(t *testing.T, turns ...turn) *bench {
	t.Helper()
	b := &bench{turns: turns}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		if len(b.turns) == 0 {
			b.mu.Unlock()
			t.Errorf("%s %s: a request more than there are turns", r.Method, r.URL)
			return
		}
		next := b.turns[0]
		b.turns = b.turns[1:]
		body, _ := io.ReadAll(r.Body)
		b.bodies, b.header = append(b.bodies, r.URL.Path+" "+string(body)), r.Header
		b.mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(s.Close)
	e, err := recorder.NewEndpoint(s.URL+"/v1/", key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	b.Asker = recorder.Asker{
		Model: e, Secrets: recorder.NewSecrets(key), Timeout: time.Minute,
		Check: func(_ recorder.Question, value []byte) ([]byte, error) { return value, nil },
		Log: func(a recorder.Attempt) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.attempts = append(b.attempts, a)
			return nil
		},
		Now: time.Now,
		Pause: func(_ context.Context, d time.Duration) error {
			b.pauses = append(b.pauses, d)
			return nil
		},
	}
	return b
}

var question = recorder.Question{ID: "triage-1", Model: "small-1", Prompt: []byte("Is it a fact?")}

// S6: what is worth another attempt gets two more at most, and each is in the log; anything else gets none.
func TestS6Attempts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		turns  []turn
		want   string // the answer, or a part of the error
		log    string // of every attempt: its status, and whether it was ok
		pauses []time.Duration
	}{
		{"an answer", []turn{says("yes")}, `"yes"`, "ok", nil},
		{"a limit that says how long", []turn{fails(429, `{"error":{"message":"slow down"}}`, "Retry-After", "7"), says("yes")}, `"yes"`, "429 Too Many Requests; ok", []time.Duration{7 * time.Second}},
		{"a limit of zero", []turn{fails(429, "", "Retry-After", "0"), says("yes")}, `"yes"`, "429 Too Many Requests; ok", []time.Duration{time.Second}},
		{"a limit that is too long to wait for", []turn{fails(429, "tomorrow", "Retry-After", "86400")}, "429 Too Many Requests: tomorrow", "429 Too Many Requests", nil},
		{"a fault, and an answer", []turn{fails(500, "oops"), says("yes")}, `"yes"`, "500 Internal Server Error; ok", []time.Duration{time.Second}},
		{"a fault that stays", []turn{fails(500, "a"), fails(502, "b"), fails(503, "c")}, "after 3 attempts: 503 Service Unavailable: c", "500 Internal Server Error; 502 Bad Gateway; 503 Service Unavailable", []time.Duration{time.Second, 4 * time.Second}},
		{"a cut response", []turn{cut, says("yes")}, `"yes"`, "200 OK; ok", []time.Duration{time.Second}},
		{"a connection that breaks", []turn{drops, says("yes")}, `"yes"`, "error; ok", []time.Duration{time.Second}},
		{"a page of a proxy", []turn{func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, says("yes")}, `"yes"`, "error; ok", []time.Duration{time.Second}},
		{"a request that is wrong", []turn{fails(400, `{"error":{"message":"no such model"}}`)}, "400 Bad Request: no such model", "400 Bad Request", nil},
		{"another address", []turn{fails(303, "", "Location", "/other")}, "the endpoint sends elsewhere", "303 See Other", nil},
		{"an answer that was cut short", []turn{finishes("ye", "length")}, "cut at the model's limit", "error", nil},
		{"an answer that was filtered", []turn{finishes("ye", "content_filter")}, "a filter", "error", nil},
		{"no content", []turn{func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"choices":[{"message":{"tool_calls":[{}]}}]}`)
		}}, "no content", "error", nil},
		{"an answer that calls a tool, with a word before it", []turn{finishes("Let me look.", "tool_calls")}, "calls a tool", "error", nil},
		{"an answer with nothing in it", []turn{says("")}, "no content", "error", nil},
		{"a refusal", []turn{func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"choices":[{"message":{"content":"","refusal":"no"}}]}`)
		}}, "refused to answer", "error", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			answer, err := b.Ask(t.Context(), question, 1)
			got := string(answer.Value)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || (err == nil) != strings.HasSuffix(tt.log, "ok") {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if log := logOf(b.attempts); log != tt.log || len(b.turns) > 0 {
				t.Errorf("the log has %q, want %q; turns that were not taken: %d", log, tt.log, len(b.turns))
			}
			if !slices.Equal(b.pauses, tt.pauses) {
				t.Errorf("pauses of %v, want %v", b.pauses, tt.pauses)
			}
		})
	}
}

func logOf(attempts []recorder.Attempt) string {
	var out []string
	for i, a := range attempts {
		text := a.Status
		switch {
		case a.OK:
			text = "ok"
		case text == "":
			text = "error"
		}
		if a.ID != question.ID || a.Attempt != i+1 || a.At.IsZero() || a.OK != (a.Error == "") || a.OK && (a.InputTokens != 7 || a.OutputTokens != 3 || a.Model != "small-1-dated") {
			text = fmt.Sprintf("%+v", a)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// A slow answer is given up at the timeout of an attempt, and tried again; where the run itself ends, it is not.
func TestS6Slow(t *testing.T) {
	b := newBench(t, hangs, says("yes"))
	b.Timeout = 200 * time.Millisecond
	if answer, err := b.Ask(t.Context(), question, 1); err != nil || string(answer.Value) != `"yes"` {
		t.Errorf("got %s, %v", answer.Value, err)
	}
	if !strings.Contains(b.attempts[0].Error, "no answer within 200ms") {
		t.Errorf("the log has %+v", b.attempts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b = newBench(t, func(w http.ResponseWriter, r *http.Request) { cancel(); hangs(w, r) })
	if _, err := b.Ask(ctx, question, 1); !errors.Is(err, context.Canceled) || len(b.attempts) != 1 {
		t.Errorf("got %v after %d attempts", err, len(b.attempts))
	}
}

// S6: what is asked is what the prompt's file asks by the rules of its key, and what is no request by those is not sent.
func TestS6PromptsAreReadOneWay(t *testing.T) {
	for _, prompt := range []string{
		"Is it?", "Is it?\n", "Is it?\n\n", "Is it?\r\n", `[{"role":"user","content":"Is it?"}]`, `{"role":"user"}`, `"a"`, "{ no",
		`{"messages":[{"role":"user","content":"Is it?"}],"temperature":0}`, `{"input":["a"]}`,
	} {
		want, err := stub.RequestKey([]byte(prompt))
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, fails(400, "enough"))
		q := question
		q.Prompt = []byte(prompt)
		_, _ = b.Ask(t.Context(), q, 1)
		path, body, _ := strings.Cut(b.bodies[0], " ")
		got, err := stub.ReadRequest(want.Kind, []byte(body))
		if err != nil || got.Key != want.Key || (path == "/v1/embeddings") != (want.Kind == stub.Embeddings) {
			t.Errorf("%q is sent to %s as %s, and asks %s; %v", prompt, path, body, want.Excerpt, err)
		}
	}
	for _, prompt := range []string{
		`{"messages":[1],"input":"a"}`, `{"messages":[]}`, `{"input":""}`, `{"messages":[1],}`, `{"model":"small-1","prompt":"Once"}`,
		`{"input":"a","instructions":"b"}`, `{"input":[{"role":"user","content":"a"}]}`,
	} {
		b := newBench(t)
		q := question
		q.Prompt = []byte(prompt)
		if answer, err := b.Ask(t.Context(), q, 1); err == nil {
			t.Errorf("%s is answered with %s", prompt, answer.Value)
		}
	}
}

// An attempt that cannot be logged is not followed by another.
func TestS6NoAttemptWithoutItsLine(t *testing.T) {
	b := newBench(t, fails(500, ""))
	full := errors.New("no space left")
	b.Log = func(recorder.Attempt) error { return full }
	err := recorder.Run(t.Context(), &b.Asker, []recorder.Question{question}, 1, 1, func(recorder.Result) error {
		t.Error("there is a result")
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// S11: an answer that is no JSON, or breaks its schema, is a failed recording: asked once, and named.
func TestS11AnswersThatBreakTheirSchema(t *testing.T) {
	schema := `{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["keep","drop"]},"why":{"type":"string","pattern":"^[a-z]+$"}},"additionalProperties":false}`
	c, err := recorder.NewComparison(stub.Compare{Kind: stub.Schema, Schema: []byte(schema)})
	if err != nil {
		t.Fatal(err)
	}
	q := question
	q.Schema = []byte(schema)
	for content, want := range map[string]string{
		`{"verdict": "keep"}`:              "",
		`{"verdict": `:                     "the answer was to be JSON",
		`{"verdict":"keep","verdict":"x"}`: "duplicate",
		`{"verdict":"other"}`:              "at /verdict: value must be one of",
		`{}`:                               "missing property 'verdict'",
		`{"verdict":"keep","why":"Ada 7"}`: "at /why: it does not match the pattern",
		`{"verdict":"keep","x":1}`:         "additional properties 'x' not allowed",
	} {
		b := newBench(t, says(content))
		b.Check = func(_ recorder.Question, v []byte) ([]byte, error) { return v, c.Check(v) }
		answer, err := b.Ask(t.Context(), q, 1)
		switch {
		case want == "" && (err != nil || string(answer.Value) != `{"verdict":"keep"}`):
			t.Errorf("%s: got %s, %v", content, answer.Value, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Ada")):
			t.Errorf("%s: got %v, want %s", content, err, want)
		}
		if !strings.Contains(b.bodies[0], `"response_format":{"json_schema":{"name":"answer","schema":`+schema) {
			t.Errorf("the schema was not sent: %s", b.bodies[0])
		}
	}
}

package modelserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/server/modelserver"
	"github.com/retrial-dev/retrial/stub"
)

// recorded is a stub with its prompt.
// failer is what a test and a property have in common.
type failer interface {
	Helper()
	Fatal(...any)
}

func recorded(t failer, fixtureID, call, model, prompt, value string) *stub.Stub {
	t.Helper()
	doc := fmt.Sprintf(`{"fixture_id":%q,"call":%q,"value":%s,"recording":{"model":%q,"prompt":%q,"prompt_sha256":%q,"recorded_at":"2026-01-01T00:00:00Z","max_age_days":0,"owner":"ada"}}`,
		fixtureID, call, value, model, prompt, strings.Repeat("0", 64))
	s, err := stub.Decode([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bound is an endpoint over a few recordings.
func bound(t failer) *modelserver.Endpoint {
	t.Helper()
	table := modelserver.NewTable()
	for _, s := range []*stub.Stub{
		recorded(t, "f-1", "kind", "small", "Is it a fact?\n", `"A fact – of course, and a long one."`),
		recorded(t, "f-2", "kind", "small", "Is it a fact?", `"A fact – of course, and a long one."`),
		recorded(t, "f-3", "kind", "small", "What is it?", `{"label":"fact"}`),
		recorded(t, "f-3", "again", "small", "Which?", `"this"`),
		recorded(t, "f-4", "kind", "small", "Which?", `"that"`),
		recorded(t, "f-5", "cold", "small", `{"messages":[{"role":"user","content":"Cold?"}],"temperature":0}`, `"yes"`),
		recorded(t, "f-6", "tool", "small", "Tool?", `{"tool_calls":[]}`),
		recorded(t, "f-7", "vector", "embed", `{"input":"a"}`, `[0.5,-1,1e-3]`),
		recorded(t, "f-8", "vectors", "embed", `{"input":["a","b"]}`, `[[0.5],[1]]`),
		recorded(t, "f-9", "vector", "embed", `{"input":"c"}`, `["0.5"]`),
	} {
		if err := table.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	e := modelserver.New()
	e.Bind(table)
	e.Cases(func(id uint64) (string, bool) { return fmt.Sprintf("f-%d", id), id < 10 })
	return e
}

func ask(e http.Handler, path, body, handle string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if handle != "" {
		r.Header.Set(modelserver.CaseHeader, handle)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func user(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text)
}

func content(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var out struct {
		Created int64
		Choices []struct {
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK || len(out.Choices) != 1 || out.Choices[0].FinishReason != "stop" || out.Created != 1767225600 {
		t.Fatalf("status %d, %s, %v", w.Code, w.Body, err)
	}
	return out.Choices[0].Message.Content
}

const (
	chat       = "/v1/chat/completions"
	embeddings = "/v1/embeddings"
)

// R19: a request is answered by what was recorded for it, and counts for every fixture that it can have been for.
func TestR19RecordedAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, body, handle, want string
		asked, notAsked          []string
	}{
		{"a string", user("small", "Is it a fact?"), "", "A fact – of course, and a long one.", []string{"f-1 kind", "f-2 kind"}, []string{"f-3 kind"}},
		{"for one of two fixtures", user("small", "Is it a fact?"), "2", "A fact – of course, and a long one.", []string{"f-2 kind"}, []string{"f-1 kind"}},
		{"another value as its text", user("small", "What is it?"), "", `{"label":"fact"}`, []string{"f-3 kind"}, []string{"f-3 again"}},
		{"one of two answers, by the case", user("small", "Which?"), "4", "that", []string{"f-4 kind"}, []string{"f-3 again"}},
		{"with its settings", strings.Replace(user("small", "Cold?"), "{", `{"temperature":0,`, 1), "", "yes", []string{"f-5 cold"}, nil},
		{"with settings that a text says nothing of", strings.Replace(user("small", "What is it?"), "{", `{"temperature":0,`, 1), "", `{"label":"fact"}`, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := bound(t)
			if e.AskedAny() {
				t.Error("something was asked before anything was")
			}
			w := ask(e, chat, tt.body, tt.handle)
			if got := content(t, w); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if again := ask(e, chat, tt.body, tt.handle); again.Body.String() != w.Body.String() {
				t.Errorf("asked again, it says %s", again.Body)
			}
			for want, list := range map[bool][]string{true: tt.asked, false: tt.notAsked} {
				for _, s := range list {
					fixtureID, call, _ := strings.Cut(s, " ")
					if e.Asked(fixtureID, call) != want {
						t.Errorf("%s was asked: %v", s, !want)
					}
				}
			}
			if refused, more := e.Refused(); len(refused)+more > 0 {
				t.Errorf("refused %q", refused)
			}
		})
	}
}

// R19: whatever is not recorded fails, in a form that clients show and do not try again, and is told to the run once.
func TestR19EverythingElseIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, handle string
		status                   int
		want                     string
	}{
		{"another prompt", chat, user("small", "Is it fact?"), "", 404, `nobody recorded it`},
		{"another model", chat, user("large", "Is it a fact?"), "", 404, `of the model "large"`},
		{"from which it was", chat, user("large", "Is it a fact?"), "", 404, `recorded from the model small`},
		{"two answers", chat, user("small", "Which?"), "", 422, "different answers, for f-3.again, f-4.kind"},
		{"of another fixture", chat, user("small", "Which?"), "1", 404, "for other fixtures, and not for this one"},
		{"a case that is over", chat, user("small", "Which?"), "99", 404, `"99", which is no case`},
		{"a case that is no number", chat, user("small", "Which?"), "f-3", 404, `"f-3", which is no case`},
		{"other settings", chat, user("small", "Cold?"), "", 404, `recorded with the settings {"temperature":0}, and asked with {}`},
		{"several choices", chat, strings.Replace(user("small", "Which?"), "{", `{"n":2,`, 1), "3", 400, "a recording has one"},
		{"probabilities", chat, strings.Replace(user("small", "Which?"), "{", `{"logprobs":true,`, 1), "3", 400, "logprobs"},
		{"calls of tools", chat, user("small", "Tool?"), "", 422, "tool_calls"},
		{"a model that is folded", chat, strings.Replace(user("large", "Is it a fact?"), "{", `{"Model":"small",`, 1), "", 404, `of the model "large"`},
		{"no model", chat, `{"messages":[{"role":"user","content":"Which?"}]}`, "", 400, "model: missing"},
		{"no messages", chat, `{"model":"small"}`, "", 400, "messages: missing"},
		{"no JSON", chat, `{`, "", 400, "chat:"},
		{"too many vectors", embeddings, `{"model":"embed","input":["a","c"]}`, "", 404, "nobody recorded it"},
		{"no vector", embeddings, `{"model":"embed","input":"c"}`, "", 422, "no array of numbers"},
		{"a chat as embeddings", embeddings, user("small", "Which?"), "", 400, "input: missing"},
		{"another encoding", embeddings, `{"model":"embed","input":"a","encoding_format":"int8"}`, "", 400, "none of float, base64"},
		{"another path", "/v1/responses", `{}`, "", 404, "POST /v1/responses"},
		{"control characters", "/v1/%1b[31m", `{}`, "", 404, "nothing else"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := bound(t)
			w := ask(e, tt.path, tt.body, tt.handle)
			var out struct {
				Error struct{ Message, Type, Code string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != tt.status || !strings.Contains(out.Error.Message, tt.want) || out.Error.Code == "" {
				t.Errorf("status %d, want %d: %s, want %q; %v", w.Code, tt.status, w.Body, tt.want, err)
			}
			if w.Header().Get("x-should-retry") != "false" || strings.ContainsAny(out.Error.Message, "\x1b\n") {
				t.Errorf("headers %v, message %q", w.Header(), out.Error.Message)
			}
			refused, _ := e.Refused()
			if len(refused) != 1 || "retrial: "+refused[0].Message != out.Error.Message {
				t.Errorf("the run is told %q", refused)
			}
			ask(e, tt.path, tt.body, tt.handle)
			if again, more := e.Refused(); len(again)+more != 0 {
				t.Errorf("the run is told again: %q", again)
			}
			if e.AskedAny() {
				t.Error("what was refused counts as asked for")
			}
		})
	}
}

// What is asked before a run has begun is refused, and told when it has.
func TestUnboundRefuses(t *testing.T) {
	e := modelserver.New()
	if w := ask(e, chat, user("small", "Which?"), ""); w.Code != 422 || !strings.Contains(w.Body.String(), "no run is under way") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if refused, _ := e.Refused(); len(refused) != 1 {
		t.Errorf("told %q", refused)
	}
}

// However much is refused, what is kept of it is bounded, and the rest is counted.
func TestRefusalsAreBounded(t *testing.T) {
	e := bound(t)
	for i := range 300 {
		ask(e, chat, user("small", fmt.Sprint(strings.Repeat("long ", 1000), i)), fmt.Sprint(i%10))
		ask(e, chat, user("small", fmt.Sprint(i, strings.Repeat("long ", 1000))), "")
	}
	list, more := e.Refused()
	if len(list)+more != 600 || len(list) != 100 {
		t.Errorf("%d are kept and %d counted", len(list), more)
	}
	for _, r := range list {
		if len(r.Message) > 800 {
			t.Fatalf("a message has %d bytes", len(r.Message))
		}
	}
}

func TestModels(t *testing.T) {
	w := httptest.NewRecorder()
	bound(t).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	if want := `{"data":[{"id":"embed","object":"model","created":0,"owned_by":"retrial"},{"id":"small","object":"model","created":0,"owned_by":"retrial"}],"object":"list"}`; w.Body.String() != want {
		t.Errorf("got %s", w.Body)
	}
}

func TestEmbeddings(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"embed","input":"a"}`:                              `"embedding":[0.5,-1,1e-3]`,
		`{"model":"embed","input":["a"],"encoding_format":"float"}`:  `"embedding":[0.5,-1,1e-3]`,
		`{"model":"embed","input":["a"],"encoding_format":"base64"}`: `"embedding":"AAAAPwAAgL9vEoM6"`,
		`{"model":"embed","input":["a","b"]}`:                        `"index":1,"embedding":[1]`,
	} {
		if w := ask(bound(t), embeddings, body, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
}

// A prompt that begins like a request and is none answers nothing, and is no silence either.
func TestTableRefusesWhatIsNoPrompt(t *testing.T) {
	if err := modelserver.NewTable().Add(recorded(t, "f", "c", "m", `{"messages":[]}`, `1`)); err == nil {
		t.Error("accepted")
	}
	table := modelserver.NewTable()
	s, err := stub.Decode([]byte(`{"fixture_id":"f","call":"c","value":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Add(s); err != nil || table.Len() != 0 {
		t.Errorf("a stub without a prompt: %d, %v", table.Len(), err)
	}
}

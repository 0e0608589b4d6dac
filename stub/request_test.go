package stub_test

import (
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

func key(t *testing.T, prompt string) stub.Request {
	t.Helper()
	r, err := stub.RequestKey([]byte(prompt))
	if err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	return r
}

const asked = `{"messages":[{"role":"user","content":"Is it a fact?"}]}`

// R19: what asks the same has one key, however it is written.
func TestSameRequestHasOneKey(t *testing.T) {
	for _, tt := range []struct{ name, a, b string }{
		{"a text is one message of the user", "Is it a fact?", asked},
		{"one line feed is the file's", "Is it a fact?\n", asked},
		{"a text that ends in one", "Is it a fact?\n\n", `{"messages":[{"role":"user","content":"Is it a fact?\n"}]}`},
		{"order of keys, white space", asked, "{ \"messages\": [ {\"content\":\"Is it a fact?\", \"role\":\"user\"} ] }\n"},
		{"an escape", asked, `{"messages":[{"role":"user","content":"Is it a f\u0061ct?"}]}`},
		{"one part of text", asked, `{"messages":[{"role":"user","content":[{"type":"text","text":"Is it a fact?"}]}]}`},
		{"how the answer comes, and who asks", asked, strings.Replace(asked, "{", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"user":"ada",`, 1)},
		{"an array of one input", `{"input":"a"}`, `{"input":["a"],"encoding_format":"base64"}`},
		{"JSON that is no request is a text", `{"role":"user"}`, `{"messages":[{"role":"user","content":"{\"role\":\"user\"}"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := key(t, tt.a), key(t, tt.b); a.Key != b.Key || a.Kind != b.Kind {
				t.Errorf("%s and %s are not the same", a.Excerpt, b.Excerpt)
			}
		})
	}
}

func TestOtherRequestsHaveOtherKeys(t *testing.T) {
	all := []string{
		asked, "is it a fact?", " Is it a fact?", "Is it a fact?\n\n", "Is it a fact?\r\n",
		`{"messages":[{"role":"system","content":"Is it a fact?"}]}`,
		`{"messages":[{"role":"user","content":"Is it a fact?","name":"ada"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"Is it "},{"type":"text","text":"a fact?"}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"Is it a fact?","cache_control":1}]}]}`,
		`{"messages":[{"role":"user","content":"Is it a fact?"},{"role":"user","content":"Is it a fact?"}]}`,
		`{"input":"Is it a fact?"}`, `{"input":["Is it a fact?","b"]}`, `{"input":[1]}`, `{"input":[1.0]}`, `{"input":[[1]]}`,
	}
	seen := map[string]string{}
	for _, prompt := range all {
		r := key(t, prompt)
		if before, ok := seen[r.Kind+r.Key]; ok {
			t.Errorf("%q has the key of %q", prompt, before)
		}
		seen[r.Kind+r.Key] = prompt
	}
}

// The other members of a request are its settings. A text says nothing of them.
func TestSettings(t *testing.T) {
	if s := key(t, "Is it a fact?").Settings; s != nil {
		t.Errorf("a text has the settings %s", s)
	}
	for prompt, want := range map[string]string{
		asked: `{}`,
		`{"messages":[1],"temperature":0.0,"tools":null,"model":"m","response_format":{"type":"json_object","a":1}}`: `{"response_format":{"a":1,"type":"json_object"},"temperature":0.0}`,
		`{"input":"a","dimensions":256}`: `{"dimensions":256}`,
	} {
		if got := string(key(t, prompt).Settings); got != want {
			t.Errorf("%s has the settings %s, want %s", prompt, got, want)
		}
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	for _, prompt := range []string{
		`{"messages":[],"x":1}`, `{"messages":"a"}`, `{"input":""}`, `{"input":[]}`, `{"input":{}}`, `{"input":"a","messages":[1]}`,
		"{\"messages\": [1],}\n", " {\"input\": ", // meant as a request, and no JSON
		`{"model":"m","prompt":"Once"}`, `{"model":"m","input":"a","instructions":"b"}`, `{"input":[{"role":"user","content":"a"}]}`,
	} {
		if r, err := stub.RequestKey([]byte(prompt)); err == nil {
			t.Errorf("%s is %+v", prompt, r)
		}
	}
	for _, body := range []string{``, `[]`, `{"input":"a"}`, `{"messages":[1]`} {
		if r, err := stub.ReadRequest(stub.Chat, []byte(body)); err == nil {
			t.Errorf("%s is %+v", body, r)
		}
	}
}

func TestInputs(t *testing.T) {
	for prompt, want := range map[string]int{asked: 1, `{"input":"a"}`: 1, `{"input":["a","b"]}`: 2, `{"input":[1,2,3]}`: 1, `{"input":[[1],[2,3]]}`: 2} {
		if got := key(t, prompt).Inputs(); got != want {
			t.Errorf("%s asks for %d, want %d", prompt, got, want)
		}
	}
}

// Whatever a client sends is a request or an error, and what is a request is one by its canonical form too.
func FuzzReadRequest(f *testing.F) {
	for _, seed := range []string{asked, `{"input":["a"]}`, `{"messages":[{"content":[{"type":"text","text":"a"}]},1,null],"n":1}`, `{"messages":[{}]}`, `{"input":[[1,2],[3]]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = stub.RequestKey(body) // reads anything
		for _, kind := range []string{stub.Chat, stub.Embeddings} {
			r, err := stub.ReadRequest(kind, body)
			if err != nil {
				continue
			}
			for _, doc := range [][]byte{r.Excerpt, r.Settings} {
				if again, err := fixture.Canonicalize(nil, doc); err != nil || string(again) != string(doc) {
					t.Fatalf("%q is not canonical: %v", doc, err)
				}
			}
			name := map[string]string{stub.Chat: "messages", stub.Embeddings: "input"}[kind]
			again, err := stub.ReadRequest(kind, []byte(`{"`+name+`":`+string(r.Excerpt)+`}`))
			if err != nil || again.Key != r.Key {
				t.Fatalf("%q becomes %q, %v", r.Excerpt, again.Excerpt, err)
			}
			if r.Inputs() < 1 {
				t.Fatalf("%q asks for %d", r.Excerpt, r.Inputs())
			}
		}
	})
}

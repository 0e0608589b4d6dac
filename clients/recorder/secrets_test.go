package recorder_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/recorder"
)

// The key that a server or a proxy sends back, in whatever form, stands in no error and in no attempt of the log; an answer that
// has it is not kept.
func TestKeyIsEchoed(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte(":" + key))
	for name, next := range map[string]turn{
		"as a message":         fails(401, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`),
		"as a header":          func(w http.ResponseWriter, r *http.Request) { fails(403, "you sent "+fmt.Sprint(r.Header))(w, r) },
		"as basic credentials": fails(407, "Proxy-Authorization: Basic "+basic),
		"at the bound":         fails(400, strings.Repeat("x", 290)+key),
		"in a status line": func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			fmt.Fprintf(buf, "HTTP/1.1 418 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", key)
			_ = buf.Flush()
			_ = conn.Close()
		},
		"as an answer":         says("my key is " + key),
		"as the model's name":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"model":%q,"choices":[]}`, key) },
		"with other bad words": fails(400, "for ada@gmx.de, "+key),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, next)
			answer, err := b.Ask(t.Context(), question, 1)
			if err == nil {
				t.Fatalf("there is an answer: %s", answer.Value)
			}
			if b.header.Get("Authorization") != "Bearer "+key {
				t.Errorf("the key was not sent: %v", b.header)
			}
			lines, jsonErr := json.Marshal(b.attempts)
			said := fmt.Sprintf("%v %+v %#v %s %s %v %v %+v %#v", err, err, err, lines, answer.Value, jsonErr, b.Model, b.Secrets, b.Secrets)
			for _, bad := range []string{key, key[:12], basic, "ada@gmx.de"} {
				if strings.Contains(said, bad) {
					t.Errorf("%q stands in %s", bad, said)
				}
			}
		})
	}
}

func TestEndpointRefuses(t *testing.T) {
	for _, tt := range []struct{ base, key, want string }{
		{"https://api.example.com/v1", "k", ""},
		{"http://127.0.0.1:8080/v1", "k", ""},
		{"http://localhost/v1", "k", ""},
		{"http://models.example.com/v1", "", ""},
		{"http://models.example.com/v1", "k", "not encrypted"},
		{"https://user:password@api.example.com/v1", "k", "a user"},
		{"https://api.example.com/v1?key=password", "k", "a query"},
		{"api.example.com", "k", "no URL"},
		{"ftp://api.example.com", "k", "no URL"},
		{"https://%zzpassword/", "k", "no URL"},
		{"https://api.example.com/v1", "pass\nword", "a line feed"},
	} {
		_, err := recorder.NewEndpoint(tt.base, tt.key)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.base, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "pass"):
			t.Errorf("%s: %v", tt.base, err)
		}
	}
}

// A prompt's file goes out as it is; a text is one message. What would be recorded as something else than was meant is refused.
func TestRequests(t *testing.T) {
	embedding := func(data string) turn {
		return func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"model":"e","data":%s,"usage":{"prompt_tokens":7}}`, data)
		}
	}
	for _, tt := range []struct {
		name, prompt string
		next         turn
		body, want   string
	}{
		{"text", "Say \"yes\"\n", says("yes"), `/v1/chat/completions {"model":"small-1","messages":[{"content":"Say \"yes\"","role":"user"}]}`, `"yes"`},
		{"a document that is no request", `{"x":1}`, says("yes"), `/v1/chat/completions {"model":"small-1","messages":[{"content":"{\"x\":1}","role":"user"}]}`, `"yes"`},
		{"a request", `{"messages":[{"role":"user","content":"x"}],"temperature":0.10,"top_k":1}`, says("yes"), `/v1/chat/completions {"model":"small-1","messages":[{"content":"x","role":"user"}],"temperature":0.10,"top_k":1}`, `"yes"`},
		{"a request that names the model", `{"messages":[1],"model":"small-1"}`, says("yes"), `/v1/chat/completions {"messages":[1],"model":"small-1"}`, `"yes"`},
		{"a request for JSON", `{"messages":[1],"response_format":{"type":"json_object"}}`, says(` {"b":1, "a":1.10} `), `/v1/chat/completions {"model":"small-1","messages":[1],"response_format":{"type":"json_object"}}`, `{"a":1.10,"b":1}`},
		{"an embedding", `{"input":"x"}`, embedding(`[{"index":0,"embedding":[0.10,-2e-3]}]`), `/v1/embeddings {"model":"small-1","input":"x"}`, `[0.10,-2e-3]`},
		{"embeddings", `{"input":["x","y"]}`, embedding(`[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]`), `/v1/embeddings {"model":"small-1","input":["x","y"]}`, `[[1],[2]]`},
		{"an embedding that is a text", `{"input":"x"}`, embedding(`[{"index":0,"embedding":"AAAA"}]`), `/v1/embeddings {"model":"small-1","input":"x"}`, "no array of numbers"},
		{"another model", `{"messages":[1],"model":"large"}`, nil, "", `names the model "large", the recording "small-1"`},
		{"a stream", `{"messages":[1],"stream":true}`, nil, "", "asks for a stream"},
		{"several answers", `{"messages":[1],"n":2}`, nil, "", "--repeat"},
		{"base64", `{"input":"x","encoding_format":"base64"}`, nil, "", "encoding_format"},
		{"a request with a slip", `{"messages":[{"role":"user"}],}`, nil, "", "looks like a request, and is no JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var turns []turn
			if tt.next != nil {
				turns = []turn{tt.next}
			}
			b := newBench(t, turns...)
			q := question
			q.Prompt = []byte(tt.prompt)
			answer, err := b.Ask(t.Context(), q, 1)
			got := string(answer.Value)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if body := strings.Join(b.bodies, ""); body != tt.body {
				t.Errorf("sent %s\nwant %s", body, tt.body)
			}
		})
	}
}

// A key that was pasted with a line feed behind it is sent without, and hidden without.
func TestPastedKeyIsHidden(t *testing.T) {
	s := recorder.NewSecrets("tok3n-abcdefghij\n")
	for _, said := range []string{"bad key tok3n-abcdefghij.", "Basic " + base64.StdEncoding.EncodeToString([]byte(":tok3n-abcdefghij"))} {
		if !s.In(said) || strings.Contains(s.Hide(said), "tok3n") {
			t.Errorf("%q is told as %q", said, s.Hide(said))
		}
	}
}

package modelserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pieces reads server-sent events, and gives the pieces of the answer and how many events had a usage.
func pieces(t interface{ Fatalf(string, ...any) }, body string) (out []string, usages int, finish []string) {
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	if events[len(events)-1] != "data: [DONE]" {
		t.Fatalf("it ends with %q", events[len(events)-1])
	}
	for _, event := range events[:len(events)-1] {
		var chunk struct {
			Object  string
			Usage   *struct{ TotalTokens int }
			Choices []struct {
				Delta        struct{ Role, Content string }
				FinishReason string `json:"finish_reason"`
			}
		}
		text, ok := strings.CutPrefix(event, "data: ")
		if err := json.Unmarshal([]byte(text), &chunk); !ok || err != nil || chunk.Object != "chat.completion.chunk" {
			t.Fatalf("event %q: %v", event, err)
		}
		if chunk.Usage != nil {
			usages++
		}
		for _, c := range chunk.Choices {
			if c.Delta.Content != "" {
				out = append(out, c.Delta.Content)
			}
			if c.FinishReason != "" {
				finish = append(finish, c.FinishReason)
			}
		}
	}
	return out, usages, finish
}

// A streamed answer comes in pieces, and together they are the answer.
func TestStream(t *testing.T) {
	for options, want := range map[string]int{``: 0, `,"stream_options":{"include_usage":true}`: 1} {
		body := strings.Replace(user("small", "Is it a fact?"), "{", `{"stream":true`+options+`,`, 1)
		w := ask(bound(t), chat, body, "")
		got, usages, finish := pieces(t, w.Body.String())
		if strings.Join(got, "") != "A fact – of course, and a long one." || len(got) < 2 || usages != want || len(finish) != 1 || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("got %q, %d usages, finish %q, %v", got, usages, finish, w.Header())
		}
		for _, p := range got {
			if !utf8.ValidString(p) {
				t.Errorf("a piece is cut within a character: %q", p)
			}
		}
	}
}

// Whatever is asked is answered by a recorded value, or refused: there is nothing between.
func TestAnswersOrRefuses(t *testing.T) {
	known := []string{"A fact – of course, and a long one.", `{"label":"fact"}`, "this", "that", "yes"}
	rapid.Check(t, func(t *rapid.T) {
		e := bound(t)
		model := rapid.SampledFrom([]string{"small", "large", "embed", ""}).Draw(t, "model")
		text := rapid.SampledFrom([]string{"Is it a fact?", "What is it?", "Which?", "Cold?", "Tool?", "a", "c", "x"}).Draw(t, "text")
		extra := rapid.SampledFrom([]string{``, `"temperature":0,`, `"stream":true,`, `"n":2,`, `"tools":[],`, `"stream":1,`}).Draw(t, "extra")
		handle := rapid.SampledFrom([]string{"", "1", "2", "3", "4", "5", "99", "x"}).Draw(t, "case")
		w := ask(e, chat, strings.Replace(user(model, text), "{", "{"+extra, 1), handle)
		refused, more := e.Refused()
		if w.Code != http.StatusOK {
			if len(refused)+more == 0 || e.AskedAny() || w.Code < 400 || w.Code >= 500 || w.Code == 408 || w.Code == 409 || w.Code == 429 {
				t.Fatalf("status %d, told %q", w.Code, refused)
			}
			return
		}
		var got string
		if extra == `"stream":true,` {
			all, _, _ := pieces(t, w.Body.String())
			got = strings.Join(all, "")
		} else {
			var out struct {
				Choices []struct{ Message struct{ Content string } }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
				t.Fatal(err)
			}
			got = out.Choices[0].Message.Content
		}
		if !slices.Contains(known, got) || len(refused) > 0 || !e.AskedAny() || model != "small" {
			t.Fatalf("answered %q, told %q", got, refused)
		}
	})
}

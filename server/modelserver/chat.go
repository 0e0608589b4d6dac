package modelserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// completion is an answer of a chat, or a part of one that is streamed.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *message `json:"message,omitempty"`
	Delta        *delta   `json:"delta,omitempty"`
	Logprobs     any      `json:"logprobs"`
	FinishReason *string  `json:"finish_reason"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Refusal any    `json:"refusal"`
}

type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// usage is zero: what a recording costs is nothing.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// contentOf gives what the assistant says: a string itself, any other value as its canonical text. Calls of tools are no text, and
// whoever asked would not find them there.
func contentOf(value string) (string, error) {
	if _, ok := fixture.Lookup([]byte(value), "tool_calls"); ok {
		return "", errors.New("the recording has tool_calls, which this endpoint does not give")
	}
	var text string
	if json.Unmarshal([]byte(value), &text) == nil && value[0] == '"' {
		return text, nil
	}
	return value, nil
}

func (c call) chat(r Recording) (func(http.ResponseWriter), error) {
	content, err := contentOf(r.Value)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(c.Key + "\x00" + r.Model + "\x00" + r.Value))
	out := completion{ID: "chatcmpl-" + hex.EncodeToString(sum[:12]), Created: r.RecordedAt.Unix(), Model: r.Model}
	if c.stream {
		return func(w http.ResponseWriter) { c.writeStream(w, out, content) }, nil
	}
	stop := "stop"
	out.Object, out.Usage = "chat.completion", &usage{}
	out.Choices = []choice{{Message: &message{Role: "assistant", Content: content}, FinishReason: &stop}}
	return func(w http.ResponseWriter) { writeJSON(w, out) }, nil
}

// maxPiece is how much of an answer one event has, in bytes, before the character that goes over it: a client that puts an answer
// together has something to put together.
const maxPiece = 16

// writeStream writes an answer as server-sent events.
func (c call) writeStream(w http.ResponseWriter, out completion, content string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	event := func(b []byte) {
		_, _ = w.Write(append(append([]byte("data: "), b...), "\n\n"...)) // whoever asked may be gone
		_ = flush()
	}
	out.Object = "chat.completion.chunk"
	chunk := func(choices ...choice) {
		if out.Choices = choices; choices == nil {
			out.Choices = []choice{}
		}
		if b, err := json.Marshal(out); err == nil { // of strings and numbers, which always can be
			event(b)
		}
	}
	empty := ""
	chunk(choice{Delta: &delta{Role: "assistant", Content: &empty}})
	for from := 0; from < len(content); {
		to := from
		for _, r := range content[from:] {
			if to += len(string(r)); to-from >= maxPiece {
				break
			}
		}
		piece := content[from:to]
		chunk(choice{Delta: &delta{Content: &piece}})
		from = to
	}
	stop := "stop"
	chunk(choice{Delta: &delta{}, FinishReason: &stop})
	if c.includeUsage {
		out.Usage = &usage{}
		chunk()
	}
	event([]byte("[DONE]"))
}

func writeJSON(w http.ResponseWriter, v any) {
	if b, err := json.Marshal(v); err == nil { // of strings and numbers, which always can be
		writeBody(w, http.StatusOK, b)
	}
}

// writeModels lists the models that something was recorded from.
func writeModels(w http.ResponseWriter, models []string) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := []model{}
	for _, id := range models {
		list = append(list, model{ID: id, Object: "model", OwnedBy: "retrial"})
	}
	writeJSON(w, map[string]any{"object": "list", "data": list})
}

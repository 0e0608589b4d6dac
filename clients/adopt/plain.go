package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/stub"
)

// plain reads a JSON file: the answer to the prompt that lies beside it, or else one object, or a list of them, with prompt and answer.
func (r *reader) plain(file string, doc any, made time.Time) {
	for _, extension := range promptExtensions {
		beside := strings.TrimSuffix(file, path.Ext(file)) + extension
		src, _, err := r.load(beside)
		if err != nil {
			continue
		}
		if len(src) == 0 {
			r.skip(file, 0, "its prompt %s is empty", beside)
			return
		}
		r.add(Pair{File: file, Prompt: string(src), Extension: extension}, doc, made)
		return
	}
	list, many := doc.([]any)
	if !many {
		r.object(file, 0, doc, made)
		return
	}
	for i, one := range list {
		r.object(file, i+1, one, made)
	}
}

// object reads {"prompt" or "messages": …, "response", "output" or "answer": …}, with the model and the instant where they are there.
func (r *reader) object(file string, position int, doc any, made time.Time) {
	ask, value := first(doc, "prompt", "messages"), first(doc, "response", "output", "answer")
	if ask == nil || value == nil {
		r.skip(file, position, "no prompt beside it, and no prompt with its answer in it")
		return
	}
	if err := recorder.Unfit(text(first(doc, "finish_reason", "finishReason")), text(at(doc, "refusal")) != "" || at(doc, "refusal") == true); err != nil {
		r.skip(file, position, "%v", err)
		return
	}
	p := Pair{File: file, Position: position, Extension: ".md", Model: text(at(doc, "model")), Vars: vars(doc)}
	var err error
	if p.RecordedAt, err = dated(at(doc, "recorded_at"), at(doc, "timestamp"), at(doc, "created_at"), at(doc, "created")); err != nil {
		r.skip(file, position, "%v", err)
		return
	}
	if p.Prompt, p.Extension, err = asked(ask); err != nil {
		r.skip(file, position, "%v", err)
		return
	}
	r.add(p, value, made)
}

// asked gives a prompt as its file has it: a text with the line feed that the file's reader takes off, where it ends in one; a list as
// the messages of a request; a request as it is.
func asked(prompt any) (string, string, error) {
	if s, ok := prompt.(string); ok {
		if strings.HasSuffix(s, "\n") {
			s += "\n"
		}
		return s, ".md", nil
	}
	if list, ok := prompt.([]any); ok {
		prompt = map[string]any{"messages": list}
	}
	src, err := json.Marshal(prompt)
	if err != nil {
		return "", "", err
	}
	b, err := setdir.Text(src)
	if err != nil {
		return "", "", fmt.Errorf("its prompt is no document: %w", err)
	}
	if p, err := stub.ReadPrompt(b); err == nil && p.Settings == nil {
		return "", "", errors.New("its prompt is neither a text nor a request")
	}
	return string(b), ".json", nil
}

// vars gives the members that are plain text or numbers.
func vars(doc any) map[string]string {
	m, _ := doc.(map[string]any)
	out := map[string]string{}
	for k, v := range m {
		switch v := v.(type) {
		case string:
			out[k] = v
		case json.Number:
			out[k] = v.String()
		}
	}
	return out
}

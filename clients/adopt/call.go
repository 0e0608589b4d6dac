package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/stub"
)

// calls are the calls of an OpenAI-compatible endpoint that can be asked again, by the last part of their path, with the member of the
// request that asks.
var calls = map[string]string{"chat": "messages", "embeddings": "input"}

// others are calls that a prompt's file has no form for: recorded anew they would be another question.
var others = map[string]string{
	"completions": "a call of completions without messages",
	"responses":   "a call of the Responses API",
	"response":    "a call of the Responses API",
}

// modelCall reads a call from the bodies of request and response, the answer as the recorder reads it. created is when the endpoint says
// that it answered.
func modelCall(kind string, req, res []byte) (p Pair, value, created any, err error) {
	ask, err := decodeJSON(req)
	if err != nil {
		return p, nil, nil, fmt.Errorf("the body of the request: %w", err)
	}
	if at(ask, calls[kind]) == nil {
		return p, nil, nil, fmt.Errorf("the request has no %s", calls[kind])
	}
	members, _ := ask.(map[string]any)
	delete(members, "stream") // how the answer was carried is no part of what was asked
	delete(members, "stream_options")
	if p.Prompt, p.Extension, err = asked(members); err != nil {
		return p, nil, nil, fmt.Errorf("the body of the request: %w", err)
	}
	prompt, err := stub.ReadPrompt([]byte(p.Prompt))
	if err != nil {
		return p, nil, nil, fmt.Errorf("the body of the request: %w", err)
	}
	if res, err = whole(res); err != nil {
		return p, nil, nil, err
	}
	answer, err := recorder.ReadResponse(recorder.FormOf(prompt), res)
	if err != nil {
		return p, nil, nil, err
	}
	if p.Model = text(at(ask, "model")); p.Model == "" {
		p.Model = answer.Model
	}
	var dated struct {
		Created any `json:"created"`
	}
	d := json.NewDecoder(bytes.NewReader(res))
	d.UseNumber()
	if err := d.Decode(&dated); err != nil {
		return p, nil, nil, fmt.Errorf("the body of the response: %w", err)
	}
	return p, json.RawMessage(answer.Value), dated.Created, nil
}

// completion is the response that the events of a stream are parts of.
type completion struct {
	Model   string    `json:"model,omitempty"`
	Created any       `json:"created,omitempty"`
	Choices [1]choice `json:"choices"`

	content, refusal strings.Builder // of Choices, so far
}

type choice struct {
	FinishReason string `json:"finish_reason,omitempty"`
	Message      struct {
		Content string `json:"content"`
		Refusal string `json:"refusal,omitempty"`
	} `json:"message"`
}

// whole gives a response as it is, and one that was streamed as that which its events are parts of. A stream that does not say that it
// is complete was cut, and is none.
func whole(src []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(src)
	if !bytes.HasPrefix(trimmed, []byte("data:")) && !bytes.HasPrefix(trimmed, []byte("event:")) && !bytes.HasPrefix(trimmed, []byte(":")) {
		return src, nil
	}
	var out completion
	ended := false
	for line := range strings.Lines(string(trimmed)) {
		data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:")
		data = strings.TrimSpace(data)
		switch {
		case !ok || data == "":
		case data == "[DONE]":
			ended = true
		default:
			event, err := decodeJSON([]byte(data))
			if err == nil {
				err = out.add(event)
			}
			if err != nil {
				return nil, fmt.Errorf("an event of the response: %w", err)
			}
		}
	}
	if !ended {
		return nil, errors.New("the stream of the answer was cut")
	}
	out.Choices[0].Message.Content, out.Choices[0].Message.Refusal = out.content.String(), out.refusal.String()
	return json.Marshal(&out)
}

// add adds an event. Of the reasons to finish the last holds.
func (c *completion) add(event any) error {
	list, _ := at(event, "choices").([]any)
	for _, one := range list {
		if index, ok := at(one, "index").(json.Number); len(list) > 1 || ok && index != "0" {
			return errors.New("it is of one of several answers, want 1")
		}
		c.content.WriteString(text(at(one, "delta", "content")))
		c.refusal.WriteString(text(at(one, "delta", "refusal")))
		if reason := text(at(one, "finish_reason")); reason != "" {
			c.Choices[0].FinishReason = reason
		}
	}
	if at(event, "error") != nil {
		return errors.New("it is an error")
	}
	if c.Model == "" {
		c.Model = text(at(event, "model"))
	}
	if c.Created == nil {
		c.Created = at(event, "created")
	}
	return nil
}

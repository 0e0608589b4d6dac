package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// call says how one kind of call is read: which member of the request asks, where the request says that it wants JSON, and how the
// answer is found in a response, and in the events of a stream.
type call struct {
	asks   string
	format []string
	answer func(res any) (any, error)
	delta  func(event any) string
}

// calls are the calls of an OpenAI-compatible endpoint that can be asked again, by the last part of their path.
var calls = map[string]*call{
	"chat":       {"messages", []string{"response_format", "type"}, chatAnswer, func(e any) string { return text(at(one(at(e, "choices")), "delta", "content")) }},
	"embeddings": {"input", nil, embeddings, nil},
}

// others are calls that a prompt's file has no form for: recorded anew they would be another question.
var others = map[string]string{
	"completions": "a call of completions without messages",
	"responses":   "a call of the Responses API",
	"response":    "a call of the Responses API",
}

// modelCall reads a call from the bodies of request and response. created is when the endpoint says that it answered.
func modelCall(kind string, req, res []byte) (p Pair, value, created any, err error) {
	c := calls[kind]
	ask, err := decodeJSON(req)
	if err != nil {
		return p, nil, nil, fmt.Errorf("the body of the request: %w", err)
	}
	if at(ask, c.asks) == nil {
		return p, nil, nil, fmt.Errorf("the request has no %s", c.asks)
	}
	answer, model, created, err := c.read(res)
	if err != nil {
		return p, nil, nil, err
	}
	format := text(at(ask, c.format...))
	if c.format != nil && strings.HasPrefix(format, "json") {
		if answer, err = decodeJSON([]byte(text(answer))); err != nil {
			return p, nil, nil, fmt.Errorf("it was asked for JSON, and answered with %w", err)
		}
	}
	members, _ := ask.(map[string]any)
	delete(members, "stream") // how the answer was carried is no part of what was asked
	delete(members, "stream_options")
	if p.Prompt, p.Extension, err = asked(members); err != nil {
		return p, nil, nil, fmt.Errorf("the body of the request: %w", err)
	}
	if p.Model = text(at(ask, "model")); p.Model == "" {
		p.Model = model
	}
	return p, answer, created, nil
}

// read finds the answer in a response, or in the events of one that was streamed.
func (c *call) read(src []byte) (answer any, model string, created any, err error) {
	trimmed := bytes.TrimSpace(src)
	if c.delta != nil && (bytes.HasPrefix(trimmed, []byte("data:")) || bytes.HasPrefix(trimmed, []byte("event:")) || bytes.HasPrefix(trimmed, []byte(":"))) {
		return c.stream(trimmed)
	}
	res, err := decodeJSON(src)
	if err != nil {
		return nil, "", nil, fmt.Errorf("the body of the response: %w", err)
	}
	if answer, err = c.answer(res); err != nil {
		return nil, "", nil, err
	}
	return answer, text(at(res, "model")), at(res, "created"), nil
}

// stream joins the events of a stream. One that does not say that it is complete was cut, and is no answer.
func (c *call) stream(src []byte) (answer any, model string, created any, err error) {
	var whole strings.Builder
	ended := false
	for line := range strings.Lines(string(src)) {
		data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:")
		data = strings.TrimSpace(data)
		if !ok || data == "" {
			continue
		}
		if data == "[DONE]" {
			ended = true
			continue
		}
		event, err := decodeJSON([]byte(data))
		if err != nil {
			return nil, "", nil, fmt.Errorf("an event of the response: %w", err)
		}
		if list, ok := at(event, "choices").([]any); ok && len(list) > 1 {
			return nil, "", nil, errSeveral
		}
		if at(event, "error") != nil {
			return nil, "", nil, errors.New("the stream ended with an error")
		}
		whole.WriteString(c.delta(event))
		if model == "" {
			model = text(at(event, "model"))
		}
		if created == nil {
			created = at(event, "created")
		}
	}
	switch {
	case !ended:
		return nil, "", nil, errors.New("the stream of the answer was cut")
	case whole.Len() == 0:
		return nil, "", nil, errContent
	}
	return whole.String(), model, created, nil
}

var (
	errSeveral = errors.New("there are several answers in it, and a stub has one")
	errContent = errors.New("the answer has no text: it calls tools, refuses, or is empty")
)

// one gives the only element of a list, or nil.
func one(v any) any {
	if list, ok := v.([]any); ok && len(list) == 1 {
		return list[0]
	}
	return nil
}

func ofChoice(res any, path ...string) (any, error) {
	list, _ := at(res, "choices").([]any)
	if len(list) > 1 {
		return nil, errSeveral
	}
	if s := text(at(one(at(res, "choices")), path...)); s != "" {
		return s, nil
	}
	return nil, errContent
}

func chatAnswer(res any) (any, error) { return ofChoice(res, "message", "content") }

// embeddings gives the vectors in their order.
func embeddings(res any) (any, error) {
	data, _ := at(res, "data").([]any)
	var out []any
	for _, item := range data {
		v := at(item, "embedding")
		if v == nil {
			return nil, errors.New("an embedding is missing in the answer")
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no embedding in the answer")
	}
	return out, nil
}

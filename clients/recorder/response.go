package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// response is what an OpenAI-compatible endpoint answers. Members that nothing is made of are not there.
type response struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content *string `json:"content"`
			Refusal string  `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Data []struct {
		Index     int             `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Usage struct {
		PromptTokens     uint64 `json:"prompt_tokens"`
		CompletionTokens uint64 `json:"completion_tokens"`
	} `json:"usage"`
}

// answerOf makes an answer of a response's body. A body that is no response was cut or is somebody else's, and worth another attempt;
// what a model said is not.
func answerOf(r request, body []byte) (Answer, error) {
	var in response
	if err := json.Unmarshal(body, &in); err != nil {
		return Answer{}, &Failure{Temporary: true, Err: fmt.Errorf("what came is no response of such an endpoint, or was cut: %w", err)}
	}
	out := Answer{Model: in.Model, InputTokens: in.Usage.PromptTokens, OutputTokens: in.Usage.CompletionTokens}
	var err error
	if r.path == embeddingsPath {
		out.Value, err = in.embedding()
	} else {
		out.Value, err = in.content(r.document)
	}
	if err != nil {
		err = final("%w", err)
	}
	return out, err
}

// content gives what the model said, as JSON.
func (in *response) content(document bool) ([]byte, error) {
	if len(in.Choices) != 1 {
		return nil, fmt.Errorf("the response has %d answers, want 1", len(in.Choices))
	}
	c := in.Choices[0]
	switch {
	case c.Message.Refusal != "":
		return nil, errors.New("the model refused to answer")
	case c.FinishReason == "length":
		return nil, errors.New("the answer was cut at the model's limit of tokens: raise it in the prompt")
	case c.FinishReason == "content_filter":
		return nil, errors.New("a filter of the endpoint took away the answer, or a part of it")
	case c.Message.Content == nil:
		return nil, errors.New("the answer has no content, such as one that calls a tool: there is nothing to record")
	case !document:
		return fixture.AppendString(nil, *c.Message.Content), nil
	}
	value := []byte(*c.Message.Content)
	if !json.Valid(value) {
		return nil, errors.New("the answer was to be JSON, and is none")
	}
	return value, nil
}

// embedding gives the numbers of one input as an array, of several as an array of arrays.
func (in *response) embedding() ([]byte, error) {
	all := make([][]byte, len(in.Data))
	for _, d := range in.Data {
		if d.Index < 0 || d.Index >= len(all) || all[d.Index] != nil || len(d.Embedding) == 0 || d.Embedding[0] != '[' {
			return nil, errors.New("the response has no array of numbers for each input")
		}
		all[d.Index] = d.Embedding
	}
	switch len(all) {
	case 0:
		return nil, errors.New("the response has no embedding")
	case 1:
		return all[0], nil
	}
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']'), nil
}

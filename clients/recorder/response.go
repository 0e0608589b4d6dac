package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
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

// Form says in what form an answer comes, by what was asked.
type Form struct {
	// Inputs counts what embeddings were asked for; 0 for a chat.
	Inputs int
	// Document says that the content of a chat's answer is to be JSON, and not text.
	Document bool
}

// FormOf gives the form of the answer to a prompt.
func FormOf(p stub.Prompt) Form {
	if p.Kind == stub.Embeddings {
		return Form{Inputs: p.Inputs()}
	}
	kind, _ := fixture.Lookup(p.Body, "response_format", "type")
	return Form{Document: string(kind) == `"json_schema"` || string(kind) == `"json_object"`}
}

// ReadResponse makes an answer of the body of an endpoint's response: the one reader of answers that are recorded, and of those that
// others have recorded. What was cut, refused or filtered is no answer, nor is one that calls a tool.
//
// A body that is no response was cut or is somebody else's, and worth another attempt; what a model said is not.
func ReadResponse(f Form, body []byte) (Answer, error) {
	var in response
	if err := json.Unmarshal(body, &in); err != nil {
		return Answer{}, &Failure{Temporary: true, Err: fmt.Errorf("what came is no response of such an endpoint, or was cut: %w", err)}
	}
	out := Answer{Model: in.Model, InputTokens: in.Usage.PromptTokens, OutputTokens: in.Usage.CompletionTokens}
	var err error
	if f.Inputs > 0 {
		out.Value, err = in.embedding(f.Inputs)
	} else {
		out.Value, err = in.content(f.Document)
	}
	if err != nil {
		err = final("%w", err)
	}
	return out, err
}

// Unfit says why what a model said is no answer, by how it ended.
func Unfit(finishReason string, refused bool) error {
	switch {
	case refused:
		return errors.New("the model refused to answer")
	case finishReason == "length":
		return errors.New("the answer was cut at the model's limit of tokens: raise it in the prompt")
	case finishReason == "content_filter":
		return errors.New("a filter of the endpoint took away the answer, or a part of it")
	case finishReason == "tool_calls" || finishReason == "function_call":
		return errors.New("the answer calls a tool: there is nothing to record")
	}
	return nil
}

// content gives what the model said, as JSON.
func (in *response) content(document bool) ([]byte, error) {
	if len(in.Choices) != 1 {
		return nil, fmt.Errorf("the response has %d answers, want 1", len(in.Choices))
	}
	c := in.Choices[0]
	if err := Unfit(c.FinishReason, c.Message.Refusal != ""); err != nil {
		return nil, err
	}
	switch {
	case c.Message.Content == nil || *c.Message.Content == "":
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
func (in *response) embedding(inputs int) ([]byte, error) {
	if len(in.Data) != inputs {
		return nil, fmt.Errorf("the response has %d embeddings for %d inputs", len(in.Data), inputs)
	}
	all := make([][]byte, inputs)
	for _, d := range in.Data {
		if d.Index < 0 || d.Index >= inputs || all[d.Index] != nil || !numbers(d.Embedding) {
			return nil, errors.New("the response has no array of numbers for each input")
		}
		all[d.Index] = d.Embedding
	}
	if inputs == 1 {
		return all[0], nil
	}
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']'), nil
}

func numbers(array []byte) bool {
	var list []*float64
	return json.Unmarshal(array, &list) == nil && len(list) > 0 && !slices.Contains(list, nil)
}

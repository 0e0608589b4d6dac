package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// call is a request to a model with what says how its answer comes.
type call struct {
	stub.Request
	model        string
	stream       bool
	includeUsage bool
	base64       bool
}

// readCall reads a request. What a recording cannot have is an error: several choices, probabilities, speech.
func readCall(kind string, body []byte) (call, error) {
	asked, err := stub.ReadRequest(kind, body)
	if err != nil {
		return call{}, err
	}
	// Names are compared exactly, as the keys were: a decoder that folds case would take another member.
	doc, err := fixture.Canonicalize(nil, body)
	if err != nil {
		return call{}, err
	}
	c := call{Request: asked}
	var choices int
	var probabilities bool
	var format string
	members := map[string]any{"model": &c.model}
	if kind == stub.Chat {
		members["stream"], members["n"], members["logprobs"] = &c.stream, &choices, &probabilities
	} else {
		members["encoding_format"] = &format
	}
	for name, to := range members {
		if v, ok := fixture.Lookup(doc, name); ok {
			if err := json.Unmarshal(v, to); err != nil {
				return call{}, fmt.Errorf("%s: %.60s is of another type than it has", name, v)
			}
		}
	}
	if v, ok := fixture.Lookup(doc, "stream_options", "include_usage"); ok {
		c.includeUsage = string(v) == "true"
	}
	c.base64 = format == "base64"
	switch {
	case c.model == "":
		return call{}, errors.New("model: missing")
	case choices > 1:
		return call{}, fmt.Errorf("n: %d answers are asked for, and a recording has one", choices)
	case probabilities:
		return call{}, errors.New("logprobs: a recording has none")
	case format != "" && format != "float" && format != "base64":
		return call{}, fmt.Errorf("encoding_format: %.40q is none of float, base64", format)
	}
	return c, nil
}

// maxExcerpt bounds what is shown of a prompt, in bytes.
const maxExcerpt = 160

// String says what was asked: the kind, the model, the key, and how the prompt begins.
func (c call) String() string {
	return fmt.Sprintf("%s with the key sha256:%s of the model %.80q, %s", c.Kind, c.Key, c.model, fixture.Cut(string(c.Excerpt), maxExcerpt))
}

// reply makes the answer that a recording gives.
func (c call) reply(r Recording) (func(http.ResponseWriter), error) {
	if c.Kind == stub.Embeddings {
		return c.embeddings(r)
	}
	return c.chat(r)
}

package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// request is what an OpenAI-compatible endpoint is asked.
type request struct {
	path string
	body []byte
	form Form
}

const (
	chatPath       = "chat/completions"
	embeddingsPath = "embeddings"
)

// newRequest makes a request of a question: the body that its prompt's file asks with, the model and the schema added where it has
// none.
func newRequest(q Question) (request, error) {
	p, err := stub.ReadPrompt(q.Prompt)
	if err != nil {
		return request{}, err
	}
	doc, model := p.Body, fixture.AppendString(nil, q.Model)
	if named, ok := fixture.Lookup(doc, "model"); ok {
		if !bytes.Equal(named, model) {
			return request{}, fmt.Errorf("the prompt names the model %.80s, the recording %s: say one of them in both", named, model)
		}
		model = nil
	}
	if stream, ok := fixture.Lookup(doc, "stream"); ok && string(stream) != "false" {
		return request{}, errors.New("the prompt asks for a stream: an answer is recorded whole")
	}
	if n, ok := fixture.Lookup(doc, "n"); ok && string(n) != "1" {
		return request{}, errors.New("the prompt asks for several answers: use --repeat, which counts and logs them")
	}
	if p.Kind == stub.Chat {
		return chat(p, model, q.Schema)
	}
	if format, ok := fixture.Lookup(doc, "encoding_format"); ok && string(format) != `"float"` {
		return request{}, errors.New("the prompt asks for an encoding_format other than float: a value has numbers")
	}
	return request{path: embeddingsPath, body: with(doc, "model", model), form: FormOf(p)}, nil
}

func chat(p stub.Prompt, model, schema []byte) (request, error) {
	r := request{path: chatPath, body: with(p.Body, "model", model), form: FormOf(p)}
	if _, own := fixture.Lookup(p.Body, "response_format"); !own && schema != nil {
		// Whatever the endpoint makes of it, the answer is held against the schema here.
		format := fmt.Appendf(nil, `{"json_schema":{"name":"answer","schema":%s,"strict":true},"type":"json_schema"}`, schema)
		r.body = with(r.body, "response_format", format)
		r.form.Document = true
	}
	if !json.Valid(r.body) { // the schema is not canonical
		return request{}, errors.New("the schema is no JSON")
	}
	return r, nil
}

// with adds a member to an object that has some; nothing where there is no value.
func with(doc []byte, name string, value []byte) []byte {
	if value == nil {
		return doc
	}
	return append(fmt.Appendf(nil, `{%q:%s,`, name, value), doc[1:]...)
}

package stub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// The kinds of requests to a model.
const (
	Chat       = "chat"
	Embeddings = "embeddings"
)

// Request is what a model is asked, as far as it bears on the answer. Two requests with the same Key ask the same.
type Request struct {
	// Kind is Chat or Embeddings.
	Kind string
	// Key is SHA-256 over the canonical messages of a chat, or over the canonical input of embeddings, as 64 hexadecimal digits in
	// lower case.
	Key string
	// Settings are the other members that bear on the answer, as a canonical object: temperature, response_format, tools, whatever
	// the request has. nil for a prompt that is a text: it says nothing of them.
	Settings []byte
	// Excerpt is the canonical text that Key is over.
	Excerpt []byte
}

// delivery are the members of a request that say how the answer comes, and who asks, and not what is asked.
var delivery = []string{
	"model", "stream", "stream_options", "encoding_format", "user", "safety_identifier", "metadata", "store", "service_tier",
	"prompt_cache_key", "prompt_cache_retention",
}

// RequestKey reads the prompt of a recording as its file has it.
//
// A JSON object with the member messages or input is a request to a model, whole: a request that has other settings is not the
// one that was recorded. Anything else is the text of one message of the user, with whatever settings. One line feed at its end is the
// file's and no part of the text: a text that ends in one has a file that ends in two.
//
// A number is its literal (1 is not 1.0), and the order of keys is nothing. The content of a message is the same as a string
// and as an array of one part, {"type": "text", "text": …}; an input is the same as a string and as an array of one string.
func RequestKey(prompt []byte) (Request, error) {
	if doc, err := fixture.Canonicalize(nil, prompt); err == nil && doc[0] == '{' {
		_, chat := fixture.Lookup(doc, "messages")
		_, embeddings := fixture.Lookup(doc, "input")
		switch {
		case chat && embeddings:
			return Request{}, errors.New("the prompt has both messages and input: it is a chat or embeddings, and not both")
		case chat:
			return readRequest(Chat, doc)
		case embeddings:
			return readRequest(Embeddings, doc)
		}
	}
	text := bytes.TrimSuffix(prompt, []byte("\n"))
	messages := append([]byte(`[{"content":`), fixture.AppendString(nil, text)...)
	messages = append(messages, `,"role":"user"}]`...)
	return request(Chat, messages, nil), nil
}

// ReadRequest reads the body of a request to a model. The kind is that of where it was sent.
func ReadRequest(kind string, body []byte) (Request, error) {
	doc, err := fixture.Canonicalize(nil, body)
	if err != nil {
		return Request{}, err
	}
	if doc[0] != '{' {
		return Request{}, fmt.Errorf("expected a JSON object, found %.40s", doc)
	}
	return readRequest(kind, doc)
}

// readRequest reads a canonical object.
func readRequest(kind string, doc []byte) (Request, error) {
	name, plain := "messages", chatText
	if kind == Embeddings {
		name, plain = "input", inputText
	}
	asked, ok := fixture.Lookup(doc, name)
	switch {
	case !ok:
		return Request{}, fmt.Errorf("%s: missing", name)
	case kind == Chat && (asked[0] != '[' || len(asked) == 2), kind == Embeddings && asked[0] != '[' && asked[0] != '"', len(asked) == 2:
		return Request{}, fmt.Errorf("%s: %.40s asks nothing", name, asked)
	}
	settings := []byte{'{'}
	for k, v := range fixture.Members(doc) {
		if string(k) == name || slices.Contains(delivery, string(k)) || string(v) == "null" {
			continue
		}
		settings = appendMember(settings, k, v)
	}
	return request(kind, plain(asked), append(settings, '}')), nil
}

func request(kind string, asked, settings []byte) Request {
	return Request{Kind: kind, Key: hexSum(asked), Settings: settings, Excerpt: asked}
}

// chatText gives messages with every content that is a text as a string.
func chatText(messages []byte) []byte {
	out := []byte{'['}
	for m := range fixture.Items(messages) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if m[0] != '{' {
			out = append(out, m...)
			continue
		}
		changed := []byte{'{'}
		for k, v := range fixture.Members(m) {
			if string(k) == "content" {
				v = onePart(v)
			}
			changed = appendMember(changed, k, v)
		}
		out = append(append(out, changed...), '}')
	}
	return append(out, ']')
}

// onePart gives the text of a content that is one part of text and nothing else.
func onePart(content []byte) []byte {
	part, ok := only(content)
	if !ok || fixture.OnlyMembers(part, "type", "text") != nil {
		return content
	}
	kind, _ := fixture.Lookup(part, "type")
	text, _ := fixture.Lookup(part, "text")
	if string(kind) != `"text"` || len(text) == 0 || text[0] != '"' {
		return content
	}
	return text
}

// inputText gives an input that is one text as a string.
func inputText(input []byte) []byte {
	if text, ok := only(input); ok && text[0] == '"' {
		return text
	}
	return input
}

// only gives the one element of an array.
func only(array []byte) (element []byte, ok bool) {
	for e := range fixture.Items(array) {
		if element != nil {
			return nil, false
		}
		element = e
	}
	return element, element != nil
}

func appendMember(object, key, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(fixture.AppendString(object, key), ':'), value...)
}

// Inputs counts what embeddings are asked for: one for a text or the tokens of one, else as many as the array has.
func (r Request) Inputs() int {
	var list []json.RawMessage
	if r.Kind != Embeddings || json.Unmarshal(r.Excerpt, &list) != nil || len(list) > 0 && list[0][0] != '"' && list[0][0] != '[' {
		return 1
	}
	return len(list)
}

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

// Prompt is what the file of a prompt asks.
type Prompt struct {
	Request
	// Body is what a model is sent: the file's object in canonical form, or that of a chat with one message of the user.
	Body []byte
}

// ReadPrompt reads the prompt of a recording as its file has it. It is the one reader of such files: what is recorded, imported and
// answered goes through it.
//
// A JSON object with the member messages or input is a request to a model, whole: a request that has other settings is not the
// one that was recorded. Anything else is the text of one message of the user, with whatever settings. One line feed at its end is the
// file's and no part of the text: a text that ends in one has a file that ends in two. What is meant as a request and is none of these
// two is an error, and no text.
//
// A number is its literal (1 is not 1.0), and the order of keys is nothing. The content of a message is the same as a string
// and as an array of one part, {"type": "text", "text": …}; an input is the same as a string and as an array of one string.
func ReadPrompt(src []byte) (Prompt, error) {
	doc, err := fixture.Canonicalize(nil, src)
	if err == nil && doc[0] == '{' {
		kind, err := kindOf(doc)
		if err != nil {
			return Prompt{}, err
		}
		if kind != "" {
			r, err := readRequest(kind, doc)
			return Prompt{Request: r, Body: doc}, err
		}
	}
	if err != nil && looksLikeRequest(src) {
		return Prompt{}, fmt.Errorf("the prompt looks like a request, and is no JSON: %w", err)
	}
	messages := append([]byte(`[{"content":`), fixture.AppendString(nil, bytes.TrimSuffix(src, []byte("\n")))...)
	messages = append(messages, `,"role":"user"}]`...)
	return Prompt{Request: request(Chat, messages, nil), Body: fmt.Appendf(nil, `{"messages":%s}`, messages)}, nil
}

// RequestKey gives the request of a prompt's file alone.
func RequestKey(prompt []byte) (Request, error) {
	p, err := ReadPrompt(prompt)
	return p.Request, err
}

// kindOf gives the kind of the request that an object is; nothing for one that is no request.
func kindOf(doc []byte) (string, error) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { _, ok := fixture.Lookup(doc, name); return ok })
	}
	input, _ := fixture.Lookup(doc, "input")
	switch {
	case has("messages") && has("input"):
		return "", errors.New("the prompt has both messages and input: it is a chat or embeddings, and not both")
	case has("messages"):
		return Chat, nil
	case has("input") && (bytes.HasPrefix(input, []byte("[{")) || has(ofResponses...)):
		return "", errors.New("the prompt is a call of the Responses API: write it as a chat, with messages")
	case has("input"):
		return Embeddings, nil
	case has("model") && has("prompt"):
		return "", errors.New("the prompt is a call of completions without messages: write it as a chat, with messages")
	}
	return "", nil
}

// ofResponses are members of a call of the Responses API, whose input is no text to embed.
var ofResponses = []string{"instructions", "max_output_tokens", "previous_response_id", "reasoning", "temperature", "text", "tools"}

// looksLikeRequest says whether a text is meant as a JSON object, and has a mistake: sent as a text it would be answered all the
// same, by something that nobody meant.
func looksLikeRequest(src []byte) bool {
	src = bytes.TrimSpace(src)
	return bytes.HasPrefix(src, []byte("{")) && (bytes.Contains(src, []byte(`"messages"`)) || bytes.Contains(src, []byte(`"input"`)))
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
	return Request{Kind: kind, Key: fixture.DigestOf(asked).String(), Settings: settings, Excerpt: asked}
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

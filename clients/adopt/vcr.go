package adopt

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// cassette reads the interactions of a cassette: go-vcr and VCR.py call them so, VCR for Ruby http_interactions.
func (r *reader) cassette(file string, doc any, made time.Time) {
	list, ok := first(doc, "http_interactions", "interactions").([]any)
	if !ok {
		r.skip(file, 0, "no cassette: there is no list of interactions")
		return
	}
	var keys []string
	for i, one := range list {
		for _, k := range secrets(at(one, "request")) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
		p, value, err := interaction(one)
		p.File, p.Position = file, i+1
		if err != nil {
			r.skip(file, i+1, "%v", err)
			continue
		}
		r.add(p, value, made)
	}
	if len(keys) > 0 {
		r.warn("%s: there is a key in it, in %s: have it revoked, and filter it where the cassette is made", file, strings.Join(keys, ", "))
	}
}

// interaction reads one exchange.
func interaction(one any) (p Pair, value any, err error) {
	req, res := at(one, "request"), at(one, "response")
	method := strings.ToUpper(strings.TrimPrefix(text(at(req, "method")), ":"))
	u, err := url.Parse(text(first(req, "url", "uri")))
	if err != nil {
		return p, nil, errors.New("no model call: its address is none")
	}
	kind := path.Base(u.Path)
	if kind == "completions" && path.Base(path.Dir(u.Path)) == "chat" {
		kind = "chat"
	}
	if why := others[kind]; why != "" && method == "POST" {
		return p, nil, fmt.Errorf("%s (%.80s): it cannot be asked again as a chat", why, u.Path)
	}
	if calls[kind] == "" || method != "POST" {
		return p, nil, fmt.Errorf("no model call: %.10s %.80s", method, u.Path)
	}
	if code := status(res); code < 200 || code > 299 {
		return p, nil, fmt.Errorf("no answer: its status is %d", code)
	}
	asked, err := body(at(req, "body"))
	if err != nil {
		return p, nil, fmt.Errorf("the body of the request: %w", err)
	}
	answered, err := body(at(res, "body"))
	if err != nil {
		return p, nil, fmt.Errorf("the body of the response: %w", err)
	}
	var created any
	if p, value, created, err = modelCall(kind, asked, answered); err != nil {
		return p, nil, err
	}
	p.RecordedAt, err = dated(at(one, "recorded_at"), header(res, "Date"), created)
	return p, value, err
}

// status gives the status code, which stands in three forms; 0 where there is none.
func status(res any) int {
	for _, v := range []any{at(res, "code"), at(res, "status", "code"), at(res, "status")} {
		switch v := v.(type) { // and nothing else is printed: with aliases a small document can be endless
		case uint64:
			return int(min(v, 1000))
		case json.Number:
			n, _ := strconv.Atoi(v.String())
			return n
		case string:
			number, _, _ := strings.Cut(v, " ")
			n, _ := strconv.Atoi(number)
			return n
		}
	}
	return 0
}

// body gives the bytes of a body: text, binary, or an object with one of them, and unpacked where it is compressed.
func body(v any) (b []byte, err error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		b = []byte(v)
	case []byte:
		b = v
	case map[string]any:
		if encoded, ok := v["base64_string"].(string); ok {
			if b, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), "")); err != nil {
				return nil, errors.New("no base64")
			}
			break
		}
		if _, deeper := v["string"].(map[string]any); !deeper {
			return body(v["string"])
		}
		return nil, errors.New("it has no form that is known")
	default:
		return nil, errors.New("it has no form that is known")
	}
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	b, err = io.ReadAll(io.LimitReader(z, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("gzip: %w", err)
	case len(b) > maxFileBytes:
		return nil, fmt.Errorf("unpacked it is over the limit of %d bytes", maxFileBytes)
	}
	return b, nil
}

// header gives the first value of a header, by its name in any case.
func header(message any, name string) any {
	m, _ := at(message, "headers").(map[string]any)
	for k, v := range m {
		if strings.EqualFold(k, name) {
			if list, ok := v.([]any); ok {
				return append(list, nil)[0]
			}
			return v
		}
	}
	return nil
}

// Where keys stand, and what people put in their place. The value of a header is looked at here, and goes nowhere else.
var (
	keyHeaders = []string{"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "openai-api-key", "cookie"}
	keyQueries = []string{"key", "api_key", "api-key", "token", "access_token"}
	filtered   = regexp.MustCompile(`(?i)^((bearer|basic|token)\b)?\s*(<.*>|\[.*\]|\{.*\}|\*+|x+|-+|\.+|(my|your|test|fake|dummy)?[-_ ]?(api)?[-_ ]?(key|token|secret)?|redacted|filtered|removed|scrubbed|sanitized|hidden|placeholder|dummy|fake|test|none|null)$`)
)

// secrets names the places of a request that hold a key, in their order, and never the key.
func secrets(req any) (out []string) {
	for _, name := range keyHeaders {
		if v, ok := header(req, name).(string); ok && !filtered.MatchString(strings.TrimSpace(v)) {
			out = append(out, "the header "+name)
		}
	}
	if u, err := url.Parse(text(first(req, "url", "uri"))); err == nil {
		for _, name := range keyQueries {
			if v := u.Query().Get(name); !filtered.MatchString(v) {
				out = append(out, "the query's "+name)
			}
		}
	}
	return out
}

// decodeYAML reads one document. A message about it has no line of it: there may be a key in that.
func decodeYAML(src []byte) (doc any, err error) {
	defer func() {
		if recover() != nil { // a cassette is anybody's, and must not end the process
			doc, err = nil, errors.New("no YAML that can be read")
		}
	}()
	for _, opening := range []string{"[", "{", "- "} {
		if bytes.Contains(src, bytes.Repeat([]byte(opening), fixture.MaxDepth)) { // the parser's time grows with the square of the depth
			return nil, errors.New("no YAML: it is nested too deep")
		}
	}
	f, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, fmt.Errorf("no YAML: %s", yaml.FormatError(err, false, false))
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, errors.New("expected one YAML document")
	}
	ast.Walk(binaries{}, f.Docs[0].Body)
	if err := yaml.NodeToValue(f.Docs[0].Body, &doc); err != nil {
		return nil, fmt.Errorf("no YAML: %s", yaml.FormatError(err, false, false))
	}
	return doc, nil
}

// binaries takes Ruby's tag for bytes, which is a local one, for that of YAML.
type binaries struct{}

// Visit implements ast.Visitor.
func (b binaries) Visit(n ast.Node) ast.Visitor {
	if tag, ok := n.(*ast.TagNode); ok && tag.Start != nil && tag.Start.Value == "!binary" {
		tag.Start.Value = "!!binary"
	}
	return b
}

package checker

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// request is the frozen input.
type request struct {
	askedRule            int
	method, uri, version string
	headers              map[string]string
	body                 []byte
	remoteAddr           string
	port                 int
}

// read takes the members by their exact names. All are mandatory: a request whose body was left out is not a request
// with an empty body.
func read(c *retrial.Case) (r request, err error) {
	var headers map[string]*string
	var body string
	err = errors.Join(
		member(c, "asked_rule", "a whole number", &r.askedRule),
		member(c, "method", "a string", &r.method),
		member(c, "uri", "a string", &r.uri),
		member(c, "version", "a string", &r.version),
		member(c, "headers", "an object of strings", &headers),
		member(c, "body_b64", "a string", &body),
		member(c, "remote_addr", "a string", &r.remoteAddr),
		member(c, "port", "a whole number", &r.port),
	)
	if err == nil {
		err = errors.Join(r.setHeaders(headers), r.setBody(body))
	}
	if err != nil {
		return r, &retrial.InputError{Err: err}
	}
	return r, nil
}

func (r *request) setHeaders(headers map[string]*string) error {
	r.headers = make(map[string]string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if headers[name] == nil {
			return fmt.Errorf("the member \"headers\" has null as the value of %.80q: expected a string", name)
		}
		r.headers[name] = *headers[name]
	}
	return nil
}

func (r *request) setBody(encoded string) (err error) {
	if r.body, err = base64.StdEncoding.DecodeString(encoded); err != nil {
		return fmt.Errorf("the member \"body_b64\" is not standard base64: %w", err)
	}
	return nil
}

func member(c *retrial.Case, name, expected string, into any) error {
	value, ok := c.Value(name)
	if !ok {
		return fmt.Errorf("the member %q is missing: expected %s", name, expected)
	}
	// Unmarshal takes null for "leave it as it is".
	if string(value) == "null" || json.Unmarshal(value, into) != nil {
		return fmt.Errorf("the member %q is %.40s: expected %s", name, value, expected)
	}
	return nil
}

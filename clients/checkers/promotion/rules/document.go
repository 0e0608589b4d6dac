package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// document reads the members of a JSON object and keeps the first error. Unlike a struct it tells a missing member from
// one that is null, and takes names as they are written: an input without "score" is not saved by its "Score".
type document struct {
	path    string // what stands before a member's name in a message: "" or "competing."
	members map[string]json.RawMessage
	failed  *error // shared with the objects inside
}

func newDocument(src []byte) *document {
	d := &document{failed: new(error)}
	if err := json.Unmarshal(src, &d.members); err != nil {
		*d.failed = fmt.Errorf("not a JSON object: %w", err)
	}
	return d
}

func (d *document) fail(name string, err error) {
	if *d.failed == nil {
		*d.failed = fmt.Errorf("%s%s: %w", d.path, name, err)
	}
}

// err gives the first error as a *retrial.InputError, or nil.
func (d *document) err() error {
	if *d.failed == nil {
		return nil
	}
	return &retrial.InputError{Err: *d.failed}
}

// optional reads a member that must be there, and gives nil if it is null. Kind says in a message what was expected.
func optional[T any](d *document, name, kind string) *T {
	raw, ok := d.members[name]
	if !ok {
		d.fail(name, errors.New("missing"))
	}
	if !ok || string(raw) == "null" {
		return nil
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		d.fail(name, fmt.Errorf("expected %s, found %.40s", kind, raw))
	}
	return v
}

// required reads a member that must be there and must not be null.
func required[T any](d *document, name, kind string) T {
	v := optional[T](d, name, kind)
	if v == nil {
		d.fail(name, fmt.Errorf("expected %s, found null", kind)) // a missing member has failed already
		v = new(T)
	}
	return *v
}

func (d *document) text(name string) string { return required[string](d, name, "a string") }

func (d *document) whole(name string) int { return required[int](d, name, "a whole number") }

// instant reads an RFC 3339 time. Instants are compared as such, whatever offset they are written with.
func (d *document) instant(name string) time.Time {
	s := d.text(name)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		d.fail(name, fmt.Errorf("%.40q is not an instant such as 2026-02-14T09:12:00Z", s))
	}
	return t
}

// keys reads an object of strings that has at least one: a scope without keys would fit everywhere.
func (d *document) keys(name string) map[string]string {
	read := required[map[string]*string](d, name, "an object of strings")
	out := make(map[string]string, len(read))
	for key, value := range read {
		if value == nil {
			d.fail(name, errors.New("expected an object of strings, found a null in it"))
			continue
		}
		out[key] = *value
	}
	if len(out) == 0 {
		d.fail(name, errors.New("has no keys"))
	}
	return out
}

// optionalObject reads an object, or gives nil for null.
func (d *document) optionalObject(name string) *document {
	members := optional[map[string]json.RawMessage](d, name, "an object or null")
	if members == nil {
		return nil
	}
	return &document{path: d.path + name + ".", members: *members, failed: d.failed}
}

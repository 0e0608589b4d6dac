package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// document reads the members of an object of the input and keeps the first error. Unlike a struct it tells a missing member from
// one that is null, and takes names as they are written: an input without "score" is not saved by its "Score".
type document struct {
	in     *retrial.Case
	inside string // the member that the object is the value of; empty for the input itself
	failed *error // shared with the objects inside
}

// newDocument looks at the whole input once, so that what is read of it later is known to be JSON.
func newDocument(in *retrial.Case) *document {
	d := &document{in: in, failed: new(error)}
	if src := in.Input(); !json.Valid(src) || !utf8.Valid(src) || src[0] != '{' {
		*d.failed = fmt.Errorf("not a JSON object: %.40q", src)
	}
	return d
}

func (d *document) fail(name string, err error) {
	switch {
	case *d.failed != nil:
	case d.inside != "":
		*d.failed = fmt.Errorf("%s.%s: %w", d.inside, name, err)
	default:
		*d.failed = fmt.Errorf("%s: %w", name, err)
	}
}

// err gives the first error as a *retrial.InputError, or nil.
func (d *document) err() error {
	if *d.failed == nil {
		return nil
	}
	return &retrial.InputError{Err: *d.failed}
}

// value gives a member that must be there, or nil if it is null. Once something has failed nothing is read.
func (d *document) value(name string) []byte {
	if *d.failed != nil {
		return nil
	}
	path := []string{d.inside, name}
	if d.inside == "" {
		path = path[1:]
	}
	raw, ok := d.in.Value(path...)
	if !ok {
		d.fail(name, errors.New("missing"))
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// optional reads a member that must be there, and gives nil if it is null. Kind says in a message what was expected.
func optional[T any](d *document, name, kind string) *T {
	raw := d.value(name)
	if raw == nil {
		return nil
	}
	v := new(T)
	if err := decode(raw, v); err != nil {
		d.fail(name, fmt.Errorf("expected %s, found %.40s", kind, raw))
	}
	return v
}

// required reads a member that must be there and must not be null.
func required[T any](d *document, name, kind string) (v T) {
	raw := d.value(name)
	if raw == nil {
		d.fail(name, fmt.Errorf("expected %s, found null", kind)) // a missing member has failed already
		return v
	}
	if err := decode(raw, &v); err != nil {
		d.fail(name, fmt.Errorf("expected %s, found %.40s", kind, raw))
	}
	return v
}

func (d *document) text(name string) string { return required[string](d, name, "a string") }

func (d *document) whole(name string) int { return required[int](d, name, "a whole number") }

func (d *document) number(name string) float64 { return required[float64](d, name, "a number") }

func (d *document) truth(name string) bool { return required[bool](d, name, "true or false") }

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
	raw := d.value(name)
	if raw == nil {
		d.fail(name, errors.New("expected an object of strings, found null"))
		return nil
	}
	out, null, odd := map[string]string{}, false, raw[0] != '{'
	for key, value := range d.in.Members(name) {
		var s string
		null = null || string(value) == "null"
		odd = odd || decode(value, &s) != nil
		out[key] = s
	}
	switch {
	case odd:
		d.fail(name, fmt.Errorf("expected an object of strings, found %.40s", raw))
	case null:
		d.fail(name, errors.New("expected an object of strings, found a null in it"))
	case len(out) == 0:
		d.fail(name, errors.New("has no keys"))
	}
	return out
}

// object reads an object, or gives nil for null.
func (d *document) object(name string) *document {
	raw := d.value(name)
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		d.fail(name, fmt.Errorf("expected an object or null, found %.40s", raw))
	}
	return &document{in: d.in, inside: name, failed: d.failed}
}

// Package stub holds the values that stand in for a checker's model calls.
//
// A stub is fixed for one fixture and one call name (R19), and part of the version it is committed with (R21). What a
// checker asks for and does not find is an error of that case, never a default: nothing in this package has a fallback.
package stub

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// MaxPerFixture is how many calls of one fixture can be stubbed.
const MaxPerFixture = 256

// Stub is the fixed answer of one model call for one fixture.
type Stub struct {
	FixtureID string
	// Call is the name of the call. 1 to 256 bytes.
	Call string
	// Value is the answer as canonical JSON.
	Value []byte
	// Recording says where the value comes from; nil for a value written by hand.
	Recording *Recording

	doc []byte
}

// Canonical gives the canonical document. The caller must not write into it.
func (s *Stub) Canonical() []byte { return s.doc }

// Digest hashes the canonical document.
func (s *Stub) Digest() fixture.Digest { return fixture.DigestOf(s.doc) }

// Decode reads one stub document: an object with fixture_id, call, value and, where the value was recorded, recording.
// Errors are *fixture.Error with CodeInvalid and name the field.
func Decode(src []byte) (*Stub, error) {
	doc, err := fixture.Canonicalize(make([]byte, 0, len(src)), src)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "", "", err)
	}
	s := &Stub{doc: doc}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Stub) read() error {
	if s.doc[0] != '{' {
		return s.invalid("", errors.New("a stub is a JSON object"))
	}
	for k, v := range fixture.Members(s.doc) {
		var err error
		switch key := string(k); key {
		case "fixture_id":
			s.FixtureID, err = fixture.DecodeName(v)
		case "call":
			s.Call, err = fixture.DecodeName(v)
		case "value":
			s.Value = v
		case "recording":
			s.Recording, err = readRecording(v)
		default:
			err = errors.New("unknown; a stub has fixture_id, call, value and recording")
		}
		if err != nil {
			return s.invalid(string(k), err)
		}
	}
	switch {
	case s.FixtureID == "":
		return s.invalid("fixture_id", errMissing)
	case s.Call == "":
		return s.invalid("call", errMissing)
	case s.Value == nil:
		return s.invalid("value", errMissing)
	}
	return nil
}

var errMissing = errors.New("missing")

func (s *Stub) invalid(field string, err error) error {
	return &fixture.Error{Code: fixture.CodeInvalid, Subject: s.FixtureID, Field: field, Err: err}
}

// Join gives the stored form of a fixture's stubs: the canonical array of their documents, sorted by call. It is nil
// for a fixture without stubs. Errors name a call that stands twice or belongs to another fixture.
func Join(fixtureID string, stubs []*Stub) ([]byte, error) {
	if len(stubs) == 0 {
		return nil, nil
	}
	if len(stubs) > MaxPerFixture {
		return nil, &fixture.Error{Code: fixture.CodeTooLarge, Subject: fixtureID, Field: "stubs", Err: fmt.Errorf("%d stubs, over the limit of %d", len(stubs), MaxPerFixture)}
	}
	sorted := slices.SortedFunc(slices.Values(stubs), func(a, b *Stub) int { return strings.Compare(a.Call, b.Call) })
	out := []byte{'['}
	for i, s := range sorted {
		switch {
		case s.FixtureID != fixtureID:
			return nil, s.invalid("fixture_id", fmt.Errorf("the stub stands with fixture %q", fixtureID))
		case i > 0 && sorted[i-1].Call == s.Call:
			return nil, s.invalid("call", fmt.Errorf("%q is stubbed twice", s.Call))
		case i > 0:
			out = append(out, ',')
		}
		out = append(out, s.doc...)
	}
	return append(out, ']'), nil
}

// Split reads the stored form of a fixture's stubs. A nil array has none.
func Split(joined []byte) ([]*Stub, error) {
	var out []*Stub
	for doc := range fixture.Items(joined) {
		s := &Stub{doc: doc}
		if err := s.read(); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// Comparison says when two answers are the same (S11): drift is what it says, noise is what it does not look at.
type Comparison struct {
	kind   string
	fields []string
	schema *schema
}

// NewComparison prepares a recording's comparison. A schema that is none is an error.
func NewComparison(c stub.Compare) (*Comparison, error) {
	out := &Comparison{kind: c.Kind, fields: c.Fields}
	switch c.Kind {
	case "":
		out.kind = stub.Equal
	case stub.Schema:
		var err error
		if out.schema, err = compileSchema(c.Schema); err != nil {
			return nil, fmt.Errorf("compare: schema: %w", err)
		}
	}
	return out, nil
}

// Check refuses an answer that no recording can be made of: one that breaks its schema, or lacks a field of its rubric. Such an
// answer is a fault, not drift: nothing can be compared with it.
func (c *Comparison) Check(value []byte) error {
	switch c.kind {
	case stub.Schema:
		return c.schema.check(value)
	case stub.Rubric:
		var errs []error
		for _, f := range c.fields {
			if _, ok := field(value, f); !ok {
				errs = append(errs, fmt.Errorf("the answer has no field %q, which its rubric compares", f))
			}
		}
		return errors.Join(errs...)
	}
	return nil
}

// Same says whether an answer that Check let pass is as good as the recorded one. Both are canonical.
func (c *Comparison) Same(recorded, answer []byte) bool {
	switch c.kind {
	case stub.Schema:
		return c.schema.check(recorded) == nil // the schema may be younger than the recording
	case stub.Rubric:
		for _, f := range c.fields {
			was, ok := field(recorded, f)
			is, okNow := field(answer, f)
			if !ok || !okNow || !bytes.Equal(was, is) {
				return false
			}
		}
		return true
	default:
		return bytes.Equal(recorded, answer)
	}
}

// field gives the value at a path of names and, in arrays, of places from 0.
func field(doc []byte, path string) ([]byte, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch {
		case len(doc) > 0 && doc[0] == '[':
			at, err := strconv.Atoi(name)
			if err != nil {
				return nil, false
			}
			i, found := 0, false
			for v := range fixture.Items(doc) {
				if i == at {
					doc, found = v, true
					break
				}
				i++
			}
			if !found {
				return nil, false
			}
		default:
			var ok bool
			if doc, ok = fixture.Lookup(doc, name); !ok {
				return nil, false
			}
		}
	}
	return doc, true
}

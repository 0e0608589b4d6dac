package retrial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Checker decides cases. Check may be called from several goroutines, one for each stream that is open.
type Checker interface {
	// Describe says who the checker is. It must be cheap and always give the same.
	Describe() Description
	// Check decides one case: from the case alone, without a clock, randomness or network, so that the same case always
	// gives the same outcome. An error says that this case cannot be decided; it does not affect the others.
	Check(ctx context.Context, c *Case) (Outcome, error)
}

// Description is what a checker says about itself.
type Description struct {
	// Name and Version are mandatory.
	Name, Version string
	// BuildDigest tells builds apart; empty takes the digest of the program's content that the Go linker wrote into it.
	BuildDigest string
	// Parameters are the settings that a run can give.
	Parameters []Parameter
	// Verdicts and ReasonCodes are what the checker can answer; empty declares nothing.
	Verdicts, ReasonCodes []string
	// CallsStubs says that the checker makes model calls through Case.Stub.
	CallsStubs bool
	// ConfigurationVersion is the version of the configuration that it decides by.
	ConfigurationVersion string
}

// Parameter is one setting. Its type is that of Default: a string, a bool, an int, or a float64.
type Parameter struct {
	Name string
	// Default is the value that is taken where a run gives none. Mandatory.
	Default any
	// Description is a sentence.
	Description string
}

// Outcome is a decision.
type Outcome struct {
	// Verdict is a word of the set's vocabulary. Mandatory.
	Verdict string
	// ReasonCode says why.
	ReasonCode string
	// Output is a whole output document as JSON, where the set compares whole records.
	Output []byte
}

// Case is one decision to make. It is valid until Check returns: keep nothing of it.
type Case struct {
	id     uint64
	input  []byte
	stubs  []stubValue
	params map[string]any

	used    []string
	missing string
}

type stubValue struct {
	call  string
	value []byte
}

// Handle gives an opaque name of the case, another one each time that it is asked. A checker that calls a model endpoint of Retrial by
// itself can say with it, by the header Retrial-Case, for which case it asks. Nothing else is to be made of it.
func (c *Case) Handle() string { return strconv.FormatUint(c.id, 10) }

// Input gives the frozen input: one JSON object, scope among its members. It must not be changed or kept.
func (c *Case) Input() []byte { return c.input }

// Decode unmarshals the input into v. Members that v lacks are ignored, and what the input lacks stays at its zero value:
// where that would be decided like a real one, use Member. Use json.Number, or a json.RawMessage, for
// numbers of more than 53 bits. The error is an *InputError.
func (c *Case) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(c.input))
	if err := d.Decode(v); err != nil {
		return &InputError{err}
	}
	return nil
}

// Value gives one member of the input as JSON, without reading the rest: Value("scope", "user_id"). ok is false where
// there is none. It must not be changed or kept. It is many times faster than Decode, for a checker that reads little of a
// large input.
func (c *Case) Value(path ...string) (value []byte, ok bool) { return fixture.Lookup(c.input, path...) }

// Members gives the members of an object of the input, each with its value as JSON, in their order: all of the input where no path is
// given, nothing where there is no object at path. It is many times faster than to decode a map. The values must not be changed or kept.
func (c *Case) Members(path ...string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		object, _ := c.Value(path...)
		for name, value := range fixture.Members(object) {
			if !yield(string(name), value) {
				return
			}
		}
	}
}

// Member reads one member of the input into a T, by its exact name: Member[int](c, "age_days"), Member[string](c, "scope",
// "user_id"). Unlike Decode, which leaves what is missing at its zero value, it is an *InputError that names the member if
// it is missing, of another type, or null; null is a value where T is a pointer, a map, a slice or an interface.
func Member[T any](c *Case, path ...string) (T, error) {
	var v T
	name, want := strings.Join(path, "."), reflect.TypeFor[T]()
	raw, ok := c.Value(path...)
	if !ok {
		return v, &InputError{fmt.Errorf("member %q is missing: expected %s", name, want)}
	}
	if string(raw) == "null" {
		switch want.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
			return v, nil
		default:
			return v, &InputError{fmt.Errorf("member %q is null: expected %s", name, want)}
		}
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, &InputError{fmt.Errorf("member %q is %.40s: expected %s", name, raw, want)}
	}
	return v, nil
}

// InputError says that the input is not one that the checker can read.
type InputError struct{ Err error }

// Error implements error.
func (e *InputError) Error() string { return "input: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *InputError) Unwrap() error { return e.Err }

// StubMissingError says that the case carries no stub for a call.
type StubMissingError struct{ Call string }

// Error implements error.
func (e *StubMissingError) Error() string { return fmt.Sprintf("no stub for the call %q", e.Call) }

// Stub gives the recorded value of a model call, as JSON. It must not be changed or kept.
//
// Where the case has none, the error is a *StubMissingError and the case ends in that error, even if Check goes on to
// decide it: a missing stub is never answered by a default.
func (c *Case) Stub(call string) ([]byte, error) {
	for _, s := range c.stubs {
		if s.call == call {
			if !slices.Contains(c.used, call) {
				c.used = append(c.used, call)
			}
			return s.value, nil
		}
	}
	if c.missing == "" {
		c.missing = call
	}
	return nil, &StubMissingError{call}
}

// DecodeStub unmarshals the recorded value of a model call into v. The same conditions hold as for Stub.
func (c *Case) DecodeStub(call string, v any) error {
	value, err := c.Stub(call)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(value, v); err != nil {
		return &InputError{fmt.Errorf("stub %q: %w", call, err)}
	}
	return nil
}

// Int gives the value of an int parameter that Describe declares. It panics for any other name, which ends the case.
func (c *Case) Int(name string) int { return param[int](c, name) }

// Float gives the value of a float64 parameter.
func (c *Case) Float(name string) float64 { return param[float64](c, name) }

// Bool gives the value of a bool parameter.
func (c *Case) Bool(name string) bool { return param[bool](c, name) }

// String gives the value of a string parameter.
func (c *Case) String(name string) string { return param[string](c, name) }

func param[T any](c *Case, name string) T {
	v, ok := c.params[name].(T)
	if !ok {
		panic(fmt.Sprintf("the checker declares no parameter %q of type %T", name, *new(T)))
	}
	return v
}

// StubsUsed gives the calls whose stubs were asked for so far, each once: for the unit test of a checker.
func (c *Case) StubsUsed() []string { return slices.Clone(c.used) }

// NewCase makes a case for the unit test of a checker: input and stubs as JSON, parameters by name.
func NewCase(checker Checker, input []byte, stubs map[string]string, parameters map[string]string) (*Case, error) {
	params, err := bind(checker.Describe(), toBytes(parameters))
	if err != nil {
		return nil, err
	}
	canonical, err := fixture.Canonicalize(nil, input)
	if err != nil {
		return nil, &InputError{err}
	}
	c := &Case{input: canonical, params: params}
	for call, value := range stubs {
		c.stubs = append(c.stubs, stubValue{call, []byte(value)})
	}
	return c, nil
}

func toBytes(m map[string]string) map[string][]byte {
	out := make(map[string][]byte, len(m))
	for k, v := range m {
		out[k] = []byte(v)
	}
	return out
}

// bind gives each declared parameter its value: the given one, or the default.
func bind(d Description, given map[string][]byte) (map[string]any, error) {
	out := make(map[string]any, len(d.Parameters))
	var errs []error
	for _, p := range d.Parameters {
		out[p.Name] = p.Default
		raw, ok := given[p.Name]
		if !ok {
			continue
		}
		var err error
		switch p.Default.(type) {
		case int:
			out[p.Name], err = decode[int](raw)
		case float64:
			out[p.Name], err = decode[float64](raw)
		case bool:
			out[p.Name], err = decode[bool](raw)
		case string:
			out[p.Name], err = decode[string](raw)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("parameter %q: %w", p.Name, err))
		}
		delete(given, p.Name)
	}
	for name := range given {
		if _, ok := out[name]; !ok {
			errs = append(errs, fmt.Errorf("parameter %q: the checker takes no such parameter", name))
		}
	}
	return out, errors.Join(errs...)
}

func decode[T any](raw []byte) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

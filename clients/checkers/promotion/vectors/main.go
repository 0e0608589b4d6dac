// Command vectors writes what every implementation of the promotion checker must answer, in whatever language: the 200
// fixtures of examples/promotion and 2,000 generated cases, each under one of three sets of parameters.
//
//	go run ./clients/checkers/promotion/vectors > clients/checkers/promotion/testdata/vectors.jsonl.gz
//
// A line is a JSON object:
//
//	name        says what it is about
//	parameters  the values of the checker's parameters, by name
//	input       the case's input, in base64: canonical JSON, as a host sends it
//	stubs       the values of its model calls: {"call", "value"}, the value in base64
//	outcome     {"verdict", "reason_code"}; or
//	error       {"code", "call"}: INVALID_INPUT or STUB_MISSING, with the call that has no stub. Messages are each language's own
//	stubs_used  the calls that the checker asked for
//
// The order of the lines, and every byte of them, is the same in every run.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
)

// Vector is one line.
type Vector struct {
	Name       string             `json:"name"`
	Parameters map[string]float64 `json:"parameters"`
	Input      []byte             `json:"input"`
	Stubs      []Stub             `json:"stubs"`
	Outcome    *Outcome           `json:"outcome,omitempty"`
	Error      *Error             `json:"error,omitempty"`
	StubsUsed  []string           `json:"stubs_used"`
}

// Stub is the value of one model call.
type Stub struct {
	Call  string `json:"call"`
	Value []byte `json:"value"`
}

// Outcome is a decision.
type Outcome struct {
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reason_code"`
}

// Error says why there is none.
type Error struct {
	Code string `json:"code"`
	Call string `json:"call,omitempty"`
}

func main() {
	if err := write(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

// write writes all vectors, compressed; root is the repository.
func write(out io.Writer, root string) error {
	cases, err := examples(root)
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(zip, 1<<20)
	for i, c := range append(cases, generated()...) {
		c.Parameters = parameterSets[i%len(parameterSets)]
		if err := c.decide(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), zip.Close())
}

// parameterSets are taken in turn.
var parameterSets = []map[string]float64{
	{"max_age_days": 30, "min_score": 0.6, "min_occurrences": 2, "min_fact_occurrences": 3},
	{"max_age_days": 14, "min_score": 0.6, "min_occurrences": 2, "min_fact_occurrences": 3},
	{"max_age_days": 30, "min_score": 0.75, "min_occurrences": 3, "min_fact_occurrences": 5},
}

// decide has the reference checker decide the case.
func (v *Vector) decide() error {
	parameters, stubs := map[string]string{}, map[string]string{}
	for name, value := range v.Parameters {
		parameters[name] = fmt.Sprint(value)
	}
	for _, s := range v.Stubs {
		stubs[s.Call] = string(s.Value)
	}
	c, err := retrial.NewCase(rules.Checker{}, v.Input, stubs, parameters)
	if err != nil {
		return err
	}
	if !bytes.Equal(c.Input(), v.Input) {
		return errors.New("its input is not in canonical form")
	}
	o, err := rules.Checker{}.Check(context.Background(), c)
	v.StubsUsed = append([]string{}, c.StubsUsed()...)
	var missing *retrial.StubMissingError
	var invalid *retrial.InputError
	switch {
	case err == nil:
		v.Outcome = &Outcome{o.Verdict, o.ReasonCode}
	case errors.As(err, &missing):
		v.Error = &Error{Code: "STUB_MISSING", Call: missing.Call}
	case errors.As(err, &invalid):
		v.Error = &Error{Code: "INVALID_INPUT"}
	default:
		return err
	}
	return nil
}

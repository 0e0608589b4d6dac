// Package recorder asks models for answers that are to be recorded, and says whether they are those that were recorded before.
//
// It promises that no attempt goes unlogged, that a call is tried three times at most (S6), and that a secret it was told of
// stands in no answer, error or log of its. It refuses to run on a pull request (S7). It writes no recording: what is kept
// where is its caller's.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Question is what a model is asked.
type Question struct {
	// ID names the recording.
	ID string
	// Model is the model to ask.
	Model string
	// Prompt has the bytes of the prompt's file.
	Prompt []byte
	// Schema is the JSON Schema that the answer must keep; nil where there is none.
	Schema []byte
}

// Answer is what a model answered.
type Answer struct {
	// Value is JSON, canonical once Ask has given it.
	Value []byte
	// Model is how the model names itself. May be empty.
	Model string
	// InputTokens and OutputTokens are as the model counts them; 0 where it does not.
	InputTokens, OutputTokens uint64
}

// Model is asked once a call: whoever implements it does not try again. Safe for concurrent use. Errors are *Failure where more
// is known than the text.
type Model interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Failure is why there is no answer.
type Failure struct {
	// Status is that of the endpoint, such as "429 Too Many Requests". May be empty.
	Status string
	// Temporary says that another attempt is worth it: a limit, a fault of the server, a connection that broke, no time left.
	// What a model answered is never temporary: an answer that breaks its schema is an answer, and asking again until one
	// fits would hide how often none does.
	Temporary bool
	// RetryAfter is how long the endpoint asks to be left alone; 0 where it does not say.
	RetryAfter time.Duration
	Err        error
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Status == "" {
		return f.Err.Error()
	}
	return fmt.Sprintf("%s: %v", f.Status, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// final makes an error that no other attempt mends.
func final(format string, args ...any) error { return &Failure{Err: fmt.Errorf(format, args...)} }

// failureOf gives what is known of an error. One of an unknown kind is final.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Err: err}
}

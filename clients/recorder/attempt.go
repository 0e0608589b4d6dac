package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// MaxAttempts is how often one call is tried: once, and twice more (S6).
const MaxAttempts = 3

// Bounds of the pause before another attempt. An endpoint that asks for more than maxPause is not waited for: it is the run's
// owner who decides about minutes.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// Attempt is one call of a model, as it stands in the log.
type Attempt struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
	// Repeat and Attempt count from 1.
	Repeat  int `json:"repeat"`
	Attempt int `json:"attempt"`
	// OK says that there was an answer that can be recorded.
	OK bool `json:"ok"`
	// Status is the endpoint's, where it gave one.
	Status       string  `json:"status,omitempty"`
	Seconds      float64 `json:"seconds"`
	Model        string  `json:"model,omitempty"`
	InputTokens  uint64  `json:"input_tokens,omitempty"`
	OutputTokens uint64  `json:"output_tokens,omitempty"`
	Error        string  `json:"error,omitempty"`
	// PauseSeconds is how long the next attempt waits; absent where there is none.
	PauseSeconds float64 `json:"pause_seconds,omitempty"`
}

// Asker asks a model, with attempts. Its fields are set before its first use.
type Asker struct {
	Model   Model
	Secrets Secrets
	// Timeout bounds one attempt.
	Timeout time.Duration
	// Check refuses an answer, after it has been brought into canonical form, or rewrites it. An answer that is refused is not
	// asked for again.
	Check func(q Question, value []byte) ([]byte, error)
	// Log keeps an attempt. If it cannot, the run ends: an attempt that nobody can see is not made twice. Called at once by several.
	Log func(Attempt) error
	// Now and Pause are the clock. Pause ends early with ctx, whose error it gives.
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
}

// errLog says that the log cannot be written.
var errLog = errors.New("the log of the attempts cannot be written")

// Ask gives one answer. repeat counts from 1. Errors are clean of secrets and name no recording.
func (a *Asker) Ask(ctx context.Context, q Question, repeat int) (Answer, error) {
	for n := 1; ; n++ {
		at := Attempt{At: a.Now().UTC(), ID: q.ID, Repeat: repeat, Attempt: n}
		answer, err := a.once(ctx, q)
		at.Seconds = a.Now().Sub(at.At).Seconds()
		at.Model, at.InputTokens, at.OutputTokens = a.Secrets.Clean(answer.Model), answer.InputTokens, answer.OutputTokens
		var pause time.Duration
		if err == nil {
			at.OK = true
		} else {
			f := failureOf(err)
			at.Status, at.Error = a.Secrets.Clean(f.Status), a.Secrets.Clean(f.Err.Error())
			if f.Temporary && n < MaxAttempts && ctx.Err() == nil {
				pause = pauseAfter(n, f.RetryAfter)
			}
			at.PauseSeconds = pause.Seconds()
			err = &Failure{Status: at.Status, Err: errors.New(at.Error)}
		}
		if logErr := a.Log(at); logErr != nil {
			return Answer{}, fmt.Errorf("%w: %w", errLog, logErr)
		}
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return Answer{}, ctx.Err()
		case pause == 0 && n > 1:
			return Answer{}, fmt.Errorf("after %d attempts: %w", n, err)
		case pause == 0:
			return Answer{}, err
		}
		if err := a.Pause(ctx, pause); err != nil {
			return Answer{}, err
		}
	}
}

// pauseAfter gives how long to wait after attempt n; 0 where it is too long to wait.
func pauseAfter(n int, asked time.Duration) time.Duration {
	if asked > maxPause {
		return 0
	}
	return max(asked, firstPause<<(2*(n-1)))
}

// once makes one attempt. The tokens of an answer that is refused are still given: they were paid for.
func (a *Asker) once(ctx context.Context, q Question) (Answer, error) {
	inner, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	answer, err := a.Model.Ask(inner, q)
	if err != nil {
		if inner.Err() != nil && ctx.Err() == nil {
			err = &Failure{Temporary: true, Err: fmt.Errorf("no answer within %s", a.Timeout)}
		}
		return answer, err
	}
	value, err := fixture.Canonicalize(nil, answer.Value)
	if err != nil {
		return answer, final("the answer is no JSON: %w", err)
	}
	if a.Secrets.In(string(value)) {
		return answer, final("the answer has the key in it: nothing of it is kept")
	}
	if answer.Value, err = a.Check(q, value); err != nil {
		return answer, final("%w", err)
	}
	return answer, nil
}

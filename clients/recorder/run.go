package recorder

import (
	"context"
	"errors"
	"sync"
)

// Result is what came of one question.
type Result struct {
	// Index is the question's place in what was given.
	Index int
	// Answers has one for each repeat, in their order, where Err is nil.
	Answers []Answer
	Err     error
}

// Run asks all questions, repeats times each, at most parallel calls at once, and hands each result on when it has come: one at a
// time, in the order in which they come. It ends with ctx, with the first error of done, and with a log that cannot be written; a
// question that was under way then has no result. Nothing runs any more when it returns.
func Run(ctx context.Context, a *Asker, questions []Question, repeats, parallel int, done func(Result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		calls = make(chan struct{}, parallel)
		mu    sync.Mutex // has done called by one at a time
	)
	for i, q := range questions {
		r := &collector{Result: Result{Index: i, Answers: make([]Answer, repeats)}, left: repeats}
		for n := range repeats {
			select {
			case calls <- struct{}{}:
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				break
			}
			wg.Go(func() {
				defer func() { <-calls }()
				answer, err := a.Ask(ctx, q, n+1)
				mu.Lock()
				defer mu.Unlock()
				if ctx.Err() != nil || errors.Is(err, errLog) {
					cancel(err) // the first cause stays
					return
				}
				if r.add(n, answer, err); r.left == 0 {
					if err := done(r.Result); err != nil {
						cancel(err)
					}
				}
			})
		}
	}
	wg.Wait()
	return context.Cause(ctx)
}

// collector brings the answers of one question together.
type collector struct {
	Result
	left int
}

func (c *collector) add(n int, answer Answer, err error) {
	c.left--
	c.Answers[n] = answer
	if err != nil && c.Err == nil {
		c.Err = err
	}
}

package server

import (
	"context"
	"errors"
	"time"
)

// Clock is the time that leases last and that checkers are waited for.
type Clock interface {
	// Now gives the instant.
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own once d has passed. stop keeps it from doing so; it is false if it is too late.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// machineClock is the machine's.
type machineClock struct{}

// Now implements Clock.
func (machineClock) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (machineClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

var errTooLate = errors.New("it took too long")

// within gives a context that ends, with errTooLate for its cause, once d has passed on a clock.
func within(ctx context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := c.AfterFunc(d, func() { cancel(errTooLate) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

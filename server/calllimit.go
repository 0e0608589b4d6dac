package server

import (
	"fmt"
	"sync"

	"golang.org/x/time/rate"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// callLimits bounds the calls that begin: those of each caller by themselves, so that none can keep the others out, and those
// of all whom the server does not know together. Safe for concurrent use.
type callLimits struct {
	perSecond float64
	strangers *rate.Limiter

	mu      sync.Mutex // guards callers
	callers map[string]*rate.Limiter
}

func newCallLimits(perSecond float64) *callLimits {
	l := &callLimits{perSecond: perSecond, callers: map[string]*rate.Limiter{}}
	l.strangers = l.limiter()
	return l
}

func (l *callLimits) limiter() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(l.perSecond), max(1, int(l.perSecond)))
}

// caller takes one of a caller's calls. There are as many callers as tokens and certificates.
func (l *callLimits) caller(name, method string) error {
	l.mu.Lock()
	limiter := l.callers[name]
	if limiter == nil {
		limiter = l.limiter()
		l.callers[name] = limiter
	}
	l.mu.Unlock()
	return l.allow(limiter, method)
}

// stranger takes one of the calls that were refused.
func (l *callLimits) stranger(method string) error { return l.allow(l.strangers, method) }

func (l *callLimits) allow(limiter *rate.Limiter, method string) error {
	if limiter.Allow() {
		return nil
	}
	return fixture.NewError(fixture.CodeBusy, "call", method, fmt.Errorf("more than %g calls a second; try again later", l.perSecond))
}

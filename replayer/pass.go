package replayer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// Bounds of what one pass has in flight.
const (
	windowCases = 2048 // a power of two
	windowBytes = 16 << 20
	batchBytes  = 1 << 20
	batchCases  = 512
	firstBatch  = 16
)

// A batch that takes longer than slowBatch to be answered halves the next; one that is faster than fastBatch doubles it.
const (
	fastBatch = 50 * time.Millisecond
	slowBatch = 250 * time.Millisecond
)

// feed gives a pass its cases in the order in which they are asked. It is called once, from a goroutine of the pass.
type feed func(ask func(*Case) error) error

// pass asks one checker every case of a feed over one stream, and hands the answers on in the order of the feed.
type pass struct {
	checker Checker
	role    gate.Role
	feed    feed
	// handle takes an answer. It runs on the receiving goroutine: while it blocks, the pass stands still.
	handle  func(*Case, *Answer) error
	timeout time.Duration
	salt    uint64 // below 2^62
	elapsed func() time.Duration
	// batch fixes the size of the n-th batch; nil lets it follow the checker's speed.
	batch func(n int) int

	mu     sync.Mutex // guards all below
	room   sync.Cond  // signalled when base advances or the pass ends
	slots  [windowCases]slot
	base   uint64 // the oldest case that has not been handed on
	next   uint64 // the first case that has not been asked
	bytes  int    // of the cases from base to next
	size   int    // of the next batch
	ended  bool
	sent   bool // the feed is exhausted
	busy   bool // an answer is being handed on, so that nobody listens to the checker
	failed error
	hung   *time.Timer
}

type slot struct {
	c        *Case
	answer   Answer
	answered bool
	batch    *batchState
	done     string // the fixture that was handed on, until the place is taken again
}

type batchState struct {
	left int
	at   time.Duration
}

// run gives nil if every case was answered and handed on. A *Fault says that the checker is to blame.
func (p *pass) run(ctx context.Context) error {
	p.room.L = &p.mu
	p.size = firstBatch
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.checker.Open(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.hung = time.AfterFunc(p.timeout, func() {
		if err := p.hang(); err != nil {
			p.end(err)
			cancel()
		}
	})
	p.mu.Unlock()
	defer p.hung.Stop()
	stop := context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })
	defer stop()

	sender := make(chan error, 1)
	go func() {
		err := p.send(stream)
		if err != nil {
			p.end(err)
			cancel()
		}
		sender <- err
	}()
	received := p.receive(stream)
	p.end(received)
	cancel()
	sendErr := <-sender
	return p.verdict(received, sendErr)
}

// end marks the pass as over and keeps the first reason.
func (p *pass) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended, p.failed = true, err
	}
	p.room.Broadcast()
}

// verdict picks the error that says what happened: a fault that a stream names outweighs the cancellation it caused.
func (p *pass) verdict(received, sent error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var fault *Fault
	for _, err := range []error{p.failed, received, sent} {
		if errors.As(err, &fault) {
			return fault
		}
	}
	if p.failed != nil {
		return p.failed
	}
	return received
}

// hang is asked when nothing has come for the timeout. It gives nil, and waits on, if that is not the checker's fault.
func (p *pass) hang() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	if p.busy || p.base == p.next && !p.sent {
		p.hung.Reset(p.timeout)
		return nil
	}
	if p.base == p.next {
		return faultf(gate.CheckerTimeout, "%s: it did not end its stream within %s", p.name(), p.timeout)
	}
	return faultf(gate.CheckerTimeout, "%s: no answer for %s; %s", p.name(), p.timeout, p.waiting())
}

func (p *pass) name() string { return fmt.Sprintf("%s %q", p.role, p.checker.Description().Name) }

// waiting says what is unanswered. mu is held.
func (p *pass) waiting() string {
	n := 0
	first := ""
	for i := p.base; i < p.next; i++ {
		if s := &p.slots[i%windowCases]; !s.answered {
			if n++; n == 1 {
				first = s.c.Fixture.ID
			}
		}
	}
	if n == 0 {
		return "every case that was asked had been answered"
	}
	return fmt.Sprintf("%d cases in flight, the first of them fixture %q", n, first)
}

// send feeds the stream until the feed is exhausted or the pass ends.
func (p *pass) send(stream Stream) error {
	var batch []Request
	var cases []*Case
	bytes, n := 0, 0
	most := p.batchSize(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := p.reserve(batch, cases, bytes); err != nil {
			return err
		}
		err := stream.Send(batch)
		batch, cases, bytes = batch[:0], cases[:0], 0
		n++
		most = p.batchSize(n)
		return err
	}
	err := p.feed(func(c *Case) error {
		batch = append(batch, Request{Fixture: c.Fixture, Stubs: c.Stubs})
		cases = append(cases, c)
		if bytes += weight(c); bytes >= batchBytes || len(batch) >= most {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if errors.Is(err, io.EOF) {
		return nil // the checker has ended the stream; the receiving side learns why
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.sent = true
	p.hung.Reset(p.timeout)
	p.mu.Unlock()
	return stream.CloseSend()
}

func weight(c *Case) int {
	n := len(c.Fixture.Canonical()) + 64
	for _, s := range c.Stubs {
		n += len(s.Value) + len(s.Call)
	}
	return n
}

func (p *pass) batchSize(n int) int {
	if p.batch != nil {
		return p.batch(n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// errEnded is what a sender sees when the receiving side has ended the pass; it never leaves the package as the reason.
var errEnded = errors.New("the pass has ended")

// receive takes answers until the checker ends the stream.
func (p *pass) receive(stream Stream) error {
	for {
		answers, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return p.complete()
		}
		if err != nil {
			return p.blame(err)
		}
		if len(answers) == 0 {
			continue // a message without an answer is no sign of life
		}
		if err := p.take(answers); err != nil {
			return err
		}
		if err := p.deliver(); err != nil {
			return err
		}
	}
}

// blame adds to a fault what was in flight.
func (p *pass) blame(err error) error {
	var fault *Fault
	if !errors.As(err, &fault) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return faultf(fault.Code, "%s: %s; %s", p.name(), fault.Message, p.waiting())
}

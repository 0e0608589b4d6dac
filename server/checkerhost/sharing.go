package checkerhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// sharing is one stream of a sharer: a stream on each instance, and one more for the cases of each instance that is lost. A
// case is unanswered in one part at most, and in the spare part of another instance at most once: so it is answered once.
type sharing struct {
	ctx context.Context
	s   *sharer
	out chan delivery
	// last is the part whose answers the caller of Recv has in hand.
	last *part

	mu      sync.Mutex // guards all below, and asked and halfClosed of every part
	parts   []*part
	counter uint64 // of the cases that were asked
	running int    // parts that have not ended
}

// part is one stream on one instance.
type part struct {
	in     *instance
	stream replayer.Stream
	// spare says that it is for cases that another instance had been asked before.
	spare bool
	asked map[uint64]asked // the unanswered cases, by their ids
	// queue has the batches that wait to be sent. No more cases than maxResults are ever unanswered: it is full only where an
	// instance answers what it has not been sent.
	queue      chan []replayer.Request
	halfClosed bool
	resume     chan struct{} // says that the answers that were handed on are no longer in use
}

type asked struct {
	replayer.Request
	n uint64 // the order in which the cases were asked
}

type delivery struct {
	from    *part
	answers []replayer.Answer
	err     error
}

func newPart(in *instance, stream replayer.Stream, spare bool) *part {
	return &part{in: in, stream: stream, spare: spare, asked: map[uint64]asked{}, queue: make(chan []replayer.Request, maxResults), resume: make(chan struct{}, 1)}
}

func (s *sharing) start(p *part) {
	s.s.streams.Go(func() { s.send(p) })
	s.s.streams.Go(func() { s.receive(p) })
}

// Send implements replayer.Stream. The batch goes to the instance with the fewest cases in flight.
func (s *sharing) Send(batch []replayer.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.idlest(func(p *part) bool { return !p.spare })
	if p == nil {
		return io.EOF // Recv says why
	}
	for _, r := range batch {
		s.counter++
		p.asked[r.CaseID] = asked{r, s.counter}
	}
	select {
	case p.queue <- slices.Clone(batch):
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// idlest gives the part among those that may be whose instance has the fewest cases in flight, and is not lost; or nil. mu is
// held.
func (s *sharing) idlest(may func(*part) bool) *part {
	flight := map[*instance]int{}
	for _, p := range s.parts {
		flight[p.in] += len(p.asked)
	}
	var best *part
	for _, p := range s.parts {
		if may(p) && (best == nil || flight[p.in] < flight[best.in]) && !s.s.isLost(p.in) {
			best = p
		}
	}
	return best
}

// CloseSend implements replayer.Stream.
func (s *sharing) CloseSend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if !p.spare {
			close(p.queue)
		}
	}
	return nil
}

// send sends what is queued for a part.
func (s *sharing) send(p *part) {
	for {
		select {
		case batch, more := <-p.queue:
			if !more {
				s.mu.Lock()
				p.halfClosed = true
				s.mu.Unlock()
			}
			var err error
			if more {
				err = p.stream.Send(batch)
			} else {
				err = p.stream.CloseSend()
			}
			if err != nil && !errors.Is(err, io.EOF) { // at EOF the receiving side learns why
				s.deliver(delivery{p, nil, named(p.in, err)})
			}
			if err != nil || !more {
				return
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// receive hands on the answers of a part, until it ends.
func (s *sharing) receive(p *part) {
	for {
		answers, err := p.stream.Recv()
		if err != nil {
			if err = s.ended(p, err); err != nil {
				s.deliver(delivery{p, nil, err})
			}
			return
		}
		err = s.account(p, answers)
		if !s.deliver(delivery{p, answers, err}) || err != nil {
			return
		}
		select {
		case <-p.resume:
		case <-s.ctx.Done():
			return
		}
	}
}

// deliver is false where nobody takes any more.
func (s *sharing) deliver(d delivery) bool {
	select {
	case s.out <- d:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// Recv implements replayer.Stream.
func (s *sharing) Recv() ([]replayer.Answer, error) {
	if s.last != nil {
		s.last.resume <- struct{}{}
		s.last = nil
	}
	select {
	case d := <-s.out:
		if d.err == nil {
			s.last = d.from
		}
		return d.answers, d.err
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

// account takes answered cases from those in flight. An instance answers what it was asked itself, and that once.
func (s *sharing) account(p *part, answers []replayer.Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range answers {
		id := answers[i].CaseID
		if _, ok := p.asked[id]; !ok {
			return named(p.in, &replayer.Fault{Code: gate.CheckerProtocol, Message: fmt.Sprintf("it answered case %d, which it was never asked or has answered before", id)})
		}
		delete(p.asked, id)
	}
	return nil
}

// ended takes note that a part's stream has ended. It gives what ends the whole: a fault, or io.EOF after the last part.
func (s *sharing) ended(p *part, err error) error {
	if isLoss(err) {
		if err := s.handOver(p, err); err != nil {
			return named(p.in, err)
		}
	} else if !errors.Is(err, io.EOF) {
		return named(p.in, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, io.EOF) && !p.halfClosed {
		return named(p.in, &replayer.Fault{Code: gate.CheckerFailed, Message: "it ended the stream before it was asked everything"})
	}
	if s.running--; s.running == 0 {
		return io.EOF // what is unanswered now never will be
	}
	return nil
}

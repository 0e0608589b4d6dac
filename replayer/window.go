package replayer

import (
	"fmt"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// reserve waits until the batch fits into the window, and gives its cases their ids.
func (p *pass) reserve(batch []Request, cases []*Case, bytes int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.ended && p.next != p.base && (p.next-p.base+uint64(len(batch)) > windowCases || p.bytes+bytes > windowBytes) {
		p.room.Wait()
	}
	if p.ended {
		return errEnded
	}
	if p.base == p.next {
		p.hung.Reset(p.timeout)
	}
	state := &batchState{left: len(batch), at: p.elapsed()}
	for i := range batch {
		batch[i].CaseID = p.caseID(p.next)
		p.slots[p.next%windowCases] = slot{c: cases[i], batch: state}
		p.next++
	}
	p.bytes += bytes
	return nil
}

// take matches answers with their cases.
func (p *pass) take(answers []Answer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range answers {
		if err := p.match(&answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// match is called with mu held.
func (p *pass) match(a *Answer) error {
	i := p.counter(a.CaseID)
	switch {
	case i >= p.next || a.CaseID == 0:
		return faultf(gate.CheckerProtocol, "%s: it answered case %d, which it was never asked; %s", p.name(), a.CaseID, p.waiting())
	case i < p.base && p.next-i <= windowCases:
		return faultf(gate.CheckerProtocol, "%s: it answered fixture %q twice", p.name(), p.slots[i%windowCases].done)
	case i < p.base:
		return faultf(gate.CheckerProtocol, "%s: it answered case %d twice, %d cases later", p.name(), a.CaseID, p.next-i)
	}
	s := &p.slots[i%windowCases]
	if s.answered {
		return faultf(gate.CheckerProtocol, "%s: it answered fixture %q twice", p.name(), s.c.Fixture.ID)
	}
	s.answer, s.answered = *a, true
	if s.batch.left--; s.batch.left == 0 {
		switch took := p.elapsed() - s.batch.at; {
		case took < fastBatch:
			p.size = min(p.size*2, batchCases)
		case took > slowBatch:
			p.size = max(p.size/2, 1)
		}
	}
	return nil
}

// deliver hands on, in order, what has been answered without a gap. What is answered stays in its slot until then: nobody
// else touches it.
func (p *pass) deliver() error {
	defer p.listen()
	for {
		from, n := p.ready()
		if n == 0 {
			return nil
		}
		for i := from; i < from+n; i++ {
			s := &p.slots[i%windowCases]
			if err := p.handle(s.c, &s.answer); err != nil {
				return err
			}
		}
		p.done(n)
	}
}

// maxReady bounds what is handed on at a time, so that the window does not empty meanwhile.
const maxReady = 256

// ready gives the first case of the window and how many are answered without a gap.
func (p *pass) ready() (from, n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = true
	for n < maxReady && p.base+n != p.next && p.slots[(p.base+n)%windowCases].answered {
		n++
	}
	return p.base, n
}

// done takes n cases out of the window.
func (p *pass) done(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		s := &p.slots[p.base%windowCases]
		p.bytes -= weight(s.c)
		*s = slot{done: s.c.Fixture.ID}
		p.base++
	}
	p.room.Broadcast()
}

// listen says that the checker is being listened to again.
func (p *pass) listen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	p.hung.Reset(p.timeout)
}

// complete is asked when the checker has ended the stream in order: then everything must have been asked and answered.
func (p *pass) complete() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.sent {
		return faultf(gate.CheckerFailed, "%s: it ended the stream before it was asked everything; %s", p.name(), p.waiting())
	}
	missing := &missingAnswers{}
	for i := p.base; i < p.next; i++ {
		if s := &p.slots[i%windowCases]; !s.answered {
			missing.cases = append(missing.cases, *s.c)
		}
	}
	if len(missing.cases) > 0 {
		return missing
	}
	return nil
}

// missingAnswers names the cases that a checker was asked and never answered, though it ended its stream in order.
type missingAnswers struct{ cases []Case }

func (m *missingAnswers) Error() string {
	return fmt.Sprintf("%d cases were not answered", len(m.cases))
}

// Case ids are the counter of the case, scrambled: they are unique, and say nothing about order or fixture.
const (
	scramble   = 0x9E3779B97F4A7C15
	unscramble = 0xF1DE83E19937733D // scramble * unscramble == 1 (mod 2^64)
)

func (p *pass) caseID(counter uint64) uint64 {
	// The highest bit is set, so that an id is never zero, and tells an id from a guess.
	return (counter + p.salt | 1<<63) * scramble
}

func (p *pass) counter(id uint64) uint64 {
	x := id * unscramble
	if x&(1<<63) == 0 {
		return ^uint64(0)
	}
	return x&^(1<<63) - p.salt
}

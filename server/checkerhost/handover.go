package checkerhost

import (
	"cmp"
	"maps"
	"slices"

	"github.com/retrial-dev/retrial/replayer"
)

// handOver has another instance asked what a part of a lost one has not answered. It gives lost, what the part ended with,
// where there is no other instance, or where the cases have been handed over before.
func (s *sharing) handOver(p *part, lost error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cases := slices.SortedFunc(maps.Values(p.asked), func(a, b asked) int { return cmp.Compare(a.n, b.n) })
	if p.spare {
		if len(cases) > 0 {
			return lost
		}
		return nil // whether the instance is lost for the others, they find out themselves
	}
	clear(p.asked)
	s.s.markLost(p.in)
	tried := map[*instance]bool{}
	for {
		to := s.idlest(func(q *part) bool { return !q.spare && !tried[q.in] })
		switch {
		case to == nil:
			return lost
		case len(cases) == 0:
			s.s.lose(p.in, nil, 0)
			return nil
		}
		tried[to.in] = true
		s.mu.Unlock()
		stream, err := to.in.Open(s.ctx)
		s.mu.Lock()
		switch {
		case isLoss(err):
			continue // nothing of the cases was sent
		case err != nil:
			return named(to.in, err)
		}
		s.s.lose(p.in, to.in, len(cases))
		s.resend(newPart(to.in, stream, true), cases)
		return nil
	}
}

// Bounds of one message of handed-over cases: those of the batches of a pass.
const (
	spareCases = 512
	spareBytes = 1 << 20
)

// resend has a fresh part ask cases, and nothing else. mu is held.
func (s *sharing) resend(p *part, cases []asked) {
	var batch []replayer.Request
	bytes := 0
	flush := func() {
		if len(batch) > 0 {
			p.queue <- batch // fewer batches than cases, so that there is room
		}
		batch, bytes = nil, 0
	}
	for _, c := range cases {
		p.asked[c.CaseID] = c
		batch = append(batch, c.Request)
		if bytes += caseSize(&c.Request); bytes >= spareBytes || len(batch) == spareCases {
			flush()
		}
	}
	flush()
	close(p.queue)
	s.parts = append(s.parts, p)
	s.running++
	s.start(p)
}

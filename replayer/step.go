package replayer

// step tells the progress of one phase: about a hundred times, and at its end.
type step struct {
	docket *docket
	p      Progress
	every  uint64
}

func newStep(phase Phase, expected uint64, d *docket) *step {
	return &step{docket: d, p: Progress{Phase: phase, Expected: expected}, every: max(1, expected/100)}
}

func (s *step) answered() {
	s.p.Answered++
	if s.p.Answered == s.p.Expected || s.p.Answered%s.every == 0 {
		s.docket.progress(s.p)
	}
}

func (s *step) confirmed(n uint64) {
	s.p.Confirmed = n
	s.answered()
}

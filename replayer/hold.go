package replayer

import (
	"context"
	"sync"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// maxHeld bounds the findings about the candidate that wait for the baseline. Behind it the candidate waits too.
const maxHeld = 4096

// hold keeps what is found about the candidate until the baseline is confirmed.
type hold struct {
	ctx    context.Context
	docket *docket
	open   chan struct{} // closed by release

	mu   sync.Mutex // guards held
	held []gate.Finding
}

func newHold(ctx context.Context, d *docket) *hold {
	return &hold{ctx: ctx, docket: d, open: make(chan struct{})}
}

// release lets everything through. It is called at most once.
func (h *hold) release() { close(h.open) }

// file passes a finding on, or keeps it. It blocks where too much is kept, until release or the end of ctx.
func (h *hold) file(f gate.Finding) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.open:
		h.flush()
		h.docket.file(f)
		return nil
	default:
	}
	if len(h.held) == maxHeld {
		if err := h.await(); err != nil {
			return err
		}
		h.flush()
	}
	h.held = append(h.held, f)
	return nil
}

// wait blocks until everything that was filed has been passed on, or gives the reason why it never will be.
func (h *hold) wait() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.await(); err != nil {
		return err
	}
	h.flush()
	return nil
}

func (h *hold) await() error {
	select {
	case <-h.open:
		return nil
	case <-h.ctx.Done():
		return context.Cause(h.ctx)
	}
}

// flush is called with mu held, after release.
func (h *hold) flush() {
	for _, f := range h.held {
		h.docket.file(f)
	}
	h.held = nil
}

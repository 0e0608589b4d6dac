package server

import "sync"

// bell tells those who watch that something changed. The zero value is ready to use; safe for concurrent use.
type bell struct {
	mu sync.Mutex // guards ch
	ch chan struct{}
}

// rung gives a channel that is closed at the next ring.
func (b *bell) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

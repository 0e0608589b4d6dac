package wire

import "sync"

// Pool keeps the buffers of messages of one kind: a mem.BufferPool. grpc-go's own clears a megabyte for each message of
// more than 32 KiB, which costs as much as all else that is done with it; here every byte is overwritten before it is read.
// The zero value is ready to use; safe for concurrent use.
type Pool struct{ p sync.Pool }

// Get gives a buffer of n bytes. It holds what its last user left there.
func (p *Pool) Get(n int) *[]byte {
	if b, ok := p.p.Get().(*[]byte); ok && cap(*b) >= n {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n, n+n/4)
	return &b
}

// Put takes a buffer back.
func (p *Pool) Put(b *[]byte) {
	const most = 4 << 20 // a huge message must not be kept for small ones
	if cap(*b) <= most {
		p.p.Put(b)
	}
}

package replayer

import (
	"context"
	"sync"
)

// reading is a block that is being read.
type reading struct {
	i     int
	done  chan struct{}
	cases []Case
	err   error
}

func reserve(i int) *reading {
	return &reading{i: i, done: make(chan struct{})}
}

func (r *reading) from(source Source) {
	defer close(r.done)
	r.cases = make([]Case, 0, 512)
	r.err = source.Block(r.i, func(c Case) error {
		r.cases = append(r.cases, c)
		return nil
	})
}

// readers is how many blocks are read at a time in front of the one that is at work.
const readers = 2

// ahead reads blocks in the order that is given and hands each on, while the next ones are read already. The cases are
// fn's to keep.
func ahead(ctx context.Context, source Source, order []int, fn func(i int, cases []Case) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	queue := make(chan *reading, readers-1)
	wg.Go(func() {
		defer close(queue)
		for _, i := range order {
			r := reserve(i)
			select {
			case queue <- r:
				wg.Go(func() { r.from(source) })
			case <-ctx.Done():
				return
			}
		}
	})
	for r := range queue {
		select {
		case <-r.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r.err != nil {
			return r.err
		}
		if err := fn(r.i, r.cases); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// shelved bounds the blocks that one reader has read and the other has not taken yet.
const shelved = 4

// shelf has two readers that go through the same blocks side by side read each of them once. Where one is far ahead, both
// read for themselves.
type shelf struct {
	mu     sync.Mutex // guards blocks and next
	blocks map[int]*reading
	next   [2]int // the block that each reader comes to next
}

// reader reads a source, alone or as one of the two of a shelf.
type reader struct {
	Source
	shelf *shelf
	me    int
}

// share makes two readers of a source. Each reads its blocks in ascending order.
func share(source Source) (a, b reader) {
	s := &shelf{blocks: map[int]*reading{}}
	return reader{source, s, 0}, reader{source, s, 1}
}

// read gives the cases of a block. They must not be written to.
func (r reader) read(i int) ([]Case, error) {
	b, mine := reserve(i), true
	if r.shelf != nil {
		b, mine = r.shelf.take(r.me, i)
	}
	if mine {
		b.from(r.Source)
	} else {
		<-b.done
	}
	return b.cases, b.err
}

// take gives the block if it is on the shelf, or a place for it, which is the caller's to fill.
func (s *shelf) take(me, i int) (b *reading, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[me] = i + 1
	if b = s.blocks[i]; b != nil {
		delete(s.blocks, i)
		return b, false
	}
	b = reserve(i)
	if s.next[1-me] <= i && len(s.blocks) < shelved {
		s.blocks[i] = b
	}
	return b, true
}

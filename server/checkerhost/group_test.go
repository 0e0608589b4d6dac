//go:build linux

package checkerhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// fake is an instance in memory. It answers in an order and in groups of its own, and is lost when it has answered so many cases.
type fake struct {
	id    string
	seed  uint64
	fails int // answers after which it is lost; negative: never
	// spareFails has every stream but the first be lost without an answer.
	spareFails bool

	mu       sync.Mutex
	lost     bool
	streams  int
	answered int
	asked    map[uint64]int // how often, over all streams
}

var errLost = &replayer.Fault{Code: gate.CheckerFailed, Message: "gone", Lost: true}

// Description implements replayer.Checker.
func (f *fake) Description() replayer.Description { return replayer.Description{Name: "fake"} }

// Open implements replayer.Checker.
func (f *fake) Open(ctx context.Context) (replayer.Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return nil, errLost
	}
	f.streams++
	f.seed++
	return &fakeStream{f: f, lost: f.spareFails && f.streams > 1, ctx: ctx, random: rand.New(rand.NewPCG(f.seed, 1)), in: make(chan []replayer.Request, maxResults)}, nil
}

type fakeStream struct {
	f      *fake
	ctx    context.Context
	random *rand.Rand
	in     chan []replayer.Request
	ended  bool
	lost   bool
	kept   []uint64
	out    []replayer.Answer
}

// Send implements replayer.Stream.
func (s *fakeStream) Send(batch []replayer.Request) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.f.lost {
		return io.EOF
	}
	for _, r := range batch {
		s.f.asked[r.CaseID]++
	}
	s.in <- slices.Clone(batch)
	return nil
}

// CloseSend implements replayer.Stream.
func (s *fakeStream) CloseSend() error {
	close(s.in)
	return nil
}

// Recv implements replayer.Stream. Answers that it has given are overwritten by the next call.
func (s *fakeStream) Recv() ([]replayer.Answer, error) {
	for len(s.kept) == 0 || !s.ended && s.random.IntN(3) == 0 {
		select {
		case batch, more := <-s.in:
			s.ended = !more
			for _, r := range batch {
				s.kept = append(s.kept, r.CaseID)
			}
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
		if s.ended && len(s.kept) == 0 {
			return nil, io.EOF
		}
		if s.lost {
			return nil, errLost
		}
	}
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	n := 1 + s.random.IntN(len(s.kept))
	if s.f.fails >= 0 && s.f.answered+n > s.f.fails {
		n = s.f.fails - s.f.answered
		if n <= 0 {
			s.f.lost = true
			return nil, errLost
		}
	}
	s.f.answered += n
	s.random.Shuffle(len(s.kept), func(i, j int) { s.kept[i], s.kept[j] = s.kept[j], s.kept[i] })
	s.out = s.out[:0]
	for _, id := range s.kept[:n] {
		s.out = append(s.out, replayer.Answer{CaseID: id})
	}
	s.kept = s.kept[n:]
	return s.out, nil
}

// However the cases fall to the instances, and whichever one is lost, and when: every case is answered once, and asked of two
// instances at most; what is said of the loss is so.
func TestEveryCaseIsAnsweredOnce(t *testing.T) {
	checkGoroutines(t)
	document := document(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "instances")
		loser := rapid.IntRange(-1, n-1).Draw(t, "loser")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 30).Draw(t, "batches")
		s := &sharer{streams: new(sync.WaitGroup)}
		var fakes []*fake
		total := 0
		for _, size := range sizes {
			total += size
		}
		for i := range n {
			f := &fake{id: fmt.Sprint("i-", i), fails: -1, seed: rapid.Uint64().Draw(t, "seed"), asked: map[uint64]int{}}
			if i == loser {
				f.fails = rapid.IntRange(0, total/n).Draw(t, "after")
			}
			fakes = append(fakes, f)
			s.instances = append(s.instances, &instance{id: f.id, Checker: f})
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer s.streams.Wait()
		defer cancel()
		stream, err := s.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			id := uint64(0)
			for _, size := range sizes {
				batch := make([]replayer.Request, size)
				for i := range batch {
					id++
					batch[i] = replayer.Request{CaseID: id, Fixture: document}
				}
				if stream.Send(batch) != nil {
					return
				}
				clear(batch) // the slice is the caller's
			}
			_ = stream.CloseSend()
		}()
		answered := map[uint64]int{}
		for {
			answers, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				answered[a.CaseID]++
			}
		}
		again := 0
		for id := range uint64(total) {
			times := 0
			for _, f := range fakes {
				if f.asked[id+1] > 1 {
					t.Fatalf("%s was asked case %d %d times", f.id, id+1, f.asked[id+1])
				}
				times += f.asked[id+1]
			}
			if answered[id+1] != 1 || times > 2 {
				t.Fatalf("case %d was asked of %d instances and answered %d times", id+1, times, answered[id+1])
			}
			again += times - 1
		}
		losses := s.Losses()
		if lost := loser >= 0 && fakes[loser].lost; lost != (len(losses) == 1) {
			t.Fatalf("lost: %t, told: %v", lost, losses)
		}
		if len(losses) == 1 {
			l := losses[0]
			if l.Instance != fakes[loser].id || l.To == l.Instance || (l.To == "") != (l.Cases == 0) || l.Cases < again {
				t.Fatalf("told: %v; %d cases were asked twice", l, again)
			}
		}
	})
}

// A case whose second instance is lost too is a fault, though there is a third one; and so is the loss of the last instance.
func TestSecondLossIsAFault(t *testing.T) {
	for name, fakes := range map[string][]*fake{
		"second": {{fails: 0}, {fails: -1, spareFails: true}, {fails: -1, spareFails: true}},
		"last":   {{fails: 3}, {fails: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			checkGoroutines(t)
			s := &sharer{streams: new(sync.WaitGroup)}
			for i, f := range fakes {
				f.asked = map[uint64]int{}
				s.instances = append(s.instances, &instance{id: fmt.Sprint("i-", i), Checker: f})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer s.streams.Wait()
			defer cancel()
			stream, err := s.Open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for id := range uint64(20) {
				if err := stream.Send([]replayer.Request{{CaseID: id + 1, Fixture: document(t)}}); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			for {
				if _, err = stream.Recv(); err != nil {
					break
				}
			}
			var fault *replayer.Fault
			if !errors.As(err, &fault) || fault.Code != gate.CheckerFailed {
				t.Errorf("two were lost, and the stream ends with %v", err)
			}
			if n := len(s.Losses()); n > 1 {
				t.Errorf("%d losses were made good by nobody", n)
			}
		})
	}
}

func document(t *testing.T) *fixture.Fixture {
	t.Helper()
	f, err := fixture.Decode([]byte(`{"fixture_id":"f","source_row_id":"r","verdict":"keep","decided_at":"2026-01-01T00:00:00Z","n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// An instance that is gone before a pass is left out of it, and of those behind it, and that is told once. Without any, there is no
// pass.
func TestInstanceIsGoneBeforeAPass(t *testing.T) {
	s := &sharer{streams: new(sync.WaitGroup)}
	fakes := []*fake{{fails: -1, asked: map[uint64]int{}}, {fails: -1, asked: map[uint64]int{}}}
	for i, f := range fakes {
		s.instances = append(s.instances, &instance{id: fmt.Sprint("i-", i), Checker: f})
	}
	open := func() error {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Open(ctx)
		cancel()
		s.streams.Wait()
		return err
	}
	fakes[0].lost = true
	for range 2 {
		if err := open(); err != nil {
			t.Error(err)
		}
	}
	if l := s.Losses(); len(l) != 1 || l[0] != (replayer.Loss{Instance: "i-0"}) {
		t.Errorf("told: %v", l)
	}
	fakes[1].lost = true
	for range 2 { // once it is found out, once it is known
		if err := open(); !isLoss(err) {
			t.Errorf("nobody is there, and the pass begins with %v", err)
		}
		s.markLost(s.instances[1])
	}
	if l := s.Losses(); len(l) != 0 {
		t.Errorf("told: %v", l)
	}
}

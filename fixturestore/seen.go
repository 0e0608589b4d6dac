package fixturestore

import (
	"hash/maphash"
	"sync"
)

// seen remembers what was held against its digests before, by a hash of 64 bits under a key that nobody knows: reading
// it again, as each pass of a replay does, then costs a tenth of the SHA-256 and notices a change as surely. Safe for
// concurrent use.
type seen struct {
	seed maphash.Seed

	mu   sync.Mutex // guards sums
	sums map[uint64]uint64
}

func newSeen() *seen { return &seen{seed: maphash.MakeSeed(), sums: map[uint64]uint64{}} }

// sumOf hashes what was loaded, in its order.
func (s *seen) sumOf(loaded []raw) uint64 {
	sum := uint64(len(loaded))
	for _, r := range loaded {
		sum = sum*0x9E3779B97F4A7C15 ^ maphash.Bytes(s.seed, r.doc) ^ maphash.Bytes(s.seed, r.layout)*0xD6E8FEB86659FD93
		if r.stubs != nil {
			sum = sum*0x9E3779B97F4A7C15 ^ maphash.Bytes(s.seed, r.stubs)
		}
	}
	return sum
}

func (s *seen) knows(place, sum uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.sums[place]
	return ok && got == sum
}

func (s *seen) learn(place, sum uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums[place] = sum
}

package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A manifest is a hash tree over the entries of a version in ascending order of ids. Where a node ends depends on the
// ids alone, so that two versions share every node in whose range nothing changed, however they came about.

// entry is one fixture of a manifest: where its bytes lie, and their hashes.
type entry struct {
	id     string
	object uint64 // sequence of the fixture
	digest fixture.Digest
	stubs  uint64 // sequence of its stubs; 0 if it has none
	stubby fixture.Digest
}

func (e entry) stubDigest() *fixture.Digest {
	if e.stubs == 0 {
		return nil
	}
	return &e.stubby
}

func (e entry) same(o entry) bool {
	return e.digest == o.digest && (e.stubs == 0) == (o.stubs == 0) && e.stubby == o.stubby
}

// ref points from a branch to a node below it.
type ref struct {
	last  string // the greatest id below
	seq   uint64
	hash  fixture.Digest
	count uint64 // entries below
	level uint8  // of the node that is pointed to; 0 is a leaf
}

const (
	nodeFormat = 1
	// A node ends behind an entry whose id hashes to a multiple of fanout: 32 entries on average.
	fanout = 32
	// maxEntries ends a node whatever the hashes say, so that ids chosen with bad intent cannot make it grow.
	maxEntries = 1024
)

// ends says whether a node of this level ends behind the id.
func ends(id string, level uint8) bool {
	h := fnv.New64a()
	h.Write([]byte{level})
	h.Write([]byte(id))
	x := h.Sum64()
	x ^= x >> 32
	x *= 0x9E3779B97F4A7C15
	return (x>>40)%fanout == 0
}

func encodeLeaf(entries []entry) []byte {
	b := append(make([]byte, 0, len(entries)*96), nodeFormat, 0)
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, e := range entries {
		b = appendName(b, e.id)
		b = binary.AppendUvarint(b, e.object)
		b = append(b, e.digest[:]...)
		b = binary.AppendUvarint(b, e.stubs)
		if e.stubs != 0 {
			b = append(b, e.stubby[:]...)
		}
	}
	return b
}

func encodeBranch(level uint8, refs []ref) []byte {
	b := append(make([]byte, 0, len(refs)*96), nodeFormat, level)
	b = binary.AppendUvarint(b, uint64(len(refs)))
	for _, r := range refs {
		b = appendName(b, r.last)
		b = binary.AppendUvarint(b, r.seq)
		b = append(b, r.hash[:]...)
		b = binary.AppendUvarint(b, r.count)
	}
	return b
}

func appendName(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// node is a decoded node: entries for a leaf, refs for a branch.
type node struct {
	entries []entry
	refs    []ref
}

func decodeNode(b []byte, level uint8, entries []entry) (node, error) {
	if len(b) < 2 || b[0] != nodeFormat || b[1] != level {
		return node{}, errors.New("it is no manifest node of the level that was expected")
	}
	r := reader{b: b[2:]}
	count := r.uvarint()
	if count > uint64(len(b)) {
		return node{}, errors.New("manifest node is cut")
	}
	var n node
	if level == 0 {
		n.entries = r.entries(entries, int(count))
	}
	for range count * min(uint64(level), 1) {
		n.refs = append(n.refs, ref{last: r.name(), seq: r.uvarint(), hash: r.digest(), count: r.uvarint(), level: level - 1})
	}
	if r.bad || len(r.b) > 0 {
		return node{}, fmt.Errorf("manifest node is cut or has %d bytes too many", len(r.b))
	}
	return n, nil
}

// reader takes a node apart; bad is set once something is missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// entries appends the entries of a leaf. Their ids share one string: a leaf is read whole.
func (r *reader) entries(to []entry, count int) []entry {
	from := len(to)
	var buf [2048]byte
	var places [128]int
	ids, ends := buf[:0], places[:0]
	for range count {
		ids = append(ids, r.take(r.uvarint())...)
		ends = append(ends, len(ids))
		e := entry{object: r.uvarint(), digest: r.digest(), stubs: r.uvarint()}
		if e.stubs != 0 {
			e.stubby = r.digest()
		}
		to = append(to, e)
	}
	all, at := string(ids), 0
	for i, end := range ends {
		to[from+i].id, at = all[at:end], end
	}
	return to
}

func (r *reader) name() string { return string(r.take(r.uvarint())) }

func (r *reader) digest() (d fixture.Digest) {
	copy(d[:], r.take(uint64(len(d))))
	return d
}

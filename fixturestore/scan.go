package fixturestore

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Item is one fixture of a version, verified.
type Item struct {
	Fixture *fixture.Fixture
	Digest  fixture.Digest
	// Stubs is the stored form of its stubs; nil if it has none.
	Stubs []byte
	// StubDigest is the digest of Stubs; nil if it has none.
	StubDigest *fixture.Digest
}

// readNode reads and verifies one node in a transaction of its own.
func (s *Store) readNode(r ref) (n node, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		n, err = nodeIn(tx, r, nil)
		return err
	})
	return n, err
}

// nodeIn appends the entries of a leaf to those that are given.
func nodeIn(tx *bolt.Tx, r ref, entries []entry) (node, error) {
	b := tx.Bucket(bucketNodes).Get(number(r.seq))
	subject := fmt.Sprintf("manifest node %d, up to fixture %q", r.seq, r.last)
	if b == nil {
		return node{}, corrupt(subject, errors.New("missing"))
	}
	if fixture.DigestOf(b) != r.hash {
		return node{}, corrupt(subject, errors.New("it does not match its hash"))
	}
	n, err := decodeNode(b, r.level, entries)
	if err != nil {
		return node{}, corrupt(subject, err)
	}
	return n, nil
}

// leaves gives the leaves of a version in order. It reads the branches alone, about a thirtieth of the manifest.
func (s *Store) leaves(v *Version) ([]ref, error) {
	level := []ref{v.root}
	for level[0].level > 0 {
		var below []ref
		for _, r := range level {
			n, err := s.readNode(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Name(), err)
			}
			below = append(below, n.refs...)
		}
		if len(below) == 0 {
			return nil, corrupt(v.Name(), errors.New("a branch of its manifest is empty"))
		}
		level = below
	}
	return level, nil
}

// nodes gives the sequence of every node of a version by its hash.
func (s *Store) nodes(v *Version) (map[fixture.Digest]uint64, error) {
	out := map[fixture.Digest]uint64{v.root.hash: v.root.seq}
	level := []ref{v.root}
	for len(level) > 0 && level[0].level > 0 {
		var below []ref
		for _, r := range level {
			n, err := s.readNode(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Name(), err)
			}
			for _, child := range n.refs {
				out[child.hash] = child.seq
			}
			below = append(below, n.refs...)
		}
		level = below
	}
	return out, nil
}

// entries walks a version's manifest, one leaf in memory at a time.
type entries struct {
	s      *Store
	leaves []ref
	open   []entry
}

func (s *Store) entries(v *Version) (*entries, error) {
	leaves, err := s.leaves(v)
	return &entries{s: s, leaves: leaves}, err
}

func (e *entries) peek() (entry, bool, error) {
	for len(e.open) == 0 {
		if len(e.leaves) == 0 {
			return entry{}, false, nil
		}
		n, err := e.s.readNode(e.leaves[0])
		if err != nil {
			return entry{}, false, err
		}
		e.leaves, e.open = e.leaves[1:], n.entries
	}
	return e.open[0], true, nil
}

func (e *entries) next() { e.open = e.open[1:] }

// Bounds of one block: what is read in one transaction and held in memory at a time.
const (
	blockFixtures = 512
	blockBytes    = 1 << 20
)

// Blocks is a version cut into runs of consecutive fixtures.
type Blocks struct {
	s      *Store
	v      *Version
	blocks [][]ref
	start  []uint64 // position of each block's first fixture
	seen   *seen
}

// Blocks prepares to read a version. What it holds grows with the number of manifest leaves, about a fortieth of the
// number of fixtures.
func (s *Store) Blocks(v *Version) (*Blocks, error) {
	leaves, err := s.leaves(v)
	if err != nil {
		return nil, err
	}
	b := &Blocks{s: s, v: v, seen: newSeen()}
	var at uint64
	for len(leaves) > 0 {
		n, count := 0, uint64(0)
		for n < len(leaves) && (n == 0 || count+leaves[n].count <= blockFixtures) {
			count += leaves[n].count
			n++
		}
		b.blocks, b.start = append(b.blocks, leaves[:n]), append(b.start, at)
		leaves, at = leaves[n:], at+count
	}
	if at != v.Tally.Total {
		return nil, corrupt(v.Name(), fmt.Errorf("its manifest has %d fixtures, its record %d", at, v.Tally.Total))
	}
	return b, nil
}

// Len gives the number of blocks.
func (b *Blocks) Len() int { return len(b.blocks) }

// Entry is a position in a version and what stands there.
type Entry struct {
	Position uint64
	Item
}

// ReadBlock calls fn for each fixture of block i in order. No transaction is open while fn runs.
func (b *Blocks) ReadBlock(i int, fn func(Entry) error) error {
	w := scratches.Get().(*scratch)
	defer scratches.Put(w)
	defer w.clear()
	if err := b.entries(i, w); err != nil {
		return fmt.Errorf("%s: %w", b.v.Name(), err)
	}
	at := b.start[i]
	for all := w.entries; len(all) > 0; all = all[len(w.raw):] {
		if err := b.s.load(all, w); err != nil {
			return fmt.Errorf("%s: %w", b.v.Name(), err)
		}
		sum := b.seen.sumOf(w.raw)
		known := b.seen.knows(at, sum)
		if err := w.verify(all, known); err != nil {
			return fmt.Errorf("%s: %w", b.v.Name(), err)
		}
		if !known {
			b.seen.learn(at, sum)
		}
		for _, item := range w.items {
			if err := fn(Entry{at, item}); err != nil {
				return err
			}
			at++
		}
	}
	return nil
}

// entries reads the leaves of block i.
func (b *Blocks) entries(i int, w *scratch) error {
	return b.s.view(func(tx *bolt.Tx) error {
		w.entries = w.entries[:0]
		for _, leaf := range b.blocks[i] {
			n, err := nodeIn(tx, leaf, w.entries)
			if err != nil {
				return err
			}
			w.entries = n.entries
		}
		return nil
	})
}

// fixture reads and verifies one fixture without its stubs.
func (s *Store) fixture(e entry) (*fixture.Fixture, error) {
	e.stubs = 0
	item, err := s.item(e)
	return item.Fixture, err
}

func (s *Store) item(e entry) (Item, error) {
	all := []entry{e}
	var w scratch
	if err := s.load(all, &w); err != nil {
		return Item{}, err
	}
	if err := w.verify(all, false); err != nil {
		return Item{}, err
	}
	return w.items[0], nil
}

// Fixture gives one fixture of a version. CodeNotFound if the version has none of this id.
func (s *Store) Fixture(v *Version, id string) (Item, error) {
	r := v.root
	for {
		n, err := s.readNode(r)
		if err != nil {
			return Item{}, fmt.Errorf("%s: %w", v.Name(), err)
		}
		if r.level == 0 {
			for _, e := range n.entries {
				if e.id == id {
					return s.item(e)
				}
			}
			break
		}
		next := -1
		for i, child := range n.refs {
			if id <= child.last {
				next = i
				break
			}
		}
		if next < 0 {
			break
		}
		r = n.refs[next]
	}
	return Item{}, fixture.NewError(fixture.CodeNotFound, "find fixture", fmt.Sprintf("%q in %s", id, v.Name()), errors.New("there is no such fixture"))
}

// Fixtures gives at most limit fixtures of a version in ascending order of ids, beginning behind the id after.
func (s *Store) Fixtures(v *Version, after string, limit int) (out []Item, err error) {
	all, err := s.entries(v)
	if err != nil {
		return nil, err
	}
	for len(all.leaves) > 0 && all.leaves[0].last <= after && after != "" {
		all.leaves = all.leaves[1:]
	}
	for len(out) < limit {
		e, ok, err := all.peek()
		if err != nil || !ok {
			return out, err
		}
		all.next()
		if e.id <= after {
			continue
		}
		item, err := s.item(e)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

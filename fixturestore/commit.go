package fixturestore

import (
	"fmt"
	"maps"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// flushBytes and flushItems bound one transaction of a commit. One huge transaction is quadratic, many small ones sync
// too often.
const (
	flushBytes = 16 << 20
	flushItems = 20_000
	blockSize  = 32_768 // sequence numbers reserved at a time
)

// Commit publishes one version. Fixtures come in ascending byte order of their ids. It is not safe for concurrent use,
// and ends with Seal or Abort; Abort after Seal does nothing.
type Commit struct {
	s       *Store
	v       *Version
	draft   Draft
	parent  *Version
	old     *entries   // what is left of the parent
	graves  []*Version // versions with fixtures that the next one removed, newest first
	shared  map[fixture.Digest]uint64
	sum     *fixture.Checksum
	forms   fixture.Forms
	tree    builder
	pending []write
	bytes   int
	block   []uint64 // first sequence of each block that is staged
	seq     uint64   // next number of the newest block
	left    uint64   // numbers left in it
	excuses map[string]bool
	faults  []string // fixtures that change without a reason
	missing int
	done    bool
}

type write struct {
	bucket []byte
	seq    uint64
	value  []byte
}

// Begin begins a commit. CodeConflict if the parent is not the newest version, CodeInvalid for a bad draft.
func (s *Store) Begin(d Draft) (*Commit, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	c := &Commit{s: s, draft: d, sum: fixture.NewChecksum(d.Vocabulary), excuses: maps.Collect(func(yield func(string, bool) bool) {
		for id := range d.Changes {
			if !yield(id, false) {
				return
			}
		}
	})}
	c.v = &Version{Set: d.Set, Number: d.Parent + 1, Parent: d.Parent, Vocabulary: d.Vocabulary, Config: d.Config,
		Author: d.Author, Reason: d.Reason, CommittedAt: d.At.UTC(), Changes: d.Changes, RemovalReason: d.RemovalReason}
	c.tree.put = c.putNode
	err := s.view(func(tx *bolt.Tx) (err error) {
		if err := checkParent(tx, d.Set, d.Parent); err != nil {
			return err
		}
		c.parent, err = newest(tx, d.Set)
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.parent != nil {
		if c.shared, err = s.nodes(c.parent); err != nil {
			return nil, err
		}
		if c.old, err = s.entries(c.parent); err != nil {
			return nil, err
		}
		if c.graves, err = s.graves(c.parent); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func checkParent(tx *bolt.Tx, set string, parent uint64) error {
	n, err := newestNumber(tx, set)
	if err != nil {
		return err
	}
	if n != parent {
		return fixture.NewError(fixture.CodeConflict, "commit to", fmt.Sprintf("%q", set), fmt.Errorf("its newest version is %d, not %d: read it and try again", n, parent))
	}
	return nil
}

// Prepared is a fixture with all that a commit needs of it and that depends on nothing else.
type Prepared struct {
	f      *fixture.Fixture
	stubs  []byte
	entry  entry
	object []byte // nil where the parent may have it
}

// Prepare computes what is needed of a fixture with the stored form of its stubs, nil if it has none. It is safe for concurrent
// use, also beside AddPrepared, so that one processor is not all that a commit uses.
func (c *Commit) Prepare(f *fixture.Fixture, stubs []byte) Prepared {
	p := Prepared{f: f, stubs: stubs, entry: entry{id: f.ID, digest: f.Digest()}}
	if stubs != nil {
		p.entry.stubby = fixture.DigestOf(stubs)
	}
	if c.parent == nil {
		p.object = object(f)
	}
	return p
}

// Add adds a fixture with the stored form of its stubs, nil if it has none.
func (c *Commit) Add(f *fixture.Fixture, stubs []byte) error {
	return c.AddPrepared(c.Prepare(f, stubs))
}

// AddPrepared adds a fixture that this commit has prepared.
func (c *Commit) AddPrepared(p Prepared) error {
	f, e, stubs := p.f, p.entry, p.stubs
	if err := c.accept(f, e, stubs != nil); err != nil {
		return &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Subject: f.ID, Err: err}
	}
	before, known, err := c.advance(f.ID)
	if err != nil {
		return err
	}
	if known {
		if err := c.compare(before, f, e, stubs != nil); err != nil {
			return err
		}
	} else if c.parent != nil {
		c.v.Added++
		if err := c.revive(f); err != nil {
			return err
		}
	}
	e.object = before.object
	if !known || before.digest != e.digest {
		if p.object == nil {
			p.object = object(f)
		}
		if e.object, err = c.put(bucketObjects, p.object); err != nil {
			return err
		}
	}
	if stubs != nil {
		if e.stubs, err = c.place(stubs, before.stubs, known && before.stubs != 0 && before.stubby == e.stubby); err != nil {
			return err
		}
	}
	return c.tree.add(e)
}

// accept holds the rules on one fixture in its sequence.
func (c *Commit) accept(f *fixture.Fixture, e entry, stubs bool) error {
	if err := c.draft.Vocabulary.Check(f.Expected); err != nil {
		return err
	}
	var d *fixture.Digest
	if stubs {
		d = &e.stubby
	}
	if err := c.sum.Add(f.ID, e.digest, d); err != nil {
		return err
	}
	if err := c.forms.Add(f.ID); err != nil {
		return err
	}
	return c.v.Tally.Add(f)
}

// advance moves through the parent's entries up to id, counting those that are gone.
func (c *Commit) advance(id string) (before entry, known bool, err error) {
	for c.old != nil {
		e, ok, err := c.old.peek()
		if err != nil {
			return entry{}, false, err
		}
		if !ok || id != "" && e.id > id {
			break
		}
		c.old.next()
		if e.id == id {
			return e, true, nil
		}
		c.v.Removed++
	}
	return entry{}, false, nil
}

// place gives an object its sequence number, the old one where the parent has the same bytes.
func (c *Commit) place(value []byte, old uint64, same bool) (uint64, error) {
	if same {
		return old, nil
	}
	return c.put(bucketObjects, value)
}

func (c *Commit) putNode(value []byte, hash fixture.Digest) (uint64, error) {
	if seq, ok := c.shared[hash]; ok {
		return seq, nil
	}
	return c.put(bucketNodes, value)
}

func (c *Commit) put(bucket, value []byte) (uint64, error) {
	if c.left == 0 {
		c.seq, c.left = c.s.reserve(blockSize), blockSize
		c.block = append(c.block, c.seq)
	}
	seq := c.seq
	c.seq++
	c.left--
	c.pending = append(c.pending, write{bucket, seq, value})
	c.bytes += len(value)
	if c.bytes >= flushBytes || len(c.pending) >= flushItems {
		return seq, c.s.update(func(tx *bolt.Tx) error {
			for _, first := range c.block {
				if err := tx.Bucket(bucketStaging).Put(number(first), number(first+blockSize-1)); err != nil {
					return err
				}
			}
			return c.flush(tx)
		})
	}
	return seq, nil
}

func (c *Commit) flush(tx *bolt.Tx) error {
	for _, b := range [][]byte{bucketObjects, bucketNodes} {
		tx.Bucket(b).FillPercent = 0.95 // keys ascend, so that a page is never split again
	}
	for _, w := range c.pending {
		if err := tx.Bucket(w.bucket).Put(number(w.seq), w.value); err != nil {
			return err
		}
	}
	c.pending, c.bytes = c.pending[:0], 0
	return nil
}

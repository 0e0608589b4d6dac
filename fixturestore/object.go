package fixturestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// scratch is what reading a block needs and nobody keeps.
type scratch struct {
	entries []entry
	raw     []raw
	items   []Item
	layout  []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// clear lets go of the fixtures.
func (w *scratch) clear() {
	clear(w.entries)
	clear(w.raw)
	clear(w.items)
}

// laying is what finding a layout needs and nobody keeps.
type laying struct {
	reader fixture.Reader
	laid   fixture.Fixture
	layout []byte
}

var layings = sync.Pool{New: func() any { return new(laying) }}

// object gives the stored form of a fixture: the length of its layout, the layout, and its document.
func object(f *fixture.Fixture) []byte {
	l := layings.Get().(*laying)
	defer func() {
		l.laid = fixture.Fixture{} // it would keep the document alive
		layings.Put(l)
	}()
	l.reader.Read(&l.laid, f.ID, f.Canonical())
	l.layout = l.laid.AppendLayout(l.layout[:0])
	b := make([]byte, 0, binary.MaxVarintLen16+len(l.layout)+len(f.Canonical()))
	b = append(binary.AppendUvarint(b, uint64(len(l.layout))), l.layout...)
	return append(b, f.Canonical()...)
}

// raw is what the store holds of a fixture.
type raw struct{ layout, doc, stubs []byte }

// cut takes the stored form apart.
func (r *raw) cut() error {
	n, size := binary.Uvarint(r.doc)
	if size <= 0 || n > uint64(len(r.doc)-size) {
		return errors.New("it is cut")
	}
	r.layout, r.doc = r.doc[size:size+int(n)], r.doc[size+int(n):]
	return nil
}

// load copies the bytes of at least one entry, and of as many as blockBytes allows, out of one transaction.
func (s *Store) load(all []entry, w *scratch) error {
	return s.view(func(tx *bolt.Tx) (err error) {
		w.raw = w.raw[:0]
		c := &follower{c: tx.Bucket(bucketObjects).Cursor()}
		arena := make([]byte, 0, 64<<10)
		for _, e := range all {
			r := raw{}
			if arena, r.doc, err = c.copy(arena, e.object); err != nil {
				return objectError(e, err)
			}
			if err = r.cut(); err != nil {
				return objectError(e, err)
			}
			if e.stubs != 0 {
				if arena, r.stubs, err = c.copy(arena, e.stubs); err != nil {
					return objectError(e, err)
				}
			}
			w.raw = append(w.raw, r)
			if c.read >= blockBytes {
				break
			}
		}
		s.ahead.past(s.db, c.value)
		return nil
	})
}

// follower reads objects by sequence. Neighbours follow each other, and stepping is cheaper than seeking.
type follower struct {
	c    *bolt.Cursor
	last uint64
	read int
	// value is the one that was read last, in the mapped file.
	value []byte
	key   [8]byte
}

func (f *follower) copy(arena []byte, seq uint64) ([]byte, []byte, error) {
	var k, v []byte
	if f.last != 0 && seq == f.last+1 {
		k, v = f.c.Next()
	}
	if len(k) != 8 || binary.BigEndian.Uint64(k) != seq {
		binary.BigEndian.PutUint64(f.key[:], seq)
		k, v = f.c.Seek(f.key[:])
	}
	if len(k) != 8 || binary.BigEndian.Uint64(k) != seq {
		return arena, nil, errors.New("missing")
	}
	f.last, f.value = seq, v
	f.read += len(v)
	if cap(arena)-len(arena) < len(v) {
		arena = make([]byte, 0, max(64<<10, len(v)))
	}
	arena = append(arena, v...)
	return arena, arena[len(arena)-len(v) : len(arena) : len(arena)], nil
}

// verify makes items of what was loaded. known says that these very bytes were held against their digests before.
func (w *scratch) verify(all []entry, known bool) error {
	var read fixture.Reader
	fixtures := make([]fixture.Fixture, len(w.raw))
	w.items = w.items[:0]
	for i, r := range w.raw {
		e := &all[i]
		if !known && fixture.DigestOf(r.doc) != e.digest {
			return objectError(*e, errors.New("it does not match its hash"))
		}
		f := &fixtures[i]
		if known {
			if !read.ReadLaid(f, e.id, r.doc, r.layout) {
				return objectError(*e, errors.New("its layout does not fit"))
			}
		} else {
			if read.Read(f, e.id, r.doc); f.ID != e.id {
				return objectError(*e, fmt.Errorf("it is fixture %q", f.ID))
			}
			if w.layout = f.AppendLayout(w.layout[:0]); !bytes.Equal(w.layout, r.layout) {
				return objectError(*e, errors.New("its layout does not fit"))
			}
		}
		item := Item{Fixture: f, Digest: e.digest}
		if e.stubs != 0 {
			if !known && fixture.DigestOf(r.stubs) != e.stubby {
				return objectError(*e, errors.New("its stubs do not match their hash"))
			}
			digest := e.stubby
			item.Stubs, item.StubDigest = r.stubs, &digest
		}
		w.items = append(w.items, item)
	}
	return nil
}

func objectError(e entry, err error) error {
	return corrupt(fmt.Sprintf("fixture %q (object %d)", e.id, e.object), err)
}

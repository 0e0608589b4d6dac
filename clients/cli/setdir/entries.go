package setdir

import (
	"bytes"
	"fmt"
	"iter"
	"os"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Entry is one fixture with its stubs, as documents.
type Entry struct {
	ID      string
	Fixture []byte
	Stubs   [][]byte
}

// Entries gives the fixtures in ascending order of ids. Lines of JSON Lines files are read again. A file that has changed
// in between is an error, which ends the sequence.
func (s *Set) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := &rereader{}
		defer r.close()
		for _, e := range s.entries {
			out := Entry{ID: e.id, Fixture: e.doc}
			var err error
			if e.doc == nil {
				out.Fixture, err = r.read(e)
			}
			for _, st := range s.stubs[e.id] {
				out.Stubs = append(out.Stubs, st.Canonical())
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// rereader reads lines again. Neighbours usually follow each other, so that it reads ahead.
type rereader struct {
	name string
	f    *os.File
	buf  []byte
	at   int64 // position of buf in the file
}

const readAhead = 256 << 10

func (r *rereader) read(e entry) ([]byte, error) {
	if r.f == nil || r.name != e.place.file {
		r.close()
		f, err := os.Open(e.place.file)
		if err != nil {
			return nil, fixture.NewError(fixture.CodeInvalid, "", e.place.String(), err)
		}
		r.f, r.name, r.buf = f, e.place.file, nil
	}
	if e.from < r.at || e.to > r.at+int64(len(r.buf)) {
		r.buf = make([]byte, max(readAhead, e.to-e.from))
		n, err := r.f.ReadAt(r.buf, e.from)
		if int64(n) < e.to-e.from {
			return nil, fixture.NewError(fixture.CodeInvalid, "", e.place.String(), fmt.Errorf("the file has changed while it was read: %w", err))
		}
		r.buf, r.at = r.buf[:n], e.from
	}
	return bytes.Clone(r.buf[e.from-r.at : e.to-r.at]), nil
}

func (r *rereader) close() {
	if r.f != nil {
		_ = r.f.Close() // read only: there is nothing to lose
		r.f = nil
	}
}

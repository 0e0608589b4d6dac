package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/mod/sumdb/note"

	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Options are the settings of Open.
type Options struct {
	// LockTimeout is how long to wait for another process to let go of the file. Zero is 5 s; it never waits for ever.
	LockTimeout time.Duration
	// ReadOnly opens an existing file without taking it from other readers.
	ReadOnly bool
	// Signer signs the log after every write, and Verifier checks the checkpoint beside the file when it is opened. Without
	// a signer there is no checkpoint, and nothing shows that a file is an older one.
	Signer   note.Signer
	Verifier note.Verifier

	// IgnoreCheckpoint opens whatever the checkpoint beside the file says. For those that hold it against one themselves.
	IgnoreCheckpoint bool
}

// Store is an open file. Safe for concurrent use.
type Store struct {
	db    *bolt.DB
	path  string
	ahead *readAhead

	mu   sync.Mutex // guards next
	next uint64     // the first sequence number that no commit has reserved

	latest atomic.Int64 // nanoseconds since 1970 of the latest entry of the log; 0 if there is none

	signer         note.Signer
	checkpointMu   sync.Mutex // guards the rest
	unwitnessed    error      // why the file beside the store is behind; nil if it is not
	checkpoint     []byte     // as the file beside the store has it; nil if there is none
	checkpointSize int64
}

// Open opens the file at path, creating it and its directory if there is none. The caller closes it.
//
// Errors: CodeBusy if another process holds it for longer than the timeout, CodeCorrupt if it is damaged, no store, or older than the
// checkpoint beside it, CodePrecondition if its layout is of another release.
func Open(path string, o Options) (*Store, error) {
	if o.LockTimeout <= 0 {
		o.LockTimeout = 5 * time.Second
	}
	if !o.ReadOnly {
		if err := create(path, o); err != nil {
			return nil, fixture.NewError(fixture.CodeOf(err), "create store", path, err)
		}
	}
	s := &Store{path: path, ahead: newReadAhead(path), signer: o.Signer}
	if err := s.open(o); err != nil {
		err = errors.Join(err, s.ahead.close())
		code := fixture.CodeOf(err)
		switch {
		case errors.Is(err, bolterrors.ErrTimeout):
			err = fmt.Errorf("another process holds it (waited %s): stop that process, or reach it with --server", o.LockTimeout)
			code = fixture.CodeBusy
		case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
			code = fixture.CodeCorrupt
		}
		return nil, fixture.NewError(code, "open store", path, err)
	}
	return s, nil
}

// options gives bbolt's. A generous initial mapping keeps a growing writer from waiting for readers; small steps of
// growth keep the file no larger than what is in it.
func options(o Options) *bolt.Options {
	b := &bolt.Options{Timeout: o.LockTimeout, ReadOnly: o.ReadOnly, FreelistType: bolt.FreelistMapType}
	if runtime.GOOS != "windows" && !o.ReadOnly && ^uint(0)>>63 == 1 {
		b.InitialMmapSize = 4 << 30
	}
	return b
}

func (s *Store) open(o Options) (err error) {
	if err := checkMeta(s.path); err != nil {
		return err
	}
	defer faults("the file", &err)()
	db, err := bolt.Open(s.path, 0o600, options(o))
	if err != nil {
		return err
	}
	db.AllocSize = 32 << 10
	s.db = db
	steps := []func() error{s.pages, s.check}
	if !o.ReadOnly {
		steps = []func() error{s.pages, func() error { return s.upgrade(o) }, s.check, s.sweep, s.sweepCheckpoints}
	}
	if !o.IgnoreCheckpoint {
		steps = append(steps, func() error { return s.checkHead(o) }, s.audit, func() error { return s.checkHistory(o) }, s.witness, s.behind)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return nil
}

func (s *Store) pages() error { return checkPages(s.path) }

// check reads what every file has.
func (s *Store) check() error {
	return s.view(func(tx *bolt.Tx) error {
		for _, b := range buckets() {
			if tx.Bucket(b) == nil {
				return corrupt(fmt.Sprintf("bucket %q", b), errors.New("missing"))
			}
		}
		if v := tx.Bucket(bucketMeta).Get(keyLayout); string(v) != layoutVersion {
			return fixture.NewError(fixture.CodePrecondition, "", "", fmt.Errorf("the file has layout %.20q, this release reads %q", v, layoutVersion))
		}
		for _, b := range [][]byte{bucketObjects, bucketNodes} {
			if k := lastKey(tx, b); len(k) == 8 {
				s.next = max(s.next, binary.BigEndian.Uint64(k)+1)
			}
		}
		s.next = max(s.next, 1)
		return nil
	})
}

// create makes a new file beside path and moves it there when it is durable: bbolt's own first write is not safe
// against a power cut.
func create(path string, o Options) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*.db")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := bolt.Open(tmp.Name(), 0o600, &bolt.Options{Timeout: o.LockTimeout, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range buckets() {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyLayout, []byte(layoutVersion))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	// A link does not replace: of two processes that create the file at once, the second finds the first one's.
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return durable.SyncDir(dir)
}

// Close lets go of the file.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.ahead.close()) }

// Path gives the file's path.
func (s *Store) Path() string { return s.path }

// view and update run one transaction. A fault in the mapped file, or a panic of bbolt over damaged pages, is an error.
func (s *Store) view(fn func(tx *bolt.Tx) error) (err error) {
	defer faults(s.path, &err)()
	return s.db.View(fn)
}

// write is update for what the log has a part in: it ends once the file beside the store has been told. That the file could
// not be written takes nothing back; Ping says so. landed says whether what was to be written stands in the file.
func (s *Store) write(fn func(tx *bolt.Tx) error, landed func() bool) error {
	// A commit that failed may be durable all the same: what stands in the file decides.
	if err := s.update(fn); err != nil && (!maybeWritten(err) || !landed()) {
		return err
	}
	return s.witness()
}

// update gives CodeUnavailable where the file system refuses, such as on a full disk. The store goes on: once there is space
// again, so does writing.
func (s *Store) update(fn func(tx *bolt.Tx) error) (err error) {
	defer faults(s.path, &err)()
	return refused(s.db.Update(fn))
}

// refused tells an error of the file system from one of the domain, which has a code.
func refused(err error) error {
	if err == nil || fixture.CodeOf(err) != fixture.CodeUnknown {
		return err
	}
	var cause error
	var n syscall.Errno
	if text := err.Error(); errors.As(err, &n) {
		cause = n
	} else if strings.HasPrefix(text, "file resize error: ") || strings.HasPrefix(text, "file sync error: ") { // bbolt does not wrap these
		cause = errors.New(text[strings.LastIndex(text, ": ")+2:])
	}
	if cause == nil {
		return err
	}
	return fixture.NewError(fixture.CodeUnavailable, "write", "the store", cause)
}

// maybeWritten says whether a failed write may be durable all the same.
func maybeWritten(err error) bool {
	code := fixture.CodeOf(err)
	return code == fixture.CodeUnknown || code == fixture.CodeUnavailable
}

// faults turns a memory fault or a panic of the calling goroutine into a CodeCorrupt error.
func faults(subject string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = corrupt(subject, fmt.Errorf("%v", p))
		}
	}
}

// reserve gives a commit n sequence numbers of its own.
func (s *Store) reserve(n uint64) (first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = s.next
	s.next += n
	return first
}

// sweep removes what a commit that never ended has left behind.
func (s *Store) sweep() error {
	for {
		var from, to uint64
		err := s.view(func(tx *bolt.Tx) error {
			if k, v := tx.Bucket(bucketStaging).Cursor().First(); len(k) == 8 && len(v) == 8 {
				from, to = binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(v)
			}
			return nil
		})
		if err != nil || to == 0 {
			return err
		}
		if err := s.discard(from, to); err != nil {
			return err
		}
	}
}

// discard removes one staged block, from and to included.
func (s *Store) discard(from, to uint64) error {
	return s.update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketStaging).Get(number(from)) == nil {
			return nil // never staged, or published after all
		}
		for _, b := range [][]byte{bucketObjects, bucketNodes} {
			c := tx.Bucket(b).Cursor()
			for k, _ := c.Seek(number(from)); k != nil && binary.BigEndian.Uint64(k) <= to; k, _ = c.Seek(number(from)) {
				if err := c.Delete(); err != nil {
					return err
				}
			}
		}
		return tx.Bucket(bucketStaging).Delete(number(from))
	})
}

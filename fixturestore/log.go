package fixturestore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Kind says what an entry of the log is about.
type Kind string

// The kinds.
const (
	KindVersion  Kind = "version"
	KindTag      Kind = "tag"
	KindApproval Kind = "approval"
	KindDecision Kind = "decision" // how a replay ended, with its decision or without one
	KindWaiver   Kind = "waiver"   // as it was granted, or revoked
	KindReplay   Kind = "replay"   // as it began
)

// LogEntry is one leaf of the log.
type LogEntry struct {
	// Index counts from 0.
	Index uint64 `json:"-"`
	Kind  Kind   `json:"kind"`
	// Subject names the record: "memory@3", a tag as "memory:stable", the id of a replay or a waiver.
	Subject string `json:"subject"`
	// Record is SHA-256 over the stored record, as 64 hexadecimal digits.
	Record string    `json:"record"`
	At     time.Time `json:"at"`
	// Release, Set and Seq are those of a replay that began, so that no older one passes for the newest.
	Release string `json:"release,omitempty"`
	Set     string `json:"set,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
	// Leaf is what is hashed: JSON of the fields above.
	Leaf []byte `json:"-"`
}

// appendLog appends a leaf in the transaction that writes the record.
func (s *Store) appendLog(tx *bolt.Tx, kind Kind, subject string, record []byte, at time.Time) error {
	return s.appendEntry(tx, LogEntry{Kind: kind, Subject: subject, Record: fixture.DigestOf(record).String(), At: at.UTC()})
}

// Latest gives the latest instant of any entry of the log; zero if it has none. What comes after it in the log came later,
// whatever clock it was stamped by. It takes the log for read: a store that was opened with IgnoreCheckpoint knows only of what it
// has appended.
func (s *Store) Latest() time.Time {
	n := s.latest.Load()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// stamped notes the instant of an entry.
func (s *Store) stamped(at time.Time) {
	for n := at.UnixNano(); ; {
		old := s.latest.Load()
		if old >= n || s.latest.CompareAndSwap(old, n) {
			return
		}
	}
}

// appendEntry appends a leaf, and signs the log with it.
func (s *Store) appendEntry(tx *bolt.Tx, e LogEntry) error {
	s.stamped(e.At) // where the transaction fails, time goes on all the same
	leaf, err := json.Marshal(e)
	if err != nil {
		return err
	}
	n := logSize(tx)
	hashes, err := tlog.StoredHashes(int64(n), leaf, storedHashes(tx))
	if err != nil {
		return corrupt("log", err)
	}
	at0 := uint64(tlog.StoredHashIndex(0, int64(n)))
	for i, h := range hashes {
		if err := tx.Bucket(bucketLogHashes).Put(number(at0+uint64(i)), h[:]); err != nil {
			return err
		}
	}
	if err := tx.Bucket(bucketLog).Put(number(n), leaf); err != nil {
		return err
	}
	if err := tx.Bucket(bucketLogSubjects).Put(subjectKey(e.Kind, e.Subject), number(n)); err != nil {
		return err
	}
	return s.signHead(tx)
}

func subjectKey(kind Kind, subject string) []byte {
	return append(append([]byte(kind), 0), subject...)
}

// logged says whether the log has an entry about a subject.
func logged(tx *bolt.Tx, kind Kind, subject string) bool {
	return tx.Bucket(bucketLogSubjects).Get(subjectKey(kind, subject)) != nil
}

var errMissing = errors.New("missing, and the log has an entry about it")

func logSize(tx *bolt.Tx) uint64 {
	if k := lastKey(tx, bucketLog); len(k) == 8 {
		return binary.BigEndian.Uint64(k) + 1
	}
	return 0
}

func storedHashes(tx *bolt.Tx) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, at := range indexes {
			value := tx.Bucket(bucketLogHashes).Get(number(uint64(at)))
			if len(value) != tlog.HashSize {
				return nil, fmt.Errorf("hash %d has %d bytes", at, len(value))
			}
			copy(out[i][:], value)
		}
		return out, nil
	}
}

// treeAt gives the root of the log when it had n entries.
func treeAt(tx *bolt.Tx, n uint64) (tlog.Tree, error) {
	root, err := tlog.TreeHash(int64(n), storedHashes(tx))
	if err != nil {
		return tlog.Tree{}, corrupt("log", err)
	}
	return tlog.Tree{N: int64(n), Hash: root}, nil
}

// Tree gives the size and the root of the log.
func (s *Store) Tree() (tree tlog.Tree, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		tree, err = treeAt(tx, logSize(tx))
		return err
	})
	return tree, err
}

func readEntry(tx *bolt.Tx, n uint64) (*LogEntry, error) {
	subject := fmt.Sprintf("log entry %d", n)
	leaf := bytes.Clone(tx.Bucket(bucketLog).Get(number(n)))
	if leaf == nil {
		return nil, corrupt(subject, errors.New("missing"))
	}
	want, err := storedHashes(tx)([]int64{tlog.StoredHashIndex(0, int64(n))})
	if err != nil {
		return nil, corrupt(subject, err)
	}
	if tlog.RecordHash(leaf) != want[0] {
		return nil, corrupt(subject, errors.New("it does not match its hash"))
	}
	e := &LogEntry{Index: n, Leaf: leaf}
	if err := json.Unmarshal(leaf, e); err != nil {
		return nil, corrupt(subject, err)
	}
	return e, nil
}

// Entries gives at most limit entries of the log in ascending order, beginning with index from.
func (s *Store) Entries(from uint64, limit int) (out []*LogEntry, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		for n := from; n < logSize(tx) && len(out) < limit; n++ {
			e, err := readEntry(tx, n)
			if err != nil {
				return err
			}
			out = append(out, e)
		}
		return nil
	})
	return out, err
}

// EntryOf gives the newest entry about a subject. CodeNotFound if there is none.
func (s *Store) EntryOf(kind Kind, subject string) (e *LogEntry, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		e, err = entryOf(tx, kind, subject)
		return err
	})
	return e, err
}

func entryOf(tx *bolt.Tx, kind Kind, subject string) (*LogEntry, error) {
	value := tx.Bucket(bucketLogSubjects).Get(subjectKey(kind, subject))
	if len(value) != 8 {
		return nil, fixture.NewError(fixture.CodeNotFound, "find log entry of", fmt.Sprintf("%s %q", kind, subject), errors.New("the log has none"))
	}
	e, err := readEntry(tx, binary.BigEndian.Uint64(value))
	if err == nil && (e.Kind != kind || e.Subject != subject) {
		err = corrupt(fmt.Sprintf("index of %s %q", kind, subject), fmt.Errorf("it points to log entry %d, which is about %s %q", e.Index, e.Kind, e.Subject))
	}
	return e, err
}

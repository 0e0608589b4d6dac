package fixturestore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// provenTree is treeAt, held against the log as it is: of a damaged hash no proof is made.
func provenTree(tx *bolt.Tx, n uint64) (tlog.Tree, error) {
	then, err := treeAt(tx, n)
	if err != nil || n == logSize(tx) {
		return then, err
	}
	now, err := treeAt(tx, logSize(tx))
	if err != nil {
		return then, err
	}
	proof, err := tlog.ProveTree(now.N, then.N, storedHashes(tx))
	if err == nil {
		err = tlog.CheckTree(proof, now.N, now.Hash, then.N, then.Hash)
	}
	if err != nil {
		return then, corrupt("log", err)
	}
	return then, nil
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

// CheckLogged holds a version, and its approval if it has one, against the log. CodeCorrupt if the log has another, or none:
// then somebody has written it behind the store's back.
func (s *Store) CheckLogged(v *Version) error {
	subject := versionSubject(v.Set, v.Number)
	if err := s.checkLogged(KindVersion, subject, v.digest.String()); err != nil || v.Approval == nil {
		return err
	}
	record, err := json.Marshal(v.Approval)
	if err != nil {
		return err
	}
	return s.checkLogged(KindApproval, subject, fixture.DigestOf(record).String())
}

// CheckSets holds the names of all sets against the log. CodeCorrupt if it has entries about another: a damaged page can hide a
// set.
func (s *Store) CheckSets(all []string) error {
	known := make(map[string]bool, len(all))
	for _, set := range all {
		known[set] = true
	}
	return s.view(func(tx *bolt.Tx) error {
		prefix := subjectKey(KindVersion, "")
		c := tx.Bucket(bucketLogSubjects).Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); {
			set, _, _ := strings.Cut(string(k[len(prefix):]), "@")
			if !known[set] {
				return corrupt(fmt.Sprintf("set %.140q", set), errMissing)
			}
			next, _ := c.Seek(subjectKey(KindVersion, set+"A")) // behind all of "set@…"
			if next != nil && bytes.Compare(next, k) <= 0 {
				return corrupt("bucket \"logsubjects\"", errors.New("its keys are out of order"))
			}
			k = next
		}
		return nil
	})
}

// CheckReplayLogged is CheckLogged for a replay that has ended.
func (s *Store) CheckReplayLogged(r *Replay) error {
	return s.checkLogged(KindDecision, r.ID, r.digest.String())
}

// CheckWaiverLogged is CheckLogged for a waiver.
func (s *Store) CheckWaiverLogged(w *Waiver) error {
	record, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return s.checkLogged(KindWaiver, w.ID, fixture.DigestOf(record).String())
}

func (s *Store) checkLogged(kind Kind, subject, digest string) error {
	e, err := s.EntryOf(kind, subject)
	switch {
	case fixture.CodeOf(err) == fixture.CodeNotFound:
		return corrupt(fmt.Sprintf("%s %q", kind, subject), errors.New("the log has no entry about it"))
	case err == nil && e.Record != digest:
		return corrupt(fmt.Sprintf("%s %q", kind, subject), fmt.Errorf("it is not what log entry %d was made for", e.Index))
	}
	return err
}

// InclusionProof proves that the log, when it had size entries, had the one at index. Zero stands for the whole log.
// CodeInvalid for an index or a size that it has not reached.
func (s *Store) InclusionProof(index, size uint64) (e *LogEntry, at uint64, proof tlog.RecordProof, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		if at = size; at == 0 {
			at = logSize(tx)
		}
		if at > logSize(tx) || index >= at {
			return fixture.NewError(fixture.CodeInvalid, "prove log entry", fmt.Sprint(index), fmt.Errorf("the log has %d entries", logSize(tx)))
		}
		if e, err = readEntry(tx, index); err != nil {
			return err
		}
		root, err := provenTree(tx, at)
		if err != nil {
			return err
		}
		if proof, err = tlog.ProveRecord(int64(at), int64(index), storedHashes(tx)); err == nil {
			err = tlog.CheckRecord(proof, root.N, root.Hash, int64(index), tlog.RecordHash(e.Leaf))
		}
		if err != nil {
			return corrupt("log", err)
		}
		return nil
	})
	return e, at, proof, err
}

// ConsistencyProof proves that the log of size entries extends the one of old. CodeInvalid for sizes that it has not
// reached, and for an old one that is not the smaller.
func (s *Store) ConsistencyProof(old, size uint64) (proof tlog.TreeProof, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		if n := logSize(tx); old == 0 || old > size || size > n {
			return fixture.NewError(fixture.CodeInvalid, "prove that the log of", fmt.Sprintf("%d entries extends that of %d", size, old), fmt.Errorf("the log has %d entries", n))
		}
		before, beforeErr := provenTree(tx, old)
		after, afterErr := provenTree(tx, size)
		if err := errors.Join(beforeErr, afterErr); err != nil {
			return err
		}
		if proof, err = tlog.ProveTree(int64(size), int64(old), storedHashes(tx)); err == nil {
			err = tlog.CheckTree(proof, after.N, after.Hash, before.N, before.Hash)
		}
		if err != nil {
			return corrupt("log", err)
		}
		return nil
	})
	return proof, err
}

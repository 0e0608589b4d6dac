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

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// State says how far a replay came.
type State string

// The states. A replay that is neither decided nor failed, and is not running, was cut: its process died.
const (
	Running State = "running"
	Decided State = "decided"
	Failed  State = "failed"
)

// Replay is the record of one run. It is written when the run begins, so that a run that never ends is known as well.
type Replay struct {
	// Seq orders the replays of a store; set by BeginReplay.
	Seq uint64 `json:"-"`
	// ID is the replay's own.
	ID      string `json:"id"`
	Set     string `json:"set"`
	Version uint64 `json:"version"`
	// Release is what was tried; empty if the run is no evidence for a release.
	Release   string    `json:"release"`
	StartedAt time.Time `json:"started_at"`
	// SubmittedBy is who asked for it, and Key the idempotency key that was given; both may be empty.
	SubmittedBy string `json:"submitted_by,omitempty"`
	Key         string `json:"key,omitempty"`
	// Request is the digest of what was asked, by which a second request with the same key is known.
	Request string `json:"request,omitempty"`
	State   State  `json:"state"`
	// EndedAt is zero while it runs.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// Error says why a failed replay has no decision.
	Error string `json:"error,omitempty"`
	// Decision is the decision of a decided replay, in a form that the store does not read.
	Decision []byte `json:"decision,omitempty"`

	// Record is the stored record, whose SHA-256 the log has once the replay has ended.
	Record []byte         `json:"-"`
	digest fixture.Digest // of Record, also where that was left out
}

// BeginReplay records that a replay begins, and gives its sequence.
//
// CodeExists if its idempotency key was used before by the same submitter: ReplayByKey gives that replay.
func (s *Store) BeginReplay(r Replay) (uint64, error) {
	if r.Release != "" {
		if err := fixture.CheckName(r.Release, fixture.MaxIDBytes); err != nil {
			return 0, &fixture.Error{Code: fixture.CodeInvalid, Op: "replay", Field: "release", Err: err}
		}
	}
	r.State = Running
	var seq uint64
	err := s.write(func(tx *bolt.Tx) error {
		seq = 1
		if k := lastKey(tx, bucketDecisions); len(k) == 8 {
			seq = binary.BigEndian.Uint64(k) + 1
		}
		if r.Key != "" {
			if err := putKey(tx, r, seq); err != nil {
				return err
			}
		}
		if tx.Bucket(bucketIDs).Get([]byte(r.ID)) != nil {
			return fixture.NewError(fixture.CodeExists, "begin replay", r.ID, errors.New("there is one with this id"))
		}
		if err := s.beginLogged(tx, seq, r); err != nil {
			return err
		}
		return putReplay(tx, seq, r)
	}, func() bool {
		got, err := s.Replay(seq)
		return err == nil && got.ID == r.ID
	})
	return seq, err
}

// beginLogged indexes a replay that begins, and appends to the log that it has.
func (s *Store) beginLogged(tx *bolt.Tx, seq uint64, r Replay) error {
	if err := tx.Bucket(bucketIDs).Put([]byte(r.ID), number(seq)); err != nil {
		return err
	}
	if r.Release != "" {
		prefix := releasePrefix(r.Release, r.Set)
		if err := tx.Bucket(bucketIDs).Put(prefix, number(seq)); err != nil {
			return err
		}
		if err := tx.Bucket(bucketReleases).Put(append(bytes.Clone(prefix), number(seq)...), nil); err != nil {
			return err
		}
	}
	record, err := r.begun()
	if err != nil {
		return err
	}
	return s.appendEntry(tx, LogEntry{Kind: KindReplay, Subject: r.ID, Record: fixture.DigestOf(record).String(), At: r.StartedAt.UTC(), Release: r.Release, Set: r.Set, Seq: seq})
}

// begun gives the record as it was when the replay began.
func (r Replay) begun() ([]byte, error) {
	r.State, r.EndedAt, r.Error, r.Decision = Running, time.Time{}, "", nil
	return json.Marshal(r)
}

// EndReplay records how a replay ended: with a decision, or with the error that kept it from one. A replay ends once.
func (s *Store) EndReplay(seq uint64, decision []byte, failure string, at time.Time) error {
	return s.write(func(tx *bolt.Tx) error {
		r, err := readReplay(tx, seq)
		if err != nil {
			return err
		}
		if r.State != Running {
			return fixture.NewError(fixture.CodePrecondition, "end replay", r.ID, fmt.Errorf("it has ended before: %s", r.State))
		}
		r.State, r.Decision, r.Error, r.EndedAt = Decided, decision, failure, at.UTC()
		if decision == nil {
			r.State = Failed
		}
		if err := putReplay(tx, seq, *r); err != nil {
			return err
		}
		record, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return s.appendLog(tx, KindDecision, r.ID, record, at)
	}, func() bool {
		r, err := s.Replay(seq)
		return err == nil && r.State != Running && bytes.Equal(r.Decision, decision)
	})
}

func putReplay(tx *bolt.Tx, seq uint64, r Replay) error {
	record, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketDecisions).Put(number(seq), seal(bucketDecisions, number(seq), record))
}

func readReplay(tx *bolt.Tx, seq uint64) (*Replay, error) {
	subject := fmt.Sprintf("replay record %d", seq)
	value := tx.Bucket(bucketDecisions).Get(number(seq))
	if value == nil {
		return nil, fixture.NewError(fixture.CodeNotFound, "find", subject, errors.New("there is no such record"))
	}
	record, err := unseal(bucketDecisions, number(seq), value)
	if err != nil {
		return nil, corrupt(subject, err)
	}
	r := &Replay{Seq: seq, Record: record, digest: fixture.DigestOf(record)}
	if err := json.Unmarshal(record, r); err != nil {
		return nil, corrupt(subject, err)
	}
	return r, nil
}

// indexedReplay is readReplay for a record that an index leads to: that it is not there is damage.
func indexedReplay(tx *bolt.Tx, seq uint64) (*Replay, error) {
	r, err := readReplay(tx, seq)
	if fixture.CodeOf(err) == fixture.CodeNotFound {
		err = corrupt(fmt.Sprintf("replay record %d", seq), errors.New("missing, and an index leads to it"))
	}
	return r, err
}

// Replay gives one record. CodeNotFound if there is none.
func (s *Store) Replay(seq uint64) (r *Replay, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		r, err = readReplay(tx, seq)
		return err
	})
	return r, err
}

// ReplayByID gives one record by its own id. CodeNotFound if there is none.
func (s *Store) ReplayByID(id string) (r *Replay, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		seq := tx.Bucket(bucketIDs).Get([]byte(id))
		if len(seq) != 8 {
			return fixture.NewError(fixture.CodeNotFound, "find replay", fmt.Sprintf("%.80q", id), errors.New("there is no such replay"))
		}
		if r, err = indexedReplay(tx, binary.BigEndian.Uint64(seq)); err == nil && r.ID != id {
			err = corrupt(fmt.Sprintf("index of replay %q", id), fmt.Errorf("it points to replay %q", r.ID))
		}
		return err
	})
	return r, err
}

// ReplayAt gives the newest replay of a release on a set that had begun by an instant, or nil if there was none.
func (s *Store) ReplayAt(release, set string, at time.Time) (r *Replay, err error) {
	prefix := releasePrefix(release, set)
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketReleases).Cursor()
		k := lastOf(c, prefix)
		// A damaged page can hide the newest key, so that an older pass would stand in for it.
		newest := tx.Bucket(bucketIDs).Get(prefix)
		if known := newest != nil; known != (k != nil) || known && !bytes.Equal(append(bytes.Clone(prefix), newest...), k) {
			return corrupt(fmt.Sprintf("index of release %q", release), fmt.Errorf("it ends with %x, and replay %x is the newest", k, newest))
		}
		for ; k != nil; k, _ = c.Prev() {
			if len(k) != len(prefix)+8 || !bytes.HasPrefix(k, prefix) {
				return nil
			}
			got, err := indexedReplay(tx, binary.BigEndian.Uint64(k[len(prefix):]))
			if err != nil {
				return err
			}
			if got.Release != release || got.Set != set {
				return corrupt(fmt.Sprintf("index of release %q", release), fmt.Errorf("it points to replay %d, which is of release %q", got.Seq, got.Release))
			}
			if !got.StartedAt.After(at) {
				r = got
				return nil
			}
		}
		return nil
	})
	return r, err
}

// lastOf moves to the greatest key that is the prefix and a sequence, and gives it, or nil.
func lastOf(c *bolt.Cursor, prefix []byte) []byte {
	k, _ := c.Seek(append(bytes.Clone(prefix), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF))
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if len(k) != len(prefix)+8 || !bytes.HasPrefix(k, prefix) {
		return nil
	}
	return k
}

// maxPageBytes bounds the records of one page: a decision has up to a thousand findings.
const maxPageBytes = 8 << 20

// Replays gives at most limit records, newest first, beginning in front of the sequence before; 0 is the end. Empty set
// or release stands for all. A page is cut where its records are many bytes; more says that there are others behind it. They
// come without Record.
func (s *Store) Replays(set, release string, before uint64, limit int) (out []*Replay, more bool, err error) {
	size := 0
	err = s.view(func(tx *bolt.Tx) error {
		c, last := tx.Bucket(bucketDecisions).Cursor(), uint64(0)
		k, _ := c.Last()
		if before != 0 {
			if k, _ = c.Seek(number(before)); k != nil {
				k, _ = c.Prev()
			} else {
				k, _ = c.Last()
			}
		}
		for ; k != nil; k, _ = c.Prev() {
			if len(k) != 8 {
				return corrupt("bucket \"decisions\"", fmt.Errorf("malformed key %q", clip(k)))
			}
			seq := binary.BigEndian.Uint64(k)
			if last != 0 && seq != last-1 { // they have no gaps
				return corrupt(fmt.Sprintf("replay record %d", last-1), errors.New("missing"))
			}
			last = seq
			r, err := readReplay(tx, seq)
			if err != nil {
				return err
			}
			if set != "" && r.Set != set || release != "" && r.Release != release {
				continue
			}
			if more = len(out) == limit || size > maxPageBytes; more {
				return nil
			}
			size += len(r.Decision)
			r.Record = nil
			out = append(out, r)
		}
		return nil
	})
	return out, more, err
}

// splitReleaseKey takes a key of the releases bucket apart.
func splitReleaseKey(k []byte) (release, set string, seq uint64, ok bool) {
	if len(k) < 10 {
		return "", "", 0, false
	}
	release, set, ok = strings.Cut(string(k[:len(k)-9]), "\x00")
	return release, set, binary.BigEndian.Uint64(k[len(k)-8:]), ok && k[len(k)-9] == 0
}

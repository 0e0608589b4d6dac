package fixturestore

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Version is one immutable state of a set.
type Version struct {
	Set string
	// Number counts from 1; Parent is the number it was made from, 0 for the first.
	Number, Parent uint64
	// Checksum is the one of fixture.Checksum.
	Checksum string
	// Tally counts its fixtures.
	Tally fixture.Tally
	// Vocabulary is the set's.
	Vocabulary fixture.Vocabulary
	// Config is the rest of what stands beside the fixtures, in a form that the store does not read.
	Config []byte
	// Author and Reason are never empty.
	Author, Reason string
	CommittedAt    time.Time
	// Changes says why an expectation changed, by fixture id (R18).
	Changes map[string]string
	// RemovalReason says why fixtures were removed.
	RemovalReason string
	// Added, Changed and Removed count the fixtures that differ from the parent's.
	Added, Changed, Removed uint64
	// Tags in ascending order.
	Tags []string
	// ApprovalNeeded says in sentences what needs the approval of a second person; empty if nothing does. Approval is nil
	// until it is given.
	ApprovalNeeded []string
	Approval       *Approval
	// Loosened counts the fixtures that were removed or rewritten without an approval, since the first version or the newest that
	// was approved.
	Loosened uint64

	root   ref
	digest fixture.Digest // over the record, as the log has it
}

// versionRecord is the stored form of a Version. Tags stand in a bucket of their own.
type versionRecord struct {
	Checksum      string             `json:"checksum"`
	Parent        uint64             `json:"parent"`
	Root          rootRecord         `json:"root"`
	Total         uint64             `json:"total"`
	Hermetic      uint64             `json:"hermetic"`
	WithoutReason uint64             `json:"without_reason"`
	Counts        []fixture.Count    `json:"counts"`
	Vocabulary    fixture.Vocabulary `json:"vocabulary"`
	Config        []byte             `json:"config"`
	Author        string             `json:"author"`
	Reason        string             `json:"reason"`
	CommittedAt   time.Time          `json:"committed_at"`
	Changes       map[string]string  `json:"changes,omitempty"`
	RemovalReason string             `json:"removal_reason,omitempty"`
	Added         uint64             `json:"added"`
	Changed       uint64             `json:"changed"`
	Removed       uint64             `json:"removed"`
	Needed        []string           `json:"approval_needed,omitempty"`
	Loosened      uint64             `json:"loosened,omitempty"`
}

type rootRecord struct {
	Seq   uint64 `json:"seq"`
	Hash  string `json:"hash"`
	Count uint64 `json:"count"`
	Level uint8  `json:"level"`
	Last  string `json:"last"`
}

func (v *Version) encode() ([]byte, error) {
	return json.Marshal(versionRecord{
		Checksum: v.Checksum, Parent: v.Parent,
		Root:  rootRecord{v.root.seq, v.root.hash.String(), v.root.count, v.root.level, v.root.last},
		Total: v.Tally.Total, Hermetic: v.Tally.Hermetic, WithoutReason: v.Tally.WithoutReason, Counts: v.Tally.Counts(),
		Vocabulary: v.Vocabulary, Config: v.Config, Author: v.Author, Reason: v.Reason, CommittedAt: v.CommittedAt,
		Changes: v.Changes, RemovalReason: v.RemovalReason, Added: v.Added, Changed: v.Changed, Removed: v.Removed, Needed: v.ApprovalNeeded, Loosened: v.Loosened,
	})
}

func decodeVersion(set string, n uint64, record []byte) (*Version, error) {
	var r versionRecord
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, err
	}
	v := &Version{
		Set: set, Number: n, Parent: r.Parent, Checksum: r.Checksum, Vocabulary: r.Vocabulary, Config: r.Config,
		Author: r.Author, Reason: r.Reason, CommittedAt: r.CommittedAt, Changes: r.Changes, RemovalReason: r.RemovalReason,
		Added: r.Added, Changed: r.Changed, Removed: r.Removed, ApprovalNeeded: r.Needed, Loosened: r.Loosened,
		Tally: fixture.Tally{Total: r.Total, Hermetic: r.Hermetic, WithoutReason: r.WithoutReason},
		root:  ref{last: r.Root.Last, seq: r.Root.Seq, count: r.Root.Count, level: r.Root.Level},
	}
	hash, err := hex.DecodeString(r.Root.Hash)
	if err != nil || len(hash) != len(v.root.hash) || v.root.count != v.Tally.Total {
		return nil, errors.New("the root of the manifest is malformed")
	}
	copy(v.root.hash[:], hash)
	return v, v.Tally.SetCounts(r.Counts)
}

// Name gives the version as it stands in messages.
func (v *Version) Name() string { return versionName(v.Set, v.Number) }

func versionName(set string, n uint64) string { return fmt.Sprintf("version %d of %q", n, set) }

// VersionAt gives the version that was the newest of its set at an instant. CodeNotFound if there was none.
func (s *Store) VersionAt(set string, at time.Time) (v *Version, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		top, err := newestNumber(tx, set)
		if err != nil {
			return err
		}
		for n := top; n > 0; n-- {
			if v, err = readVersion(tx, set, n); err != nil || !v.CommittedAt.After(at) {
				return err
			}
		}
		return fixture.NewError(fixture.CodeNotFound, "find set", fmt.Sprintf("%q", set), errors.New("there is no such set"))
	})
	return v, err
}

// Newest gives the newest version of a set. CodeNotFound if there is no such set.
func (s *Store) Newest(set string) (*Version, error) {
	var v *Version
	err := s.view(func(tx *bolt.Tx) (err error) {
		v, err = newest(tx, set)
		return err
	})
	if err == nil && v == nil {
		err = fixture.NewError(fixture.CodeNotFound, "find set", fmt.Sprintf("%q", set), errors.New("there is no such set"))
	}
	return v, err
}

// newest gives nil where there is no such set.
func newest(tx *bolt.Tx, set string) (*Version, error) {
	n, err := newestNumber(tx, set)
	if err != nil || n == 0 {
		return nil, err
	}
	return readVersion(tx, set, n)
}

// newestNumber gives 0 where there is no such set. A damaged page can hide the newest key, so that an older version would
// pass for the newest: the log has the last word.
func newestNumber(tx *bolt.Tx, set string) (uint64, error) {
	n := lastNumber(tx, set)
	if logged(tx, KindVersion, versionSubject(set, n+1)) {
		return 0, corrupt(versionName(set, n+1), errMissing)
	}
	return n, nil
}

func lastNumber(tx *bolt.Tx, set string) uint64 {
	c := tx.Bucket(bucketVersions).Cursor()
	k, _ := c.Seek(append([]byte(set), 1)) // the first key behind the set's own
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	name, n, ok := splitVersionKey(k)
	if !ok || name != set {
		return 0
	}
	return n
}

func splitVersionKey(k []byte) (set string, n uint64, ok bool) {
	if len(k) < 9 || k[len(k)-9] != 0 {
		return "", 0, false
	}
	return string(k[:len(k)-9]), binary.BigEndian.Uint64(k[len(k)-8:]), true
}

func readVersion(tx *bolt.Tx, set string, n uint64) (*Version, error) {
	key := versionKey(set, n)
	value := tx.Bucket(bucketVersions).Get(key)
	if value == nil {
		if logged(tx, KindVersion, versionSubject(set, n)) {
			return nil, corrupt(versionName(set, n), errMissing)
		}
		return nil, fixture.NewError(fixture.CodeNotFound, "find", versionName(set, n), errors.New("there is no such version"))
	}
	record, err := unseal(bucketVersions, key, value)
	if err != nil {
		return nil, corrupt(versionName(set, n), err)
	}
	v, err := decodeVersion(set, n, record)
	if err != nil {
		return nil, corrupt(versionName(set, n), err)
	}
	v.digest = fixture.DigestOf(record)
	if v.Tags, err = readTags(tx, set, n); err != nil {
		return nil, err
	}
	v.Approval, err = readApproval(tx, set, n)
	return v, err
}

// Version gives one version of a set. CodeNotFound if there is no such version.
func (s *Store) Version(set string, n uint64) (v *Version, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		v, err = readVersion(tx, set, n)
		return err
	})
	return v, err
}

// VersionByChecksum gives the newest version of a set with this checksum. CodeNotFound if there is none.
func (s *Store) VersionByChecksum(set, checksum string) (v *Version, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		top, err := newestNumber(tx, set)
		if err != nil {
			return err
		}
		for n := top; n > 0; n-- {
			got, err := readVersion(tx, set, n)
			if err != nil {
				return err
			}
			if got.Checksum == checksum {
				v = got
				return nil
			}
		}
		return fixture.NewError(fixture.CodeNotFound, "find", fmt.Sprintf("%s of %q", checksum, set), errors.New("no version has this checksum"))
	})
	return v, err
}

// Versions gives at most limit versions of a set, newest first, beginning with number from; 0 is the newest.
func (s *Store) Versions(set string, from uint64, limit int) (out []*Version, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		top, err := newestNumber(tx, set)
		if err != nil {
			return err
		}
		if top == 0 {
			return fixture.NewError(fixture.CodeNotFound, "find set", fmt.Sprintf("%q", set), errors.New("there is no such set"))
		}
		if from == 0 || from > top {
			from = top
		}
		for n := from; n > 0 && len(out) < limit; n-- {
			v, err := readVersion(tx, set, n)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	})
	return out, err
}

// Sets gives the newest version of at most limit sets in ascending order of names, beginning behind the name after.
func (s *Store) Sets(after string, limit int) (out []*Version, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketVersions).Cursor()
		for k, _ := c.Seek(append([]byte(after), 1)); k != nil && len(out) < limit; {
			set, _, ok := splitVersionKey(k)
			if !ok {
				return corrupt("bucket \"versions\"", fmt.Errorf("malformed key %q", clip(k)))
			}
			v, err := newest(tx, set)
			if err != nil {
				return err
			}
			if v == nil || set <= after {
				return corrupt("bucket \"versions\"", fmt.Errorf("key %q is out of order", clip(k)))
			}
			after = set
			out = append(out, v)
			k, _ = c.Seek(append([]byte(set), 1))
		}
		return nil
	})
	return out, err
}

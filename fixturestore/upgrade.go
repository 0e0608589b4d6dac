package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// upgrade brings a file of layout 1 to this one, in one transaction: it had no log, so that what it holds becomes the log's
// first entries.
func (s *Store) upgrade() error {
	old := false
	err := s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		old = b != nil && string(b.Get(keyLayout)) == "1"
		return nil
	})
	if err != nil || !old {
		return err
	}
	s.upgraded = true
	return s.update(func(tx *bolt.Tx) error {
		for _, b := range buckets() {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		for _, step := range []func(*bolt.Tx) error{logVersions, logTags, logReplays} {
			if err := step(tx); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyLayout, []byte(layoutVersion))
	})
}

func logVersions(tx *bolt.Tx) error {
	return tx.Bucket(bucketVersions).ForEach(func(k, value []byte) error {
		set, n, ok := splitVersionKey(k)
		if !ok {
			return corrupt("bucket \"versions\"", fmt.Errorf("malformed key %q", clip(k)))
		}
		record, err := unseal(bucketVersions, k, value)
		if err != nil {
			return corrupt(versionName(set, n), err)
		}
		v, err := decodeVersion(set, n, record)
		if err != nil {
			return corrupt(versionName(set, n), err)
		}
		return appendLog(tx, KindVersion, versionSubject(set, n), record, v.CommittedAt)
	})
}

func logTags(tx *bolt.Tx) error {
	return tx.Bucket(bucketTags).ForEach(func(k, value []byte) error {
		set, tag, _ := strings.Cut(string(k), "\x00")
		record, err := unseal(bucketTags, k, value)
		if err != nil || len(record) != 8 {
			return corrupt(fmt.Sprintf("tag %q of %q", tag, set), errors.Join(err, errors.New("malformed")))
		}
		v, err := readVersion(tx, set, binary.BigEndian.Uint64(record))
		if err != nil {
			return err
		}
		return appendLog(tx, KindTag, tagSubject(set, tag), record, v.CommittedAt)
	})
}

func logReplays(tx *bolt.Tx) error {
	return tx.Bucket(bucketDecisions).ForEach(func(k, value []byte) error {
		if len(k) != 8 {
			return corrupt("bucket \"decisions\"", fmt.Errorf("malformed key %q", clip(k)))
		}
		seq := binary.BigEndian.Uint64(k)
		r, err := readReplay(tx, seq)
		if err != nil {
			return err
		}
		if err := tx.Bucket(bucketIDs).Put([]byte(r.ID), number(seq)); err != nil {
			return err
		}
		if r.State == Running {
			return nil
		}
		record, err := unseal(bucketDecisions, k, value)
		if err != nil {
			return err
		}
		return appendLog(tx, KindDecision, r.ID, record, r.StartedAt)
	})
}

package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/internal/durable"
)

// upgrade brings a file of layout 1 to this one, in one transaction: it had no log, so that what it holds becomes the log's
// first entries. A checkpoint beside it is of a log that it once had: then it is older than that, and stays as it is.
func (s *Store) upgrade(o Options) error {
	old, logged := false, false
	err := s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		old = b != nil && string(b.Get(keyLayout)) == "1"
		logged = tx.Bucket(bucketLog) != nil
		return nil
	})
	if err != nil || !old {
		return err
	}
	if logged {
		return corrupt("file", errors.New("it says that it has layout 1, and has a log, which layout 1 had not"))
	}
	if !o.IgnoreCheckpoint {
		if err := s.firstCheckpoint(); err != nil {
			return err
		}
	}
	return s.update(func(tx *bolt.Tx) error {
		for _, b := range buckets() {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		for _, step := range []func(*bolt.Tx) error{s.logVersions, s.logTags, s.logReplays} {
			if err := step(tx); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyLayout, []byte(layoutVersion))
	})
}

// firstCheckpoint puts the checkpoint of an empty log beside a file that gets one, so that a crash in between leaves nothing
// that is refused.
func (s *Store) firstCheckpoint() error {
	if s.signer == nil {
		return nil
	}
	file := s.path + CheckpointSuffix
	on, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		signed, err := s.signEmpty()
		if err != nil {
			return err
		}
		return errors.Join(durable.ReplaceFile(file, signed), durable.SyncDir(filepath.Dir(file)))
	}
	if err != nil {
		return err
	}
	if c, err := checkpoint.Read(on); err != nil || c.Tree.N > 0 {
		return corrupt("file", fmt.Errorf("it has the layout before there was a log, and %s is of a log of %d entries: it is older than that", file, c.Tree.N))
	}
	return nil
}

func (s *Store) logVersions(tx *bolt.Tx) error {
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
		return s.appendLog(tx, KindVersion, versionSubject(set, n), record, v.CommittedAt)
	})
}

func (s *Store) logTags(tx *bolt.Tx) error {
	return tx.Bucket(bucketTags).ForEach(func(k, value []byte) error {
		set, tag, _ := strings.Cut(string(k), "\x00")
		n, err := openTag(set, k, value)
		if err != nil {
			return err
		}
		v, err := readVersion(tx, set, n)
		if err != nil {
			return err
		}
		return s.appendLog(tx, KindTag, tagSubject(set, tag), number(n), v.CommittedAt)
	})
}

func (s *Store) logReplays(tx *bolt.Tx) error {
	return tx.Bucket(bucketDecisions).ForEach(func(k, value []byte) error {
		if len(k) != 8 {
			return corrupt("bucket \"decisions\"", fmt.Errorf("malformed key %q", clip(k)))
		}
		seq := binary.BigEndian.Uint64(k)
		r, err := readReplay(tx, seq)
		if err != nil {
			return err
		}
		if err := s.beginLogged(tx, seq, *r); err != nil {
			return err
		}
		if r.State == Running {
			return nil
		}
		record, err := unseal(bucketDecisions, k, value)
		if err != nil {
			return err
		}
		return s.appendLog(tx, KindDecision, r.ID, record, r.StartedAt)
	})
}

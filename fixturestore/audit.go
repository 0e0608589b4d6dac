package fixturestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/tlog"
)

// audit reads the log when a file is opened, and holds against it all that says what is the newest: the tree recomputes from its
// leaves, the index of subjects is theirs, every version that was published is there, and so is every replay, and the newest of
// each release and set is the one that is taken for it. What a record itself says is compared when it is read.
//
// It takes a few microseconds an entry.
func (s *Store) audit() error {
	return s.view(func(tx *bolt.Tx) error {
		a := &auditor{tx: tx, stamped: s.stamped, newest: map[string]uint64{}, heads: map[string]uint64{}}
		if err := a.leaves(); err != nil {
			return err
		}
		if n := tx.Bucket(bucketLogSubjects).Stats().KeyN; n != len(a.newest) {
			return corrupt("bucket \"logsubjects\"", fmt.Errorf("it has %d keys, the log is about %d subjects", n, len(a.newest)))
		}
		for key, index := range a.newest {
			if !bytes.Equal(tx.Bucket(bucketLogSubjects).Get([]byte(key)), number(index)) {
				return corrupt("bucket \"logsubjects\"", fmt.Errorf("entry %d is the newest about %.200q, and it does not say so", index, key))
			}
		}
		for prefix, seq := range a.heads {
			if !bytes.Equal(tx.Bucket(bucketIDs).Get([]byte(prefix)), number(seq)) {
				return corrupt("bucket \"ids\"", fmt.Errorf("replay %d is the newest of %.200q, and it does not say so", seq, prefix))
			}
		}
		return nil
	})
}

type auditor struct {
	tx      *bolt.Tx
	stamped func(time.Time)
	newest  map[string]uint64 // index of the newest entry, by subjectKey
	heads   map[string]uint64 // sequence of the newest replay, by releasePrefix
	hashes  []tlog.Hash
}

// ReadHashes implements tlog.HashReader over the hashes that were computed.
func (a *auditor) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = a.hashes[at]
	}
	return out, nil
}

func (a *auditor) leaves() error {
	n := uint64(0)
	if err := a.tx.Bucket(bucketLog).ForEach(func(k, leaf []byte) error {
		if !bytes.Equal(k, number(n)) {
			return corrupt(fmt.Sprintf("log entry %d", n), errors.New("missing"))
		}
		hashes, err := tlog.StoredHashes(int64(n), leaf, a)
		if err != nil {
			return corrupt(fmt.Sprintf("log entry %d", n), err)
		}
		a.hashes = append(a.hashes, hashes...)
		var e LogEntry
		if err := json.Unmarshal(leaf, &e); err != nil {
			return corrupt(fmt.Sprintf("log entry %d", n), err)
		}
		a.newest[string(subjectKey(e.Kind, e.Subject))] = n
		a.stamped(e.At)
		n++
		return a.present(e)
	}); err != nil {
		return err
	}
	computed, err := tlog.TreeHash(int64(n), a)
	if err != nil {
		return corrupt("log", err)
	}
	stored, err := treeAt(a.tx, n)
	if err == nil && stored.Hash != computed {
		err = corrupt("log", errors.New("its tree is not that of its entries"))
	}
	return err
}

// present holds that what an entry is about is there.
func (a *auditor) present(e LogEntry) error {
	missing := corrupt(fmt.Sprintf("%s %q", e.Kind, e.Subject), errMissing)
	switch e.Kind {
	case KindVersion:
		at := strings.LastIndexByte(e.Subject, '@')
		var n uint64
		if at < 0 {
			return missing
		}
		if _, err := fmt.Sscan(e.Subject[at+1:], &n); err != nil || a.tx.Bucket(bucketVersions).Get(versionKey(e.Subject[:at], n)) == nil {
			return missing
		}
	case KindReplay:
		if !bytes.Equal(a.tx.Bucket(bucketIDs).Get([]byte(e.Subject)), number(e.Seq)) || a.tx.Bucket(bucketDecisions).Get(number(e.Seq)) == nil {
			return missing
		}
		if e.Release != "" {
			a.heads[string(releasePrefix(e.Release, e.Set))] = e.Seq
		}
	}
	return nil
}

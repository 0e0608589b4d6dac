package fixturestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// log recomputes the tree from its leaves, and holds every record against the newest leaf about it, both ways.
func (v *verifier) log() error {
	newest, err := v.leaves()
	if err != nil {
		return err
	}
	for _, r := range []struct {
		bucket []byte
		kind   Kind
		// subject names the record of a key; empty for one that the log does not have yet.
		subject func(key, record []byte) (string, error)
	}{
		{bucketVersions, KindVersion, versionOf},
		{bucketApprovals, KindApproval, versionOf},
		{bucketTags, KindTag, func(k, _ []byte) (string, error) {
			set, tag, _ := strings.Cut(string(k), "\x00")
			return tagSubject(set, tag), nil
		}},
		{bucketDecisions, KindDecision, v.endedReplay},
		{bucketWaivers, KindWaiver, v.waiverID},
	} {
		keys, err := v.keys(r.bucket)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := v.report(v.logged(r.bucket, k, r.kind, r.subject, newest)); err != nil {
				return err
			}
		}
	}
	for _, e := range newest {
		err := corrupt(fmt.Sprintf("%s %q", e.Kind, e.Subject), fmt.Errorf("log entry %d is about it, and there is no such record", e.Index))
		if err := v.report(err); err != nil {
			return err
		}
	}
	return nil
}

// leaves reads the log, and gives the newest entry of each subject.
func (v *verifier) leaves() (map[string]*LogEntry, error) {
	const page = 1000
	newest := map[string]*LogEntry{}
	var tree []tlog.Hash // the stored hashes, computed anew
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, at := range indexes {
			out[i] = tree[at]
		}
		return out, nil
	})
	for {
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := v.s.Entries(v.sum.Entries, page)
		if err != nil {
			return newest, v.report(err) // nothing behind a damaged entry can be read
		}
		for _, e := range entries {
			hashes, err := tlog.StoredHashes(int64(e.Index), e.Leaf, reader)
			if err != nil {
				return nil, err
			}
			tree = append(tree, hashes...)
			v.sum.Entries++
			key := string(subjectKey(e.Kind, e.Subject))
			if newest[key] != nil && e.Kind != KindWaiver {
				if err := v.report(corrupt(fmt.Sprintf("%s %q", e.Kind, e.Subject), fmt.Errorf("log entries %d and %d are both about it", newest[key].Index, e.Index))); err != nil {
					return nil, err
				}
			}
			newest[key] = e
		}
		if len(entries) < page {
			break
		}
	}
	return newest, v.report(v.s.view(func(tx *bolt.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(newest)) {
			if e := newest[key]; !bytes.Equal(tx.Bucket(bucketLogSubjects).Get([]byte(key)), number(e.Index)) {
				return corrupt(fmt.Sprintf("index of %s %q", e.Kind, e.Subject), fmt.Errorf("it does not lead to log entry %d", e.Index))
			}
		}
		if n := tx.Bucket(bucketLogHashes).Stats().KeyN; n != len(tree) {
			return corrupt("log", fmt.Errorf("it has %d hashes in place of %d", n, len(tree)))
		}
		for at, want := range tree {
			if got := tx.Bucket(bucketLogHashes).Get(number(uint64(at))); string(got) != string(want[:]) {
				return corrupt("log", fmt.Errorf("hash %d is not that of its entries", at))
			}
		}
		return nil
	}))
}

// logged holds one record against the log, and takes its entry out of newest.
func (v *verifier) logged(bucket, key []byte, kind Kind, subject func(key, record []byte) (string, error), newest map[string]*LogEntry) error {
	var record []byte
	err := v.s.view(func(tx *bolt.Tx) (err error) {
		record, err = unseal(bucket, key, tx.Bucket(bucket).Get(key))
		return err
	})
	name, nameErr := "", error(nil)
	if err == nil {
		name, nameErr = subject(key, record)
	}
	if err := errors.Join(err, nameErr); err != nil || name == "" {
		return nil // the check of the records has named it, or it has not ended
	}
	at := string(subjectKey(kind, name))
	e := newest[at]
	delete(newest, at)
	switch {
	case e == nil:
		return corrupt(fmt.Sprintf("%s %q", kind, name), errors.New("the log has no entry about it"))
	case e.Record != fixture.DigestOf(record).String():
		return corrupt(fmt.Sprintf("%s %q", kind, name), fmt.Errorf("it is not what log entry %d was made for", e.Index))
	}
	return nil
}

func versionOf(k, _ []byte) (string, error) {
	set, n, ok := splitVersionKey(k)
	if !ok {
		return "", fmt.Errorf("malformed key %q", clip(k))
	}
	return versionSubject(set, n), nil
}

func (v *verifier) endedReplay(k, _ []byte) (string, error) {
	if len(k) != 8 {
		return "", fmt.Errorf("malformed key %q", clip(k))
	}
	r, err := v.s.Replay(binary.BigEndian.Uint64(k))
	if err != nil || r.State == Running {
		return "", err
	}
	return r.ID, nil
}

func (v *verifier) waiverID(k, _ []byte) (string, error) {
	all, err := v.s.Waivers("", "")
	for _, w := range all {
		if len(k) == 8 && w.Seq == binary.BigEndian.Uint64(k) {
			return w.ID, nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("malformed key %q", clip(k)))
}

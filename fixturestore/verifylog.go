package fixturestore

import (
	"bytes"
	"encoding/json"
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
		bucket  []byte
		kind    Kind
		subject subjectOf
	}{
		{bucketVersions, KindVersion, versionOf},
		{bucketApprovals, KindApproval, versionOf},
		{bucketTags, KindTag, func(k, record []byte) (string, []byte, error) {
			set, tag, _ := strings.Cut(string(k), "\x00")
			return tagSubject(set, tag), record, nil
		}},
		{bucketDecisions, KindDecision, endedReplay},
		{bucketDecisions, KindReplay, begunReplay},
		{bucketWaivers, KindWaiver, waiverOf},
	} {
		keys, err := v.keys(r.bucket)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := v.ctx.Err(); err != nil {
				return err
			}
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
		// There may be more since.
		if n := tlog.StoredHashCount(int64(logSize(tx))); int64(tx.Bucket(bucketLogHashes).Stats().KeyN) != n {
			return corrupt("log", fmt.Errorf("it has %d hashes in place of %d", tx.Bucket(bucketLogHashes).Stats().KeyN, n))
		}
		for at, want := range tree {
			if got := tx.Bucket(bucketLogHashes).Get(number(uint64(at))); string(got) != string(want[:]) {
				return corrupt("log", fmt.Errorf("hash %d is not that of its entries", at))
			}
		}
		return nil
	}))
}

// subjectOf gives what the log calls a record, and the bytes that its entry is over; an empty name for a record that the log does
// not have yet.
type subjectOf func(key, record []byte) (name string, logged []byte, err error)

// logged holds one record against the log, and takes its entry out of newest.
func (v *verifier) logged(bucket, key []byte, kind Kind, subject subjectOf, newest map[string]*LogEntry) error {
	var record []byte
	err := v.s.view(func(tx *bolt.Tx) (err error) {
		record, err = unseal(bucket, key, tx.Bucket(bucket).Get(key))
		return err
	})
	if err != nil {
		return nil //nolint:nilerr // the check of the records has named it
	}
	name, over, err := subject(key, record)
	if err != nil || name == "" {
		return nil //nolint:nilerr // the same, or it has not ended
	}
	at := string(subjectKey(kind, name))
	e := newest[at]
	delete(newest, at)
	if e == nil || e.Record != fixture.DigestOf(over).String() {
		// It may have been written since the log was read.
		if now, err := v.s.EntryOf(kind, name); err == nil && now.Index >= v.sum.Entries {
			e = now
		}
	}
	switch {
	case e == nil:
		return corrupt(fmt.Sprintf("%s %q", kind, name), errors.New("the log has no entry about it"))
	case e.Record != fixture.DigestOf(over).String():
		return corrupt(fmt.Sprintf("%s %q", kind, name), fmt.Errorf("it is not what log entry %d was made for", e.Index))
	}
	return nil
}

func versionOf(k, record []byte) (string, []byte, error) {
	set, n, ok := splitVersionKey(k)
	if !ok {
		return "", nil, fmt.Errorf("malformed key %q", clip(k))
	}
	return versionSubject(set, n), record, nil
}

func endedReplay(_, record []byte) (string, []byte, error) {
	var r Replay
	if err := json.Unmarshal(record, &r); err != nil || r.State == Running {
		return "", nil, err
	}
	return r.ID, record, nil
}

func begunReplay(_, record []byte) (string, []byte, error) {
	var r Replay
	if err := json.Unmarshal(record, &r); err != nil {
		return "", nil, err
	}
	begun, err := r.begun()
	return r.ID, begun, err
}

func waiverOf(_, record []byte) (string, []byte, error) {
	var w Waiver
	err := json.Unmarshal(record, &w)
	return w.ID, record, err
}

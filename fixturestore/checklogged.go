package fixturestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

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

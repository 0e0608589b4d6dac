package fixturestore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Waiver lets one release out over named flips. The store keeps it; what it waives, the gate rules.
type Waiver struct {
	// Seq orders the waivers of a store; set by PutWaiver.
	Seq     uint64 `json:"-"`
	ID      string `json:"id"`
	Release string `json:"release"`
	Set     string `json:"set"`
	Version uint64 `json:"version"`
	// Replay is the id of the replay whose decision was looked at.
	Replay string       `json:"replay"`
	Flips  []WaivedFlip `json:"flips"`
	Reason string       `json:"reason"`

	GrantedBy string    `json:"granted_by"`
	GrantedAt time.Time `json:"granted_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// RevokedBy and RevokedAt are zero where nobody has revoked it.
	RevokedBy string    `json:"revoked_by,omitempty"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// WaivedFlip is one flip that a waiver names.
type WaivedFlip struct {
	Fixture    string `json:"fixture"`
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reason_code"`
}

// PutWaiver records a waiver as it is granted.
func (s *Store) PutWaiver(w Waiver) error {
	return s.write(func(tx *bolt.Tx) error {
		w.Seq = 1
		if k := lastKey(tx, bucketWaivers); len(k) == 8 {
			w.Seq = binary.BigEndian.Uint64(k) + 1
		}
		return s.putWaiver(tx, w, w.GrantedAt)
	}, func() bool { return s.hasWaiver(w.ID, func(*Waiver) bool { return true }) })
}

// hasWaiver says whether the file has a waiver that is as somebody wants it.
func (s *Store) hasWaiver(id string, wanted func(*Waiver) bool) bool {
	all, err := s.Waivers("", "")
	return err == nil && slices.ContainsFunc(all, func(w *Waiver) bool { return w.ID == id && wanted(w) })
}

func (s *Store) putWaiver(tx *bolt.Tx, w Waiver, at time.Time) error {
	record, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := tx.Bucket(bucketWaivers).Put(number(w.Seq), seal(bucketWaivers, number(w.Seq), record)); err != nil {
		return err
	}
	return s.appendLog(tx, KindWaiver, w.ID, record, at)
}

// RevokeWaiver ends a waiver. CodeNotFound for an unknown id, CodePrecondition for one that has ended at that instant.
func (s *Store) RevokeWaiver(id, by string, at time.Time) (out *Waiver, err error) {
	err = s.write(func(tx *bolt.Tx) error {
		all, err := waivers(tx, func(w *Waiver) bool { return w.ID == id })
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fixture.NewError(fixture.CodeNotFound, "revoke waiver", fmt.Sprintf("%.80q", id), errors.New("there is no such waiver"))
		}
		w := all[0]
		if !w.RevokedAt.IsZero() || !at.Before(w.ExpiresAt) {
			return fixture.NewError(fixture.CodePrecondition, "revoke waiver", id, errors.New("it has ended"))
		}
		w.RevokedBy, w.RevokedAt = by, at.UTC()
		out = w
		return s.putWaiver(tx, *w, at)
	}, func() bool {
		return s.hasWaiver(id, func(w *Waiver) bool { return w.RevokedBy == by && w.RevokedAt.Equal(at) })
	})
	return out, err
}

// Waivers gives the waivers, newest first; empty release or set stands for all.
func (s *Store) Waivers(release, set string) (out []*Waiver, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		out, err = waivers(tx, func(w *Waiver) bool {
			return (release == "" || w.Release == release) && (set == "" || w.Set == set)
		})
		return err
	})
	return out, err
}

func waivers(tx *bolt.Tx, wanted func(*Waiver) bool) (out []*Waiver, err error) {
	c := tx.Bucket(bucketWaivers).Cursor()
	for k, value := c.Last(); k != nil; k, value = c.Prev() {
		record, err := unseal(bucketWaivers, k, value)
		w := &Waiver{}
		if err == nil && len(k) != 8 {
			err = fmt.Errorf("malformed key %q", clip(k))
		}
		if err == nil {
			err = json.Unmarshal(record, w)
		}
		if err != nil {
			return nil, corrupt(fmt.Sprintf("waiver %x", clip(k)), err)
		}
		w.Seq = binary.BigEndian.Uint64(k)
		if wanted(w) {
			out = append(out, w)
		}
	}
	return out, nil
}

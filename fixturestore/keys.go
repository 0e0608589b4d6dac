package fixturestore

import (
	"encoding/json"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// keyRecord is what an idempotency key leads to.
type keyRecord struct {
	Seq uint64 `json:"seq"`
}

func idempotencyKey(by, key string) []byte { return append(append([]byte(by), 0), key...) }

func putKey(tx *bolt.Tx, r Replay, seq uint64) error {
	if err := fixture.CheckName(r.Key, fixture.MaxIDBytes); err != nil {
		return &fixture.Error{Code: fixture.CodeInvalid, Op: "replay", Field: "idempotency_key", Err: err}
	}
	k := idempotencyKey(r.SubmittedBy, r.Key)
	if tx.Bucket(bucketKeys).Get(k) != nil {
		return fixture.NewError(fixture.CodeExists, "replay with key", fmt.Sprintf("%.80q", r.Key), errors.New("the key was used before"))
	}
	record, err := json.Marshal(keyRecord{seq})
	if err != nil {
		return err
	}
	return tx.Bucket(bucketKeys).Put(k, seal(bucketKeys, k, record))
}

// ReplayByKey gives the replay that a submitter began with an idempotency key, nil if there is none.
func (s *Store) ReplayByKey(by, key string) (r *Replay, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		k := idempotencyKey(by, key)
		value := tx.Bucket(bucketKeys).Get(k)
		if value == nil {
			return nil
		}
		record, err := unseal(bucketKeys, k, value)
		var found keyRecord
		if err == nil {
			err = json.Unmarshal(record, &found)
		}
		if err != nil {
			return corrupt(fmt.Sprintf("idempotency key %.80q", key), err)
		}
		if r, err = indexedReplay(tx, found.Seq); err == nil && (r.Key != key || r.SubmittedBy != by) {
			err = corrupt(fmt.Sprintf("idempotency key %.80q", key), fmt.Errorf("it points to replay %s, which has another", r.ID))
		}
		return err
	})
	return r, err
}

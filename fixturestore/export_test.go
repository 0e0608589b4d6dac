package fixturestore

import (
	"testing"

	bolt "go.etcd.io/bbolt"
)

// ObjectCount counts the stored fixtures and stubs, whether or not a version has them.
func ObjectCount(t testing.TB, s *Store) (n int) {
	t.Helper()
	if err := s.view(func(tx *bolt.Tx) error {
		n = tx.Bucket(bucketObjects).Stats().KeyN
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// CountReads gives a function that says how many transactions, of which each reads one node or one run of objects,
// have been opened since.
func CountReads(s *Store) func() int {
	before := s.db.Stats()
	return func() int {
		now := s.db.Stats()
		d := now.Sub(&before)
		return d.TxN
	}
}

package fixturestore

import (
	"bytes"
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

// DropFromManifest takes the last entry out of a version's only leaf, as somebody would who edits the file: what is left is
// a well-formed node.
func DropFromManifest(t testing.TB, s *Store, v *Version) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		n, err := nodeIn(tx, v.root, nil)
		if err != nil {
			return err
		}
		return tx.Bucket(bucketNodes).Put(number(v.root.seq), encodeLeaf(n.entries[:len(n.entries)-1]))
	}); err != nil {
		t.Fatal(err)
	}
}

// EditReplay replaces a text in the record of a replay and leaves its hash as it is.
func EditReplay(t testing.TB, s *Store, seq uint64, old, edited string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketDecisions)
		value := bytes.Replace(bytes.Clone(b.Get(number(seq))), []byte(old), []byte(edited), 1)
		return b.Put(number(seq), value)
	}); err != nil {
		t.Fatal(err)
	}
}

// RemoveVersion takes the record of a version out of the file.
func RemoveVersion(t testing.TB, s *Store, set string, n uint64) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketVersions).Delete(versionKey(set, n)) }); err != nil {
		t.Fatal(err)
	}
}

// EditObjects replaces a text in every stored fixture, and leaves their length as it is.
func EditObjects(t testing.TB, s *Store, old, edited string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketObjects)
		changed := map[string][]byte{}
		if err := b.ForEach(func(k, v []byte) error {
			changed[string(k)] = bytes.ReplaceAll(bytes.Clone(v), []byte(old), []byte(edited))
			return nil
		}); err != nil {
			return err
		}
		for k, v := range changed {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

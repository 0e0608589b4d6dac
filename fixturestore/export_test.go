package fixturestore

import (
	"bytes"
	"testing"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/tlog"
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

// Downgrade makes a file of layout 1 of the store's: it had no log and none of the buckets that came with it.
func Downgrade(t testing.TB, s *Store) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{bucketIDs, bucketKeys, bucketApprovals, bucketWaivers, bucketLog, bucketLogHashes, bucketLogSubjects} {
			if err := tx.DeleteBucket(b); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyLayout, []byte("1"))
	}); err != nil {
		t.Fatal(err)
	}
}

// ForgeReplay replaces a text in the record of a replay, and seals the record anew, as somebody would who knows the format.
func ForgeReplay(t testing.TB, s *Store, seq uint64, old, edited string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketDecisions)
		record, err := unseal(bucketDecisions, number(seq), b.Get(number(seq)))
		if err != nil {
			return err
		}
		record = bytes.Replace(record, []byte(old), []byte(edited), 1)
		return b.Put(number(seq), seal(bucketDecisions, number(seq), record))
	}); err != nil {
		t.Fatal(err)
	}
}

// ForgeApproval approves a version without an entry in the log.
func ForgeApproval(t testing.TB, s *Store, set string, n uint64) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		key := versionKey(set, n)
		return tx.Bucket(bucketApprovals).Put(key, seal(bucketApprovals, key, []byte(`{"by":"eve","reason":"r","at":"2026-01-01T00:00:00Z"}`)))
	}); err != nil {
		t.Fatal(err)
	}
}

// RewriteLog replaces a text in a leaf and makes the tree anew, so that the file agrees with itself.
func RewriteLog(t testing.TB, s *Store, old, edited string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		var leaves [][]byte
		if err := tx.Bucket(bucketLog).ForEach(func(_, leaf []byte) error {
			leaves = append(leaves, bytes.Replace(bytes.Clone(leaf), []byte(old), []byte(edited), 1))
			return nil
		}); err != nil {
			return err
		}
		for i, leaf := range leaves {
			hashes, err := tlog.StoredHashes(int64(i), leaf, storedHashes(tx))
			if err != nil {
				return err
			}
			for j, h := range hashes {
				if err := tx.Bucket(bucketLogHashes).Put(number(uint64(tlog.StoredHashIndex(0, int64(i)))+uint64(j)), h[:]); err != nil {
					return err
				}
			}
			if err := tx.Bucket(bucketLog).Put(number(uint64(i)), leaf); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Edit changes a bucket behind the store's back.
func Edit(t testing.TB, s *Store, bucket string, change func(*bolt.Bucket) error) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error { return change(tx.Bucket([]byte(bucket))) }); err != nil {
		t.Fatal(err)
	}
}

// HideReplay has an older replay stand for the newest of a release and set, in every index that says which is.
func HideReplay(t testing.TB, s *Store, release, set string, newest, older uint64) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		prefix := releasePrefix(release, set)
		if err := tx.Bucket(bucketIDs).Put(prefix, number(older)); err != nil {
			return err
		}
		return tx.Bucket(bucketReleases).Delete(append(bytes.Clone(prefix), number(newest)...))
	}); err != nil {
		t.Fatal(err)
	}
}

// RemoveReplay takes the record of a replay out of the file.
func RemoveReplay(t testing.TB, s *Store, seq uint64) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketDecisions).Delete(number(seq)) }); err != nil {
		t.Fatal(err)
	}
}

// RemoveSubject takes a subject out of the log's index.
func RemoveSubject(t testing.TB, s *Store, kind Kind, subject string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketLogSubjects).Delete(subjectKey(kind, subject)) }); err != nil {
		t.Fatal(err)
	}
}

// RewriteLeaf replaces a text in one leaf, and its own hash, but none above it.
func RewriteLeaf(t testing.TB, s *Store, n uint64, old, edited string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error {
		leaf := bytes.ReplaceAll(bytes.Clone(tx.Bucket(bucketLog).Get(number(n))), []byte(old), []byte(edited))
		h := tlog.RecordHash(leaf)
		if err := tx.Bucket(bucketLogHashes).Put(number(uint64(tlog.StoredHashIndex(0, int64(n)))), h[:]); err != nil {
			return err
		}
		return tx.Bucket(bucketLog).Put(number(n), leaf)
	}); err != nil {
		t.Fatal(err)
	}
}

// SetLayout has a file say that it has a layout.
func SetLayout(t testing.TB, s *Store, layout string) {
	t.Helper()
	if err := s.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyLayout, []byte(layout)) }); err != nil {
		t.Fatal(err)
	}
}

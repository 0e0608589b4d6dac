package fixturestore_test

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// rename moves the value of a key that begins with some text and ends with a number to one with another number; nothing is put
// where there is no other.
func rename(t *testing.T, s *fixturestore.Store, bucket, begins string, last byte, to uint64) {
	t.Helper()
	fixturestore.Edit(t, s, bucket, func(b *bolt.Bucket) error {
		c := b.Cursor()
		for k, value := c.Seek([]byte(begins)); strings.HasPrefix(string(k), begins); k, value = c.Next() {
			if k[len(k)-1] != last {
				continue
			}
			value := append([]byte(nil), value...)
			other := binary.BigEndian.AppendUint64(append([]byte(nil), k[:len(k)-8]...), to)
			if err := b.Delete(append([]byte(nil), k...)); err != nil || to == 0 {
				return err
			}
			return b.Put(other, value)
		}
		t.Errorf("bucket %s has no key %q…%d", bucket, begins, last)
		return nil
	})
}

// damages counts what a check of the whole names.
func damages(t *testing.T, s *fixturestore.Store) (out []string) {
	t.Helper()
	if _, err := s.Verify(t.Context(), func(err error) error { out = append(out, err.Error()); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// R16: a check of the whole ends, however far away a key was thrown.
func TestR16VerifyEndsBehindAGap(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
	fill(t, s)
	rename(t, s, "versions", "memory\x00", 3, 1<<62)
	if got := damages(t, s); len(got) > 10 || !strings.Contains(got[0], `version 3 of "memory"`) {
		t.Errorf("%d are named: %.300q", len(got), got)
	}
}

// R16: an index that has lost a key is named, although nothing that it still has is wrong.
func TestR16VerifyHoldsIndexes(t *testing.T) {
	for bucket, key := range map[string]string{"ids": "k-1", "keys": "sam\x00key-1", "logsubjects": "decision\x00k-1", "releases": "v2\x00memory\x00\x00\x00\x00\x00\x00\x00\x00\x03"} {
		s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
		fill(t, s)
		if got := damages(t, s); len(got) != 0 {
			t.Fatalf("a sound store: %q", got)
		}
		fixturestore.Edit(t, s, bucket, func(b *bolt.Bucket) error { return b.Delete([]byte(key)) })
		if got := damages(t, s); len(got) != 1 || !strings.Contains(got[0], "k-1") && !strings.Contains(got[0], "key-1") {
			t.Errorf("%s: %q", bucket, got)
		}
	}
}

// R16, R29: what is newest is not what is left where the newest is hidden: an older pass would stand in for it.
func TestR16HiddenNewest(t *testing.T) {
	newStore := func() *fixturestore.Store {
		s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
		fill(t, s)
		return s
	}
	at := time.Unix(1<<33, 0)

	s := newStore()
	rename(t, s, "versions", "memory\x00", 3, 0)
	_, err := s.Newest("memory")
	wantCode(t, err, fixture.CodeCorrupt, `version 3 of "memory"`, "missing")
	_, err = s.VersionAt("memory", at)
	wantCode(t, err, fixture.CodeCorrupt, `version 3 of "memory"`)
	_, err = s.Version("memory", 3)
	wantCode(t, err, fixture.CodeCorrupt, `version 3 of "memory"`)

	s = newStore()
	rename(t, s, "approvals", "memory\x00", 2, 0)
	_, err = s.Version("memory", 2)
	wantCode(t, err, fixture.CodeCorrupt, `approval of version 2 of "memory"`)

	s = newStore()
	if r, err := s.ReplayAt("v2", "memory", at); err != nil || r.ID != "k-1" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := s.ReplayAt("v2", "memory", time.Unix(10, 0)); err != nil || r.ID != "k-0" {
		t.Fatalf("%+v, %v", r, err)
	}
	rename(t, s, "releases", "v2\x00memory\x00", 3, 0)
	_, err = s.ReplayAt("v2", "memory", at)
	wantCode(t, err, fixture.CodeCorrupt, `index of release "v2"`)

	s = newStore()
	fixturestore.Edit(t, s, "tags", func(b *bolt.Bucket) error { return b.Delete([]byte("memory\x00stable")) })
	_, err = s.VersionByTag("memory", "stable")
	wantCode(t, err, fixture.CodeCorrupt, `tag "stable" of "memory"`, "missing")
	wantCode(t, s.Tag("memory", 3, "stable", at), fixture.CodeCorrupt, `tag "stable" of "memory"`) // or it would move

	s = newStore()
	if err := s.CheckSets([]string{"memory"}); err != nil {
		t.Error(err)
	}
	wantCode(t, s.CheckSets([]string{"memory.old"}), fixture.CodeCorrupt, `set "memory"`)

	s = newStore()
	rename(t, s, "decisions", "", 2, 0)
	_, _, err = s.Replays("", "", 0, 10)
	wantCode(t, err, fixture.CodeCorrupt, "replay record 2", "missing")

	s = newStore()
	rename(t, s, "decisions", "", 3, 0)
	_, err = s.ReplayByID("k-1")
	wantCode(t, err, fixture.CodeCorrupt, "replay record 3")
}

// R16: of a damaged hash no proof is made, wherever in the tree it stands.
func TestR16ProofOfADamagedHash(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
	fill(t, s)
	flip := func(at uint64) {
		fixturestore.Edit(t, s, "loghashes", func(b *bolt.Bucket) error {
			key := binary.BigEndian.AppendUint64(nil, at)
			value := append([]byte(nil), b.Get(key)...)
			value[7] ^= 4
			return b.Put(key, value)
		})
	}
	proofs := func() (out []string) {
		for old := uint64(1); old <= 10; old++ {
			if _, err := s.ConsistencyProof(old, 10); err != nil {
				wantCode(t, err, fixture.CodeCorrupt, "log")
				out = append(out, err.Error())
			}
			if _, _, _, err := s.InclusionProof(old-1, 0); err != nil {
				wantCode(t, err, fixture.CodeCorrupt, "log")
				out = append(out, err.Error())
			}
		}
		return out
	}
	if got := proofs(); len(got) != 0 {
		t.Fatalf("a sound log: %q", got)
	}
	for at := range uint64(18) {
		flip(at)
		if len(proofs()) == 0 {
			t.Errorf("with hash %d damaged, every proof is still made", at)
		}
		flip(at)
	}
}

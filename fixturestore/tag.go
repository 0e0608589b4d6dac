package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Tag gives a version a name. CodeExists if another version of the set carries it: tags do not move.
func (s *Store) Tag(set string, n uint64, tag string, at time.Time) error {
	return s.write(func(tx *bolt.Tx) error {
		if _, err := readVersion(tx, set, n); err != nil {
			return err
		}
		switch m, err := readTag(tx, set, tag); {
		case err != nil:
			return err
		case m == n:
			return nil
		case m != 0:
			return fixture.NewError(fixture.CodeExists, "tag", versionName(set, n), fmt.Errorf("%q already names version %d, and tags do not move", tag, m))
		}
		key := tagKey(set, tag)
		if err := tx.Bucket(bucketTags).Put(key, seal(bucketTags, key, number(n))); err != nil {
			return err
		}
		return s.appendLog(tx, KindTag, tagSubject(set, tag), number(n), at)
	}, func() bool {
		v, err := s.VersionByTag(set, tag)
		return err == nil && v.Number == n
	})
}

// tagSubject names a tag in the log.
func tagSubject(set, tag string) string { return set + ":" + tag }

// VersionByTag gives the version of a set that carries a tag. CodeNotFound if there is none.
func (s *Store) VersionByTag(set, tag string) (v *Version, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		n, err := readTag(tx, set, tag)
		if err != nil {
			return err
		}
		if n == 0 {
			return fixture.NewError(fixture.CodeNotFound, "find tag", fmt.Sprintf("%q of %q", tag, set), errors.New("no version carries it"))
		}
		v, err = readVersion(tx, set, n)
		return err
	})
	return v, err
}

// readTag gives the number of the version that carries a tag; 0 if none does.
func readTag(tx *bolt.Tx, set, tag string) (uint64, error) {
	key := tagKey(set, tag)
	value := tx.Bucket(bucketTags).Get(key)
	if value == nil {
		if logged(tx, KindTag, tagSubject(set, tag)) {
			return 0, corrupt(fmt.Sprintf("tag %q of %q", tag, set), errMissing)
		}
		return 0, nil
	}
	return openTag(set, key, value)
}

func openTag(set string, key, value []byte) (uint64, error) {
	got, err := unseal(bucketTags, key, value)
	if err != nil || len(got) != 8 {
		return 0, corrupt(fmt.Sprintf("tag %q of %q", clip(key[len(setPrefix(set)):]), set), errors.Join(err, errors.New("malformed")))
	}
	return binary.BigEndian.Uint64(got), nil
}

// readTags gives the names of a version.
func readTags(tx *bolt.Tx, set string, n uint64) ([]string, error) {
	var tags []string
	prefix := setPrefix(set)
	c := tx.Bucket(bucketTags).Cursor()
	for k, value := c.Seek(prefix); strings.HasPrefix(string(k), string(prefix)); k, value = c.Next() {
		m, err := openTag(set, k, value)
		if err != nil {
			return nil, err
		}
		if m == n {
			tags = append(tags, string(k[len(prefix):]))
		}
	}
	return tags, nil
}

package fixturestore

import (
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Ping reads one key, to find out whether the file answers. CodeUnavailable after Close, CodeCorrupt if the file is damaged
// there.
func (s *Store) Ping() error {
	var layout string
	err := s.view(func(tx *bolt.Tx) error {
		layout = string(tx.Bucket(bucketMeta).Get(keyLayout))
		return nil
	})
	if err == nil {
		err = s.behind()
	}
	switch {
	case fixture.CodeOf(err) == fixture.CodeCorrupt:
		return err
	case err != nil:
		return fixture.NewError(fixture.CodeUnavailable, "read store", s.path, err)
	case layout != layoutVersion:
		return corrupt(s.path, fmt.Errorf("layout %.20q where %q was", layout, layoutVersion))
	}
	return nil
}

// Size gives the length of the file in bytes. CodeUnavailable if it cannot be looked at.
func (s *Store) Size() (int64, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, fixture.NewError(fixture.CodeUnavailable, "look at store", s.path, err)
	}
	return info.Size(), nil
}

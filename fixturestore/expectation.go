package fixturestore

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// compare notices a changed expectation (R18). What is no longer compared at all, because the fixture left the group
// that gates, counts as one.
func (c *Commit) compare(before entry, f *fixture.Fixture, e entry, stubs bool) error {
	if before.digest == e.digest && before.stubby == e.stubby && (before.stubs != 0) == stubs {
		return nil
	}
	c.v.Changed++
	if before.digest == e.digest {
		return nil
	}
	old, err := c.s.fixture(before)
	if err != nil {
		return err
	}
	c.justify(old, f)
	return nil
}

// revive holds a fixture that comes back after it was removed against what it was: a removal is no way around a reason.
func (c *Commit) revive(f *fixture.Fixture) error {
	for _, v := range c.graves {
		item, err := c.s.Fixture(v, f.ID)
		if fixture.CodeOf(err) == fixture.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		c.justify(item.Fixture, f)
		return nil
	}
	return nil
}

// justify notes a changed expectation that nobody has given a reason for.
func (c *Commit) justify(old, f *fixture.Fixture) {
	if old.Expected.Equal(f.Expected) && old.Group == f.Group {
		return
	}
	if _, ok := c.excuses[f.ID]; ok {
		c.excuses[f.ID] = true
		return
	}
	if c.missing++; c.missing <= 20 {
		c.faults = append(c.faults, fmt.Sprintf("%s (%s, %s -> %s, %s)", f.ID, old.Expected, old.Group, f.Expected, f.Group))
	}
}

// graves gives the versions before newest of which the next one removed fixtures, newest first.
func (s *Store) graves(newest *Version) (out []*Version, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		next := newest
		for n := newest.Parent; n > 0; n-- {
			v, err := readVersion(tx, newest.Set, n)
			if err != nil {
				return err
			}
			if next.Removed > 0 {
				out = append(out, v)
			}
			next = v
		}
		return nil
	})
	return out, err
}

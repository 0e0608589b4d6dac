package fixturestore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Seal publishes the version. count and checksum are what the author sent; checksum may be empty.
//
// Errors: CodePrecondition if they differ from what arrived, if an expectation changed or a fixture was removed without
// a reason, or if nothing changed at all; CodeConflict if the parent is no longer the newest version.
func (c *Commit) Seal(count uint64, checksum string) (*Version, error) {
	if _, _, err := c.advance(""); err != nil {
		return nil, err
	}
	c.v.Checksum = c.sum.Sum()
	if c.parent == nil {
		c.v.Added = c.sum.Count()
	}
	if err := c.settle(count, checksum); err != nil {
		return nil, err
	}
	needed, err := c.demand()
	if err != nil {
		return nil, err
	}
	c.v.ApprovalNeeded = needed
	root, ok, err := c.tree.finish()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fixture.NewError(fixture.CodePrecondition, "commit to", fmt.Sprintf("%q", c.v.Set), fixture.ErrEmptySet)
	}
	c.v.root = root
	if err := c.publish(); err != nil {
		return nil, err
	}
	c.done = true
	return c.v, nil
}

// settle holds the rules on the commit as a whole.
func (c *Commit) settle(count uint64, checksum string) error {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fixture.NewError(fixture.CodePrecondition, "commit to", fmt.Sprintf("%q", c.v.Set), fmt.Errorf(format, args...)))
	}
	if n := c.sum.Count(); n != count {
		refuse("%d fixtures arrived, %d were sent", n, count)
	}
	if checksum != "" && checksum != c.v.Checksum {
		refuse("what arrived has checksum %s, what was sent %s", c.v.Checksum, checksum)
	}
	if c.missing > 0 {
		refuse("%d fixtures change their expected outcome or group without a reason: %s", c.missing, strings.Join(c.faults, ", "))
	}
	for _, id := range slices.Sorted(maps.Keys(c.excuses)) {
		if !c.excuses[id] {
			refuse("a reason is given for fixture %q, whose expected outcome does not change", id)
		}
	}
	if c.v.Removed > 0 && strings.TrimSpace(c.draft.RemovalReason) == "" {
		refuse("%d fixtures are removed without a reason", c.v.Removed)
	}
	if p := c.parent; p != nil && p.Checksum == c.v.Checksum && string(p.Config) == string(c.v.Config) {
		refuse("version %d has the same fixtures and configuration: there is nothing to commit", p.Number)
	}
	return errors.Join(errs...)
}

func (c *Commit) publish() error {
	record, err := c.v.encode()
	if err != nil {
		return err
	}
	key := versionKey(c.v.Set, c.v.Number)
	err = c.s.write(func(tx *bolt.Tx) error {
		if err := checkParent(tx, c.v.Set, c.v.Parent); err != nil {
			return err
		}
		if err := c.flush(tx); err != nil {
			return err
		}
		for _, first := range c.block {
			if err := tx.Bucket(bucketStaging).Delete(number(first)); err != nil {
				return err
			}
		}
		if err := tx.Bucket(bucketVersions).Put(key, seal(bucketVersions, key, record)); err != nil {
			return err
		}
		return c.s.appendLog(tx, KindVersion, versionSubject(c.v.Set, c.v.Number), record, c.v.CommittedAt)
	}, func() bool {
		got, err := c.s.Version(c.v.Set, c.v.Number)
		return err == nil && got.Checksum == c.v.Checksum && got.root == c.v.root
	})
	if err != nil && maybeWritten(err) {
		return fmt.Errorf("commit %s: %w", c.v.Name(), err)
	}
	return err
}

// Abort removes what the commit has staged. The next Open removes what a crash leaves.
func (c *Commit) Abort() error {
	if c.done {
		return nil
	}
	c.done = true
	var errs []error
	for _, first := range c.block {
		errs = append(errs, c.s.discard(first, first+blockSize-1))
	}
	return errors.Join(errs...)
}

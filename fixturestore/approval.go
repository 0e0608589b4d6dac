package fixturestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Approval says who approved a version.
type Approval struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// FourEyes has a commit that weakens the gate wait for the approval of a second person. What it demands is recorded with the
// version, and stays demanded.
type FourEyes struct {
	// FreeRemovals is how many fixtures one person may remove or rewrite, in all versions since the newest that was approved.
	FreeRemovals uint64
	// Also says in sentences what else needs an approval, as far as the caller alone can see it.
	Also []string
}

// Pending says whether a version lacks an approval that it needs.
func (v *Version) Pending() bool { return len(v.ApprovalNeeded) > 0 && v.Approval == nil }

// demand says what of a commit needs an approval: what it does to its parent, and that its parent has none. A commit that
// goes back to the last version that needs nothing is free.
func (c *Commit) demand() ([]string, error) {
	rules := c.draft.FourEyes
	if rules == nil || c.parent == nil {
		return nil, nil
	}
	var out []string
	if c.parent.Pending() {
		settled, err := c.s.settledBefore(c.parent)
		if err != nil {
			return nil, err
		}
		if settled != nil && settled.Checksum == c.v.Checksum && string(settled.Config) == string(c.v.Config) {
			if settled.Approval == nil {
				c.v.Loosened = settled.Loosened // what one person has removed until there stays removed
			}
			return nil, nil
		}
		out = append(out, fmt.Sprintf("version %d, on which it is made, lacks its approval", c.parent.Number))
	}
	if n := len(c.draft.Changes); n > 0 {
		out = append(out, fmt.Sprintf("%d expectations change", n))
	}
	// One person's removals add up over versions, until another has looked at them.
	c.v.Loosened = c.v.Removed + c.v.Changed
	if c.parent.Approval == nil {
		c.v.Loosened += c.parent.Loosened
	}
	if c.v.Removed+c.v.Changed > 0 && c.v.Loosened > rules.FreeRemovals {
		out = append(out, fmt.Sprintf("%d fixtures are removed or rewritten since somebody approved, and one person may do that to %d", c.v.Loosened, rules.FreeRemovals))
	}
	return append(out, rules.Also...), nil
}

// settledBefore gives the newest version before v that lacks no approval, nil if there is none.
func (s *Store) settledBefore(v *Version) (*Version, error) {
	for v.Pending() {
		if v.Number == 1 {
			return nil, nil
		}
		var err error
		if v, err = s.Version(v.Set, v.Number-1); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Approve approves the newest version of a set, and with it those before it that lack their approval.
//
// Errors: CodePrecondition if it is not the newest, needs no approval or has one; CodeDenied for an author of what is
// approved.
func (s *Store) Approve(set string, n uint64, a Approval) error {
	if strings.TrimSpace(a.Reason) == "" {
		return &fixture.Error{Code: fixture.CodeInvalid, Op: "approve", Subject: versionName(set, n), Field: "reason", Err: errors.New("missing: an approval says why it is given")}
	}
	refuse := func(code fixture.Code, format string, args ...any) error {
		return fixture.NewError(code, "approve", versionName(set, n), fmt.Errorf(format, args...))
	}
	return s.write(func(tx *bolt.Tx) error {
		n := n
		v, err := readVersion(tx, set, n)
		if err != nil {
			return err
		}
		top, err := newestNumber(tx, set)
		if err != nil {
			return err
		}
		switch {
		case top != n:
			return refuse(fixture.CodePrecondition, "version %d is the newest", top)
		case v.Approval != nil:
			return refuse(fixture.CodePrecondition, "%s has approved it before", v.Approval.By)
		case !v.Pending():
			return refuse(fixture.CodePrecondition, "it needs no approval")
		}
		record, err := json.Marshal(a)
		if err != nil {
			return err
		}
		for ; v.Pending(); n-- {
			if v.Author == a.By {
				return refuse(fixture.CodeDenied, "%s is the author of version %d: an approval is a second person's", a.By, v.Number)
			}
			key := versionKey(set, v.Number)
			if err := tx.Bucket(bucketApprovals).Put(key, seal(bucketApprovals, key, record)); err != nil {
				return err
			}
			if err := s.appendLog(tx, KindApproval, versionSubject(set, v.Number), record, a.At); err != nil {
				return err
			}
			if v.Number == 1 {
				return nil
			}
			if v, err = readVersion(tx, set, v.Number-1); err != nil {
				return err
			}
		}
		return nil
	}, func() bool {
		v, err := s.Version(set, n)
		return err == nil && v.Approval != nil && v.Approval.By == a.By && v.Approval.At.Equal(a.At)
	})
}

func readApproval(tx *bolt.Tx, set string, n uint64) (*Approval, error) {
	key := versionKey(set, n)
	value := tx.Bucket(bucketApprovals).Get(key)
	if value == nil {
		if logged(tx, KindApproval, versionSubject(set, n)) {
			return nil, corrupt("approval of "+versionName(set, n), errMissing)
		}
		return nil, nil
	}
	record, err := unseal(bucketApprovals, key, value)
	a := &Approval{}
	if err == nil {
		err = json.Unmarshal(record, a)
	}
	if err != nil {
		return nil, corrupt("approval of "+versionName(set, n), err)
	}
	return a, nil
}

// versionSubject names a version in the log.
func versionSubject(set string, n uint64) string { return fmt.Sprintf("%s@%d", set, n) }

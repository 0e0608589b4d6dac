package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Draft says what a commit is about to publish.
type Draft struct {
	// Set is the set's name. It is the caller's to validate; control characters are refused.
	Set string
	// Parent is the newest version of the set as the author knows it; 0 for a new set.
	Parent uint64
	// Author and Reason are mandatory.
	Author, Reason string
	Vocabulary     fixture.Vocabulary
	// Config is stored as it is. A commit that changes neither it nor any fixture is refused.
	Config []byte
	// Changes says why an expected outcome or a group changes, by fixture id (R18).
	Changes map[string]string
	// RemovalReason says why fixtures are removed.
	RemovalReason string
	// FourEyes has the version wait for an approval where it weakens the gate; nil demands none.
	FourEyes *FourEyes
	// At is the instant of the commit.
	At time.Time
}

// flushBytes and flushItems bound one transaction of a commit. One huge transaction is quadratic, many small ones sync
// too often.
const (
	flushBytes = 16 << 20
	flushItems = 20_000
	blockSize  = 32_768 // sequence numbers reserved at a time
)

// Commit publishes one version. Fixtures come in ascending byte order of their ids. It is not safe for concurrent use,
// and ends with Seal or Abort; Abort after Seal does nothing.
type Commit struct {
	s       *Store
	v       *Version
	draft   Draft
	parent  *Version
	old     *entries   // what is left of the parent
	graves  []*Version // versions with fixtures that the next one removed, newest first
	shared  map[fixture.Digest]uint64
	sum     *fixture.Checksum
	forms   fixture.Forms
	tree    builder
	pending []write
	bytes   int
	block   []uint64 // first sequence of each block that is staged
	seq     uint64   // next number of the newest block
	left    uint64   // numbers left in it
	excuses map[string]bool
	reader  fixture.Reader
	laid    fixture.Fixture
	layout  []byte
	faults  []string // fixtures that change without a reason
	missing int
	done    bool
}

type write struct {
	bucket []byte
	seq    uint64
	value  []byte
}

// Begin begins a commit. CodeConflict if the parent is not the newest version, CodeInvalid for a bad draft.
func (s *Store) Begin(d Draft) (*Commit, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	c := &Commit{s: s, draft: d, sum: fixture.NewChecksum(d.Vocabulary), excuses: maps.Collect(func(yield func(string, bool) bool) {
		for id := range d.Changes {
			if !yield(id, false) {
				return
			}
		}
	})}
	c.v = &Version{Set: d.Set, Number: d.Parent + 1, Parent: d.Parent, Vocabulary: d.Vocabulary, Config: d.Config,
		Author: d.Author, Reason: d.Reason, CommittedAt: d.At.UTC(), Changes: d.Changes, RemovalReason: d.RemovalReason}
	c.tree.put = c.putNode
	err := s.view(func(tx *bolt.Tx) (err error) {
		if err := checkParent(tx, d.Set, d.Parent); err != nil {
			return err
		}
		c.parent, err = newest(tx, d.Set)
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.parent != nil {
		if c.shared, err = s.nodes(c.parent); err != nil {
			return nil, err
		}
		if c.old, err = s.entries(c.parent); err != nil {
			return nil, err
		}
		if c.graves, err = s.graves(c.parent); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (d Draft) validate() error {
	var errs []error
	for field, value := range map[string]string{"set": d.Set, "author": d.Author} {
		if err := fixture.CheckName(value, 128); err != nil {
			errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Field: field, Err: err})
		}
	}
	if strings.TrimSpace(d.Reason) == "" {
		errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Field: "reason", Err: errors.New("missing: a version says why it was made")})
	}
	for id, reason := range d.Changes {
		if strings.TrimSpace(reason) == "" {
			errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Subject: id, Field: "changes", Err: errors.New("the reason is empty")})
		}
	}
	return errors.Join(append(errs, d.Vocabulary.Validate())...)
}

func checkParent(tx *bolt.Tx, set string, parent uint64) error {
	n, err := newestNumber(tx, set)
	if err != nil {
		return err
	}
	if n != parent {
		return fixture.NewError(fixture.CodeConflict, "commit to", fmt.Sprintf("%q", set), fmt.Errorf("its newest version is %d, not %d: read it and try again", n, parent))
	}
	return nil
}

// Add adds a fixture with the stored form of its stubs, nil if it has none.
func (c *Commit) Add(f *fixture.Fixture, stubs []byte) error {
	e := entry{id: f.ID, digest: f.Digest()}
	if stubs != nil {
		e.stubby = fixture.DigestOf(stubs)
	}
	if err := c.accept(f, e, stubs != nil); err != nil {
		return &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Subject: f.ID, Err: err}
	}
	before, known, err := c.advance(f.ID)
	if err != nil {
		return err
	}
	if known {
		if err := c.compare(before, f, e, stubs != nil); err != nil {
			return err
		}
	} else if c.parent != nil {
		c.v.Added++
		if err := c.revive(f); err != nil {
			return err
		}
	}
	e.object = before.object
	if !known || before.digest != e.digest {
		if e.object, err = c.put(bucketObjects, c.object(f)); err != nil {
			return err
		}
	}
	if stubs != nil {
		if e.stubs, err = c.place(stubs, before.stubs, known && before.stubs != 0 && before.stubby == e.stubby); err != nil {
			return err
		}
	}
	return c.tree.add(e)
}

// accept holds the rules on one fixture in its sequence.
func (c *Commit) accept(f *fixture.Fixture, e entry, stubs bool) error {
	if err := c.draft.Vocabulary.Check(f.Expected); err != nil {
		return err
	}
	var d *fixture.Digest
	if stubs {
		d = &e.stubby
	}
	if err := c.sum.Add(f.ID, e.digest, d); err != nil {
		return err
	}
	if err := c.forms.Add(f.ID); err != nil {
		return err
	}
	return c.v.Tally.Add(f)
}

// advance moves through the parent's entries up to id, counting those that are gone.
func (c *Commit) advance(id string) (before entry, known bool, err error) {
	for c.old != nil {
		e, ok, err := c.old.peek()
		if err != nil {
			return entry{}, false, err
		}
		if !ok || id != "" && e.id > id {
			break
		}
		c.old.next()
		if e.id == id {
			return e, true, nil
		}
		c.v.Removed++
	}
	return entry{}, false, nil
}

// object gives the stored form of a fixture: the length of its layout, the layout, and its document.
func (c *Commit) object(f *fixture.Fixture) []byte {
	c.reader.Read(&c.laid, f.ID, f.Canonical())
	c.layout = c.laid.AppendLayout(c.layout[:0])
	b := make([]byte, 0, binary.MaxVarintLen16+len(c.layout)+len(f.Canonical()))
	b = append(binary.AppendUvarint(b, uint64(len(c.layout))), c.layout...)
	return append(b, f.Canonical()...)
}

// place gives an object its sequence number, the old one where the parent has the same bytes.
func (c *Commit) place(value []byte, old uint64, same bool) (uint64, error) {
	if same {
		return old, nil
	}
	return c.put(bucketObjects, value)
}

func (c *Commit) putNode(value []byte, hash fixture.Digest) (uint64, error) {
	if seq, ok := c.shared[hash]; ok {
		return seq, nil
	}
	return c.put(bucketNodes, value)
}

func (c *Commit) put(bucket, value []byte) (uint64, error) {
	if c.left == 0 {
		c.seq, c.left = c.s.reserve(blockSize), blockSize
		c.block = append(c.block, c.seq)
	}
	seq := c.seq
	c.seq++
	c.left--
	c.pending = append(c.pending, write{bucket, seq, value})
	c.bytes += len(value)
	if c.bytes >= flushBytes || len(c.pending) >= flushItems {
		return seq, c.s.update(func(tx *bolt.Tx) error {
			for _, first := range c.block {
				if err := tx.Bucket(bucketStaging).Put(number(first), number(first+blockSize-1)); err != nil {
					return err
				}
			}
			return c.flush(tx)
		})
	}
	return seq, nil
}

func (c *Commit) flush(tx *bolt.Tx) error {
	for _, b := range [][]byte{bucketObjects, bucketNodes} {
		tx.Bucket(b).FillPercent = 0.95 // keys ascend, so that a page is never split again
	}
	for _, w := range c.pending {
		if err := tx.Bucket(w.bucket).Put(number(w.seq), w.value); err != nil {
			return err
		}
	}
	c.pending, c.bytes = c.pending[:0], 0
	return nil
}

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

package fixturestore

import "github.com/retrial-dev/retrial/replayer/fixture"

// builder makes a manifest from entries in ascending order of ids, in memory that does not depend on their number.
type builder struct {
	// put stores a node and gives its sequence number. A node that the parent has is not stored again.
	put    func(bytes []byte, hash fixture.Digest) (seq uint64, err error)
	leaf   []entry
	levels []branch // levels[i] is of level i+1
	leaves int
	total  uint64
}

type branch struct {
	open []ref
	made int
}

func (b *builder) add(e entry) error {
	b.leaf = append(b.leaf, e)
	b.total++
	if ends(e.id, 0) || len(b.leaf) == maxEntries {
		return b.closeLeaf()
	}
	return nil
}

func (b *builder) closeLeaf() error {
	r, err := b.store(encodeLeaf(b.leaf))
	if err != nil {
		return err
	}
	r.last, r.count = b.leaf[len(b.leaf)-1].id, uint64(len(b.leaf))
	b.leaf = b.leaf[:0]
	b.leaves++
	return b.up(0, r)
}

func (b *builder) store(bytes []byte) (ref, error) {
	r := ref{hash: fixture.DigestOf(bytes)}
	var err error
	r.seq, err = b.put(bytes, r.hash)
	return r, err
}

// up adds a node of the given level to the branch above it.
func (b *builder) up(level uint8, r ref) error {
	if int(level) == len(b.levels) {
		b.levels = append(b.levels, branch{})
	}
	r.level = level
	l := &b.levels[level]
	l.open = append(l.open, r)
	if ends(r.last, level+1) || len(l.open) == maxEntries {
		return b.closeBranch(level)
	}
	return nil
}

func (b *builder) closeBranch(i uint8) error {
	l := &b.levels[i]
	r, err := b.store(encodeBranch(i+1, l.open))
	if err != nil {
		return err
	}
	r.last = l.open[len(l.open)-1].last
	for _, child := range l.open {
		r.count += child.count
	}
	l.open = l.open[:0]
	l.made++
	return b.up(i+1, r)
}

// finish closes what is open and gives the root. A manifest without entries has none.
func (b *builder) finish() (root ref, ok bool, err error) {
	if len(b.leaf) > 0 {
		if err := b.closeLeaf(); err != nil {
			return ref{}, false, err
		}
	}
	for i := uint8(0); int(i) < len(b.levels); i++ {
		l := &b.levels[i]
		top := int(i) == len(b.levels)-1
		// The node below is the root if it is the only one of its level.
		if top && l.made == 0 && len(l.open) == 1 {
			return l.open[0], true, nil
		}
		if len(l.open) > 0 {
			if err := b.closeBranch(i); err != nil {
				return ref{}, false, err
			}
		}
	}
	return ref{}, false, nil
}

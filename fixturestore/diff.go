package fixturestore

import "fmt"

// Difference is one fixture that is not the same in two versions. A side is nil where the version lacks the fixture.
type Difference struct {
	ID       string
	From, To *Item
	// StubsChanged is set where the stubs differ.
	StubsChanged bool
}

// Diff calls fn for each fixture that differs between two versions, in ascending order of ids. It reads only the parts
// of the two manifests that are not the same. No transaction is open while fn runs.
func (s *Store) Diff(from, to *Version, fn func(Difference) error) error {
	a, b := &walker{s: s, v: from, top: []step{{ref: from.root, inner: true}}}, &walker{s: s, v: to, top: []step{{ref: to.root, inner: true}}}
	for {
		x, y := a.peek(), b.peek()
		switch {
		case x == nil && y == nil:
			return nil
		case x != nil && y != nil && x.inner && y.inner && x.ref.hash == y.ref.hash:
			a.pop()
			b.pop()
		case x != nil && x.inner && (y == nil || !y.inner || x.ref.level >= y.ref.level):
			if err := a.expand(); err != nil {
				return err
			}
		case y != nil && y.inner:
			if err := b.expand(); err != nil {
				return err
			}
		default:
			if err := s.differ(a, b, fn); err != nil {
				return err
			}
		}
	}
}

// differ compares the entries that both walkers stand at.
func (s *Store) differ(a, b *walker, fn func(Difference) error) error {
	x, y := a.peek(), b.peek()
	d := Difference{}
	var err error
	switch {
	case y == nil || x != nil && x.entry.id < y.entry.id:
		a.pop()
		d.ID, d.StubsChanged = x.entry.id, x.entry.stubs != 0
		d.From, err = a.item(x.entry)
	case x == nil || y.entry.id < x.entry.id:
		b.pop()
		d.ID, d.StubsChanged = y.entry.id, y.entry.stubs != 0
		d.To, err = b.item(y.entry)
	default:
		a.pop()
		b.pop()
		if x.entry.same(y.entry) {
			return nil
		}
		d.ID, d.StubsChanged = x.entry.id, x.entry.stubby != y.entry.stubby
		if d.From, err = a.item(x.entry); err == nil {
			d.To, err = b.item(y.entry)
		}
	}
	if err != nil {
		return err
	}
	return fn(d)
}

// walker goes through a manifest from left to right and lets whole subtrees be passed over.
type walker struct {
	s   *Store
	v   *Version
	top []step // the last is next
}

type step struct {
	inner bool
	ref   ref
	entry entry
}

func (w *walker) peek() *step {
	if len(w.top) == 0 {
		return nil
	}
	s := w.top[len(w.top)-1]
	return &s
}

func (w *walker) pop() { w.top = w.top[:len(w.top)-1] }

func (w *walker) expand() error {
	r := w.top[len(w.top)-1].ref
	w.pop()
	n, err := w.s.readNode(r)
	if err != nil {
		return fmt.Errorf("%s: %w", w.v.Name(), err)
	}
	for i := len(n.entries) - 1; i >= 0; i-- {
		w.top = append(w.top, step{entry: n.entries[i]})
	}
	for i := len(n.refs) - 1; i >= 0; i-- {
		w.top = append(w.top, step{inner: true, ref: n.refs[i]})
	}
	return nil
}

func (w *walker) item(e entry) (*Item, error) {
	item, err := w.s.item(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.v.Name(), err)
	}
	return &item, nil
}

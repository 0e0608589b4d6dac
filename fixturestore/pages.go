package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Where bbolt keeps what leads to other pages, as go.etcd.io/bbolt/internal/common lays it out.
const (
	metaRoot     = 16 // offsets within the meta
	metaFreelist = 32

	flagBranch, flagLeaf, flagFreelist = 0x01, 0x02, 0x10

	elementSize   = 16 // branch: position, key size, page; leaf: flags, position, key size, value size
	bucketElement = 1  // flag of a leaf's element whose value is a bucket
	bucketHeader  = 16 // root page and sequence, in front of the page of a small one
)

// checkPages follows every page that leads to others, before anything is read through them: where one bit has them lead in a
// circle, bbolt goes round until the stack or the memory is used up, and nothing can catch that. It reads no more than the
// pages above the leaves, the root's own leaves and the list of free pages. The file must be locked.
func checkPages(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := newestMeta(f)
	if err != nil {
		return err
	}
	w := &pageWalk{f: f, meta: m, seen: make([]uint64, m.high/64+1)}
	if err := errors.Join(w.free(), w.root()); err != nil {
		return corrupt("pages", err)
	}
	return nil
}

type pageWalk struct {
	f    io.ReaderAt
	meta meta
	seen []uint64 // a bit for each page that is free, or that something leads to
}

// page is one page with its overflow.
type page struct {
	id    uint64
	flags uint16
	count int
	bytes []byte
}

// header reads what a page says of itself.
func (w *pageWalk) header(id uint64) (p page, overflow uint64, err error) {
	header := make([]byte, metaHeader)
	if _, err := w.f.ReadAt(header, int64(id)*int64(w.meta.pageSize)); err != nil {
		return p, 0, fmt.Errorf("page %d: %w", id, err)
	}
	le := binary.LittleEndian
	p = page{le.Uint64(header), le.Uint16(header[8:]), int(le.Uint16(header[10:])), nil}
	overflow = uint64(le.Uint32(header[12:]))
	if p.id != id || id+overflow >= w.meta.high {
		return p, 0, fmt.Errorf("page %d says that it is page %d and %d more", id, p.id, overflow)
	}
	return p, overflow, nil
}

func (w *pageWalk) read(id uint64) (page, error) {
	p, overflow, err := w.header(id)
	if err != nil {
		return p, err
	}
	p.bytes = make([]byte, (overflow+1)*uint64(w.meta.pageSize))
	if _, err := w.f.ReadAt(p.bytes, int64(id)*int64(w.meta.pageSize)); err != nil {
		return p, fmt.Errorf("page %d: %w", id, err)
	}
	if p.flags != flagFreelist && metaHeader+p.count*elementSize > len(p.bytes) {
		return p, fmt.Errorf("page %d has %d elements, more than fit", id, p.count)
	}
	return p, nil
}

// claim notes that something leads to a page. Nothing else may.
func (w *pageWalk) claim(id uint64) error {
	if id < 2 || id >= w.meta.high {
		return fmt.Errorf("page %d does not exist: there are %d", id, w.meta.high)
	}
	if w.seen[id/64]&(1<<(id%64)) != 0 {
		return fmt.Errorf("two things lead to page %d", id)
	}
	w.seen[id/64] |= 1 << (id % 64)
	return nil
}

// free claims the free pages, and the one that lists them.
func (w *pageWalk) free() error {
	if err := w.claim(w.meta.freelist); err != nil {
		return fmt.Errorf("list of free pages: %w", err)
	}
	p, err := w.read(w.meta.freelist)
	if err != nil {
		return err
	}
	list, n := p.bytes[metaHeader:], uint64(p.count)
	if n == 0xFFFF { // as many as that, and their number in front
		n, list = binary.LittleEndian.Uint64(list), list[8:]
	}
	if p.flags != flagFreelist || n > uint64(len(list)/8) {
		return fmt.Errorf("page %d is no list of %d free pages", p.id, n)
	}
	for i := range n {
		if err := w.claim(binary.LittleEndian.Uint64(list[i*8:])); err != nil {
			return fmt.Errorf("free page: %w", err)
		}
	}
	return nil
}

// root walks the tree of the buckets, and then each of them.
func (w *pageWalk) root() error {
	leaves, err := w.tree(w.meta.root)
	if err != nil {
		return err
	}
	for _, id := range leaves {
		p, err := w.read(id)
		if err != nil {
			return err
		}
		for i := range p.count {
			if err := w.bucket(p.bytes[metaHeader+i*elementSize:]); err != nil {
				return fmt.Errorf("page %d: %w", id, err)
			}
		}
	}
	return nil
}

// bucket walks the tree of one element of the root. A small bucket has no page of its own.
func (w *pageWalk) bucket(element []byte) error {
	if binary.LittleEndian.Uint32(element) != bucketElement {
		return errors.New("the root has an element that is no bucket")
	}
	value, err := leafValue(element)
	if err != nil || len(value) < bucketHeader {
		return errors.Join(err, errors.New("a bucket is cut"))
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		_, err := w.tree(root)
		return err
	}
	return inline(value[bucketHeader:])
}

// leafValue gives the value of a leaf's element, which stands behind it in its page.
func leafValue(element []byte) ([]byte, error) {
	le := binary.LittleEndian
	from := uint64(le.Uint32(element[4:])) + uint64(le.Uint32(element[8:]))
	to := from + uint64(le.Uint32(element[12:]))
	if to > uint64(len(element)) {
		return nil, errors.New("an element stands behind its page")
	}
	return element[from:to], nil
}

// inline holds the elements of a bucket without a page of its own within it. bbolt copies such a bucket, so that what stands
// behind it is memory of this process.
func inline(b []byte) error {
	if len(b) < metaHeader || binary.LittleEndian.Uint16(b[8:]) != flagLeaf {
		return errors.New("a bucket within the root is no leaf")
	}
	n := int(binary.LittleEndian.Uint16(b[10:]))
	if metaHeader+n*elementSize > len(b) {
		return errors.New("a bucket within the root has more elements than fit")
	}
	for i := range n {
		if _, err := leafValue(b[metaHeader+i*elementSize:]); err != nil {
			return err
		}
	}
	return nil
}

// tree claims every page of a tree, and gives its leaves. They are all as deep as the first, so that no other is read.
func (w *pageWalk) tree(root uint64) (level []uint64, err error) {
	if err := w.claim(root); err != nil {
		return nil, err
	}
	for level = []uint64{root}; ; {
		first, _, err := w.header(level[0])
		if err != nil || first.flags == flagLeaf {
			return level, err
		}
		var below []uint64
		for _, id := range level {
			p, err := w.read(id)
			if err != nil {
				return nil, err
			}
			if p.flags != flagBranch || p.count == 0 {
				return nil, fmt.Errorf("page %d has type %#x and %d elements, and must lead to others", id, p.flags, p.count)
			}
			for i := range p.count {
				child := binary.LittleEndian.Uint64(p.bytes[metaHeader+i*elementSize+8:])
				if err := w.claim(child); err != nil {
					return nil, fmt.Errorf("page %d: %w", id, err)
				}
				below = append(below, child)
			}
		}
		level = below
	}
}

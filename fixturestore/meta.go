package fixturestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// The two meta pages of a bbolt file, as go.etcd.io/bbolt/internal/common lays them out.
const (
	metaHeader   = 16 // page header in front of the meta
	metaSize     = 64 // magic, version, page size, flags, root, sequence, freelist, high water mark, txid, checksum
	metaMagic    = 0xED0CDAED
	metaPageSize = 8  // offsets within the meta
	metaHigh     = 40 //
	metaTxID     = 48
	metaSum      = 56
)

// checkMeta looks at the file before bbolt maps it: a file that is shorter than its pages would kill the process on the
// first read behind its end, and a damaged meta page would silently take the store back by one transaction.
//
// Another process may be writing a meta page at this moment, so that a page that looks damaged is read again.
func checkMeta(path string) (err error) {
	for range 3 {
		if err = checkMetaOnce(path); err == nil {
			return nil
		}
	}
	return err
}

func checkMetaOnce(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	newest, err := newestMeta(f)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if need := int64(newest.high) * int64(newest.pageSize); info.Size() < need {
		return corrupt("file", fmt.Errorf("it is cut: %d bytes, of which there were at least %d", info.Size(), need))
	}
	return nil
}

// newestMeta reads both meta pages, and gives the one of the last transaction.
func newestMeta(f io.ReaderAt) (meta, error) {
	first, err := readMeta(f, 0)
	if err != nil {
		return meta{}, corrupt("first meta page", err)
	}
	second, err := readMeta(f, int64(first.pageSize))
	if err != nil {
		return meta{}, corrupt("second meta page", err)
	}
	if second.txid > first.txid {
		return second, nil
	}
	return first, nil
}

type meta struct {
	pageSize       uint32
	root, freelist uint64
	high, txid     uint64
}

func readMeta(f io.ReaderAt, at int64) (meta, error) {
	b := make([]byte, metaHeader+metaSize)
	if _, err := f.ReadAt(b, at); err != nil {
		return meta{}, fmt.Errorf("it is cut: %w", err)
	}
	b = b[metaHeader:]
	h := fnv.New64a()
	h.Write(b[:metaSum])
	// bbolt writes the meta in the byte order of the machine; all that are supported here are little-endian.
	le := binary.LittleEndian
	if le.Uint32(b) != metaMagic {
		return meta{}, errors.New("it is no store: the magic number is wrong")
	}
	if le.Uint64(b[metaSum:]) != h.Sum64() {
		return meta{}, errors.New("it does not match its checksum")
	}
	return meta{le.Uint32(b[metaPageSize:]), le.Uint64(b[metaRoot:]), le.Uint64(b[metaFreelist:]), le.Uint64(b[metaHigh:]), le.Uint64(b[metaTxID:])}, nil
}

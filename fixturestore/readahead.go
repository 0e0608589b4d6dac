package fixturestore

import (
	"os"
	"sync"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// readAhead has the kernel fetch what lies behind the object that was read last. bbolt maps its file for random access, so
// that reading a version that is not in memory would wait for the disk once a page: a million fixtures took 19 s so, and
// take 4 with it. Sequences ascend as the file does, and neighbours were written together.
type readAhead struct {
	f *os.File // the store once more; nil where it cannot be had: reading is slower then, and nothing else

	mu sync.Mutex // guards to
	to int64      // what lies in front of it was asked for
}

// aheadBytes is how far ahead is asked for, in steps of aheadStep: the kernel cuts a larger one short.
const (
	aheadBytes = 8 << 20
	aheadStep  = 512 << 10
)

// past says that value was read, a slice of the mapped file.
func (r *readAhead) past(db *bolt.DB, value []byte) {
	if r.f == nil || len(value) == 0 {
		return
	}
	at := int64(uintptr(unsafe.Pointer(&value[0])) - db.Info().Data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if at > r.to || at+2*aheadBytes < r.to {
		r.to = at
	}
	if at+aheadBytes/2 < r.to {
		return
	}
	for ; r.to < at+aheadBytes; r.to += aheadStep {
		willNeed(r.f, r.to, aheadStep)
	}
}

func (r *readAhead) close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}

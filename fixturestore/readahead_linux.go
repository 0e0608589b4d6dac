package fixturestore

import (
	"os"

	"golang.org/x/sys/unix"
)

// newReadAhead opens the file a second time. Closing it must not let go of bbolt's lock: flock's, which is what bbolt takes
// on Linux, belongs to the open file, where fcntl's belongs to the process.
func newReadAhead(path string) *readAhead {
	f, err := os.Open(path)
	if err != nil {
		return &readAhead{}
	}
	return &readAhead{f: f}
}

// willNeed is advice: that it fails harms nothing.
func willNeed(f *os.File, at, n int64) { _ = unix.Fadvise(int(f.Fd()), at, n, unix.FADV_WILLNEED) }

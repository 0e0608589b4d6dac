package checkerhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Digests remembers the digests of programs, so that one that is started for every run is hashed once. The zero value has none.
// Safe for concurrent use.
type Digests struct {
	mu   sync.Mutex // guards seen
	seen map[fileID]string
}

// maxDigests bounds the programs that are remembered; beyond it all are forgotten.
const maxDigests = 1024

// ProgramDigest gives the program of a launched checker that runs, as "sha256:" and the digest of its file, read from the process
// itself: what has been put in the file's place since it was started does not count. errors.ErrUnsupported is wrapped where this
// platform does not show the program of a process, or the checker was not launched; ErrEnded where it runs no more. A nil known remembers nothing.
func (h *Host) ProgramDigest(known *Digests) (string, error) {
	if h.process == nil {
		return "", fmt.Errorf("%s was not launched here: %w", h.where, errors.ErrUnsupported)
	}
	digest, err := h.process.digest(known)
	if errors.Is(err, errNoProgram) && h.process.exitedWithin(exitTimeout) { // a process that ends shows none before it can be waited for
		err = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	if err != nil {
		return "", fixture.NewError(fixture.CodeUnavailable, "read the program of", h.where, err)
	}
	return digest, nil
}

// errNoProgram says that the process showed no program, and not that something is wrong with the one it showed.
var errNoProgram = errors.New("the process shows no program")

// over says that the process has ended, whether or not its output has been read.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) digest(known *Digests) (string, error) {
	f, err := openProgram(p.cmd.Process.Pid)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoProgram, err)
	}
	defer f.Close() // it was for reading alone
	if p.over() {   // its number can be another one's by now
		return "", fmt.Errorf("%w: it is gone", errNoProgram)
	}
	before, err := identify(f)
	if err != nil {
		return "", err
	}
	if digest := known.get(before); digest != "" {
		return digest, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	// The kernel refuses to write to what is being run (ETXTBSY), but not in its releases 6.11 and 6.12.
	after, err := identify(f)
	if err != nil {
		return "", err
	}
	if before != after {
		return "", errors.New("its file was written to while it ran")
	}
	digest := "sha256:" + hex.EncodeToString(h.Sum(nil))
	known.put(before, digest)
	return digest, nil
}

func (d *Digests) get(id fileID) string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[id]
}

func (d *Digests) put(id fileID, digest string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil || len(d.seen) >= maxDigests {
		d.seen = map[fileID]string{}
	}
	d.seen[id] = digest
}

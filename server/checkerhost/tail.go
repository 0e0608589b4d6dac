package checkerhost

import (
	"bytes"
	"strings"
	"sync"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// tailBytes is how much of a checker's output is kept.
const tailBytes = 4 << 10

// tail keeps the last bytes that were written to it. Safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

// Write implements io.Writer. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.cut = true
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String gives the last lines, each indented, without control characters. It is empty if nothing was written.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	if t.cut {
		// What the first line has lost is not made up for by the rest of it.
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i+1 < len(b) {
			b = b[i+1:]
		}
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	const most = 20
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	for i, l := range lines {
		lines[i] = "    " + fixture.Printable(l, 400)
	}
	if out := strings.Join(lines, "\n"); strings.TrimSpace(out) != "" {
		return out
	}
	return ""
}

package checkerhost

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"
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
		lines[i] = "    " + clean(l, 400)
	}
	if out := strings.Join(lines, "\n"); strings.TrimSpace(out) != "" {
		return out
	}
	return ""
}

// clean makes hostile text fit for a terminal: valid UTF-8, one line, no control characters, at most n bytes and a mark.
func clean(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < 0x20 || r >= 0x7F && r < 0xA0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal says whether a stream goes to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// paint colours words; where the stream is no terminal, or NO_COLOR is set, it does not.
type paint bool

func newPaint(w io.Writer) paint {
	return paint(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p paint) wrap(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) red(s string) string    { return p.wrap("31", s) }
func (p paint) green(s string) string  { return p.wrap("32", s) }
func (p paint) yellow(s string) string { return p.wrap("33", s) }
func (p paint) bold(s string) string   { return p.wrap("1", s) }

// progress shows on one line of a terminal how far something is. Elsewhere, and if it is nil, it shows nothing.
type progress struct {
	w     io.Writer
	shown bool
}

func (a *app) progress() *progress {
	if a.json || a.quiet || !isTerminal(a.stderr) {
		return nil
	}
	return &progress{w: a.stderr}
}

func (p *progress) show(what string, n, of uint64) {
	if p == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K%s %d of %d", what, n, of)
}

// clear takes the line away.
func (p *progress) clear() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

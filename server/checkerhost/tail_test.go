package checkerhost

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// checkClean holds that a text can go to a terminal: valid UTF-8, one line, nothing that steers.
func checkClean(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not valid UTF-8: %q", s)
	}
	if i := strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	}); i >= 0 {
		t.Errorf("control character at byte %d: %q", i, s)
	}
}

// R25: what a checker says in a status is shown on one line, bounded, and steers no terminal.
func TestStatusText(t *testing.T) {
	for name, c := range map[string]struct {
		code     codes.Code
		in, want string
	}{
		"plain":             {codes.Internal, "no more disk", "Internal: no more disk"},
		"nothing":           {codes.Internal, "", "Internal: "},
		"no code":           {codes.Unknown, "no more disk", "no more disk"},
		"lines":             {codes.Unknown, "a\nb\r\n\tc", "a b   c"},
		"escape sequence":   {codes.Unknown, "\x1b[2Jx", "\uFFFD[2Jx"},
		"bidirectional":     {codes.Unknown, "a\u202eb\u2066c", "a\uFFFDb\uFFFDc"},
		"line separator":    {codes.Unknown, "a\u2028b", "a\uFFFDb"},
		"500 bytes":         {codes.Unknown, strings.Repeat("a", 500), strings.Repeat("a", 500)},
		"501 bytes":         {codes.Unknown, strings.Repeat("a", 501), strings.Repeat("a", 500) + "…"},
		"cut at a char":     {codes.Unknown, strings.Repeat("a", 499) + "äb", strings.Repeat("a", 499) + "…"},
		"unknown code":      {codes.Code(77), "odd", "Code(77): odd"},
		"a megabyte of it":  {codes.Unknown, strings.Repeat("s", 1<<20), strings.Repeat("s", 500) + "…"},
		"replaced, bounded": {codes.Unknown, strings.Repeat("\x01", 5000), strings.Repeat("\uFFFD", 166) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusText(status.Error(c.code, c.in))
			if got != c.want {
				t.Errorf("%.600q\nwant %.600q", got, c.want)
			}
			checkClean(t, got)
		})
	}
}

func TestTail(t *testing.T) {
	numbered := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d %s\n", i, line)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		writes         []string
		first, last    string // lines
		lines          int
		contains, lack string
	}{
		"nothing":                   {},
		"white space alone":         {writes: []string{"\n \n\t\n"}},
		"one line":                  {writes: []string{"no more disk\n"}, first: "    no more disk", last: "    no more disk", lines: 1},
		"no end of line":            {writes: []string{"no more ", "disk"}, first: "    no more disk", last: "    no more disk", lines: 1},
		"empty lines between":       {writes: []string{"a\n\nb\n\n"}, first: "    a", last: "    b", lines: 3},
		"more lines than are shown": {writes: []string{numbered(100, "line")}, first: "    80 line", last: "    99 line", lines: 20},
		"more than is kept":         {writes: []string{numbered(30, strings.Repeat("x", 300))}, lines: 13, lack: "\n    16 x", last: "    29 " + strings.Repeat("x", 300)},
		"one endless line":          {writes: []string{strings.Repeat("x", 1<<20)}, lines: 1, first: "    " + strings.Repeat("x", 400) + "…", last: "    " + strings.Repeat("x", 400) + "…"},
		"many small writes":         {writes: strings.SplitAfter(numbered(2000, "line"), "e"), lines: 20, last: "    1999 line"},
		"steering":                  {writes: []string{"\x1b]0;title\a\n\x1b[2J\r\nrest\n"}, lines: 3, last: "    rest", lack: "\x1b"},
		"a character cut in two":    {writes: []string{strings.Repeat("ä", tailBytes/2) + "y"}, lines: 1, contains: "ää"},
	} {
		t.Run(name, func(t *testing.T) {
			var tl tail
			for _, w := range c.writes {
				if n, err := tl.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			got := tl.String()
			if again := tl.String(); again != got {
				t.Errorf("asked again: %q, before: %q", again, got)
			}
			if c.lines == 0 {
				if got != "" {
					t.Errorf("got %q, want nothing", got)
				}
				return
			}
			lines := strings.Split(got, "\n")
			if len(lines) != c.lines {
				t.Errorf("%d lines, want %d:\n%.300s", len(lines), c.lines, got)
			}
			if c.first != "" && lines[0] != c.first {
				t.Errorf("first line %.80q, want %.80q", lines[0], c.first)
			}
			if last := lines[len(lines)-1]; c.last != "" && last != c.last {
				t.Errorf("last line %.80q, want %.80q", last, c.last)
			}
			if c.contains != "" && !strings.Contains(got, c.contains) || c.lack != "" && strings.Contains(got, c.lack) {
				t.Errorf("got %.300q, want it to have %q and not %q", got, c.contains, c.lack)
			}
			for _, l := range lines {
				checkClean(t, l)
			}
		})
	}
}

// Both streams of a checker are read while an error about it is being made.
func TestTailIsSafeForConcurrentUse(t *testing.T) {
	var tl tail
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				_, _ = tl.Write([]byte(strings.Repeat("line\n", 100)))
				_ = tl.String()
			}
		})
	}
	wg.Wait()
}

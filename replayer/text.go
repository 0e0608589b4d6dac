package replayer

import (
	"strings"
	"unicode/utf8"
)

// maxText bounds what is passed on of a checker's words, in bytes.
const maxText = 500

// clean makes hostile text fit for a terminal and a log: valid UTF-8, no control characters, bounded.
func clean(s string) string {
	s = cut(s, maxText)
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if r < 0x20 || r >= 0x7F && r < 0xA0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cut shortens s to at most n bytes, without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

package server

import (
	"crypto/rand"
	"strings"
)

// newID gives an id that nobody has yet: a prefix that says of what, and 80 random bits.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:16]) }

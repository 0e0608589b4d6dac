package server

import (
	"testing"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// One caller's calls do not use up another's, and those of strangers nobody's.
func TestCallLimitsAreEachCallersOwn(t *testing.T) {
	l := newCallLimits(0.001)
	for name, call := range map[string]func() error{"a": func() error { return l.caller("a", "/m") }, "b": func() error { return l.caller("b", "/m") }, "stranger": func() error { return l.stranger("/m") }} {
		if err := call(); err != nil {
			t.Errorf("%s first: %v", name, err)
		}
		if err := call(); fixture.CodeOf(err) != fixture.CodeBusy {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

// A pattern for some addresses admits no name that begins like one.
func TestAdmitsAddress(t *testing.T) {
	for _, tt := range []struct {
		glob, address string
		want          bool
	}{
		{"10.0.0.*:9000", "10.0.0.7:9000", true},
		{"10.0.0.*:9000", "10.0.0.1.evil.example:9000", false},
		{"10.0.0.*:9000", "10.0.0.7:9001", false},
		{"10.0.0.*:*", "10.0.0.7:9001", true},
		{"127.0.0.1:*", "127.0.0.1:5", true},
		{"*.example.org:9000", "c.example.org:9000", true},
		{"*.example.org:9000", "a.b.example.org:9000", false},
		{"*:9000", "anything.at.all:9000", true},
		{"*", "unix:/run/c.sock", true},
		{"unix:/run/*.sock", "unix:/run/c.sock", true},
		{"unix:/run/*.sock", "unix:/run/x/c.sock", false},
		{"[::1]:*", "[::1]:9000", true},
		{"10.0.0.*:9000", "10.0.0.7", false},
	} {
		if got := admitsAddress([]string{tt.glob}, tt.address); got != tt.want {
			t.Errorf("%s for %s: %t", tt.glob, tt.address, got)
		}
	}
}

package sandbox

import (
	"runtime"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// Every call that is refused is one: a name that the library does not know would be refused nowhere.
func TestRefusedCallsAreKnown(t *testing.T) {
	known, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range refused {
		if _, ok := known.SyscallNames[name]; !ok && (runtime.GOARCH == "amd64" || !slices.Contains(old, name)) {
			t.Errorf("there is no system call %q", name)
		}
	}
}

// A level that works says so again, and one that is off always does.
func TestWorks(t *testing.T) {
	if err := Works(Off); err != nil {
		t.Error(err)
	}
	for _, l := range []Level{Network, Strict} {
		if first, again := Works(l), Works(l); (first == nil) != (again == nil) {
			t.Errorf("%s: %v, and then %v", l, first, again)
		}
	}
}

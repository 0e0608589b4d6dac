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

//go:build linux

package checkerhost

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

func digestOf(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(b))
}

// The program that is hashed is the one that runs, whatever stands in its place by now.
func TestProgramDigest(t *testing.T) {
	for level := sandbox.Off; level <= sandbox.Strict; level++ {
		t.Run(level.String(), func(t *testing.T) {
			needs(t, level)
			checkGoroutines(t)
			program := filepath.Join(t.TempDir(), "checker")
			c := command("good")
			copyTo(t, program, "")
			c.Argv[0], c.Sandbox = program, level
			want := digestOf(t, program)
			start := func() *Host {
				t.Helper()
				h, err := Launch(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			known := &Digests{}
			h := start()
			if f, err := os.OpenFile(program, os.O_WRONLY, 0); !errors.Is(err, syscall.ETXTBSY) {
				t.Errorf("what runs can be written to: %v, %v", f, err)
			}
			copyTo(t, program+".next", "x") // another program behind
			if err := os.Rename(program+".next", program); err != nil {
				t.Fatal(err)
			}
			for range 2 { // hashed, and remembered
				if got, err := h.ProgramDigest(known); err != nil || got != want {
					t.Errorf("%s, %v; want %s", got, err, want)
				}
			}
			next := start()
			if got, err := next.ProgramDigest(known); err != nil || got != digestOf(t, program) || got == want {
				t.Errorf("the next one: %s, %v; want %s", got, err, digestOf(t, program))
			}
			if len(known.seen) != 2 {
				t.Errorf("remembered: %v", known.seen)
			}
			if err := errors.Join(h.Close(), next.Close()); err != nil {
				t.Error(err)
			}
			if got, err := h.ProgramDigest(known); !errors.Is(err, ErrEnded) {
				t.Errorf("of one that has ended: %s, %v", got, err)
			}
		})
	}
}

// copyTo copies the test binary, with something behind it.
func copyTo(t *testing.T, file, more string) {
	t.Helper()
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(b, more...), 0o700); err != nil {
		t.Fatal(err)
	}
}

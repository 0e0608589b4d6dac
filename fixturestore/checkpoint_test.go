package fixturestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/fixturestore"
)

// A checkpoint that somebody else has written is not overwritten.
func TestCheckpointIsSwappedNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrial.db")
	s := mustOpen(t, path, signed(t))
	defer mustClose(t, s)
	ours, err := os.ReadFile(path + fixturestore.CheckpointSuffix)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path+fixturestore.CheckpointSuffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("x"))
	mustCommit(t, s, fixturestore.Draft{}, generate(3)) // what is durable is not called lost
	if on, err := os.ReadFile(path + fixturestore.CheckpointSuffix); err != nil || string(on) != "x" {
		t.Errorf("it was overwritten: %s, %v", on, err)
	}
	if err := s.Ping(); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("nobody is told: %v", err)
	}
	write(ours)
	decide(t, s, "r-1", "blocked")
	if err := s.Ping(); err != nil {
		t.Errorf("it was not made good: %v", err)
	}
}

// A checkpoint that was being written when its process was killed does not stay for ever.
func TestUnwrittenCheckpointIsSwept(t *testing.T) {
	path, o := filepath.Join(t.TempDir(), "retrial.db"), signed(t)
	mustClose(t, mustOpen(t, path, o))
	cut, other := path+fixturestore.CheckpointSuffix+".new-1", path+".other"
	for _, file := range []string{cut, other} {
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, mustOpen(t, path, o))
	if _, err := os.Stat(cut); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

package fixturestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A store answers while it is open, and has the size of its file.
func TestPingAndSize(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "retrial.db")
	s, err := fixturestore.Open(path, fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Size(); err != nil || n != info.Size() {
		t.Errorf("got %d, %v, want %d", n, err, info.Size())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(); fixture.CodeOf(err) != fixture.CodeUnavailable {
		t.Errorf("after Close: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Size(); fixture.CodeOf(err) != fixture.CodeUnavailable {
		t.Errorf("without a file: %v", err)
	}
}

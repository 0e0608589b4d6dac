package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retrial-dev/retrial/internal/durable"
)

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	holds := func(content string, mode os.FileMode) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != content || info.Mode().Perm() != mode {
			t.Errorf("%q of mode %o, want %q of mode %o", b, info.Mode().Perm(), content, mode)
		}
		if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
			t.Errorf("beside it: %v, %v", all, err)
		}
	}
	for _, content := range []string{"first", "second, which is longer", ""} {
		if err := durable.ReplaceFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		holds(content, 0o600)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := durable.ReplaceFile(path, []byte("kept")); err != nil {
		t.Fatal(err)
	}
	holds("kept", 0o640)
}

// What cannot be replaced stays as it is, and nothing is left beside it.
func TestReplaceFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.MkdirAll(filepath.Join(path, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.ReplaceFile(path, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("left: %v, %v", all, err)
	}
}

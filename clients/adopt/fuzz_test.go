package adopt_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/adopt"
)

// seeds adds the files of testdata with these extensions.
func seeds(f *testing.F, extensions string) {
	f.Helper()
	err := filepath.WalkDir("testdata", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(extensions, filepath.Ext(path)) || strings.Contains(path, "fuzz") {
			return err
		}
		src, err := os.ReadFile(path)
		f.Add(src)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
}

// read holds that whatever a file has in it is read without a panic, and that what is found is whole.
func read(t *testing.T, file string, src []byte) {
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := adopt.Read(file, adopt.Auto)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, p := range found.Pairs {
		if p.ID == "" || ids[p.ID] || p.Prompt == "" || p.RecordedAt.IsZero() || !json.Valid(p.Value) {
			t.Errorf("got %+v", p)
		}
		ids[p.ID] = true
	}
}

// FuzzCassette reads YAML, FuzzResults JSON.
func FuzzCassette(f *testing.F) {
	seeds(f, ".yaml.yml")
	file := filepath.Join(f.TempDir(), "c.yaml")
	f.Fuzz(func(t *testing.T, src []byte) { read(t, file, src) })
}

func FuzzResults(f *testing.F) {
	seeds(f, ".json")
	file := filepath.Join(f.TempDir(), "r.json")
	f.Fuzz(func(t *testing.T, src []byte) { read(t, file, src) })
}

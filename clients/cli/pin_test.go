package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// A file that remembers nothing would have the next answer trusted on first use.
func TestPinIsStrict(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pins", "p.json")
	if pin, err := readPin(file); err != nil || pin != (retrial.Pin{}) {
		t.Errorf("no file: %+v, %v", pin, err)
	}
	want := retrial.Pin{Key: "k", Size: 7}
	if err := writePin(file, want); err != nil {
		t.Fatal(err)
	}
	if pin, err := readPin(file); err != nil || pin != want {
		t.Errorf("%+v, %v", pin, err)
	}
	for _, text := range []string{"", "{}", `{"key": "", "size": 3}`, `{"key": "k", "size": -1}`, `{"key": "k"`, "null"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if pin, err := readPin(file); err == nil {
			t.Errorf("%q: %+v", text, pin)
		}
	}
}

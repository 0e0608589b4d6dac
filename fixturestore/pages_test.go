package fixturestore_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// R16: a page that leads to itself, to one that is above it, or to one that another leads to, is found before bbolt goes round
// in it for ever.
func TestR16PagesInACircle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrial.db")
	s := mustOpen(t, path, fixturestore.Options{})
	mustCommit(t, s, fixturestore.Draft{}, generate(500))
	mustClose(t, s)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const size, element, child = 4096, 16, 16 + 8
	branches := 0
	for id := 0; id < len(sound)/size; id++ {
		p := sound[id*size:]
		if binary.LittleEndian.Uint16(p[8:]) != 1 || binary.LittleEndian.Uint64(p) != uint64(id) {
			continue
		}
		branches++
		last := int(binary.LittleEndian.Uint16(p[10:])) - 1
		for name, to := range map[string]uint64{
			"itself": uint64(id), "its sister": binary.LittleEndian.Uint64(p[child+(last-1)*element:]), "the first meta page": 0, "nowhere": 1 << 40,
		} {
			b := append([]byte(nil), sound...)
			binary.LittleEndian.PutUint64(b[id*size+child+last*element:], to)
			victim := filepath.Join(t.TempDir(), "victim.db")
			if err := os.WriteFile(victim, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := fixturestore.Open(victim, fixturestore.Options{})
			wantCode(t, err, fixture.CodeCorrupt, "pages", fmt.Sprint("page ", to))
			t.Logf("page %d leads to %s: %v", id, name, err)
		}
	}
	if branches == 0 {
		t.Error("the file has no page that leads to others")
	}
}

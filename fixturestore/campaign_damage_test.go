package fixturestore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// R16: with the checkpoint beside the file, a bit that flips and a file that is cut, the checkpoint's own included, give a
// named error or the same answers. Nothing is wrong, nothing is missing unnoticed, and nothing crashes.
func TestCampaignDamage(t *testing.T) {
	c := campaign.Begin(t, 10_000, 500)
	o := signed(t)
	path := filepath.Join(t.TempDir(), "retrial.db")
	s := mustOpen(t, path, o)
	fill(t, s)
	mustClose(t, s)
	v := &victim{t: t, o: o, path: filepath.Join(t.TempDir(), "victim.db"), harmed: map[string]int{}}
	var err error
	if v.db, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if v.checkpoint, err = os.ReadFile(path + fixturestore.CheckpointSuffix); err != nil {
		t.Fatal(err)
	}
	v.put(v.db, v.checkpoint)
	if v.want, err = answers(v.path, o); err != nil {
		t.Fatal(err)
	}
	for c.Next() {
		file, db, signed := "file", slices.Clone(v.db), slices.Clone(v.checkpoint)
		b := &db
		if c.Rand.IntN(20) == 0 {
			file, b = "checkpoint", &signed
		}
		if c.Rand.IntN(10) == 0 {
			n := c.Rand.IntN(len(*b))
			*b = (*b)[:n]
			v.try(fmt.Sprintf("%s cut at %d", file, n), db, signed)
			continue
		}
		at := c.Rand.IntN(len(*b) * 8)
		if c.Rand.IntN(3) == 0 { // where a page says what it is, and what stands below it
			at = at/(pageSize*8)*(pageSize*8) + at%(structure*8)
			at = min(at, len(*b)*8-1)
		}
		(*b)[at/8] ^= 1 << (at % 8)
		v.try(fmt.Sprintf("%s bit %d", file, at), db, signed)
	}
	t.Logf("%d bytes; what came of it: %v", len(v.db), v.harmed)
	if c.Round()-v.harmed["none"] < c.Round()/10 {
		t.Errorf("only %d of %d did any harm: this test shows little", v.harmed["named"], c.Round())
	}
}

// The first bytes of a page are its header, and then where its elements stand or which pages are below it.
const pageSize, structure = 4096, 128

// fill writes one thing of each kind, and two decisions about one release: first a pass, then a block. The log has 10 entries.
func fill(t testing.TB, s *fixturestore.Store) {
	t.Helper()
	one(t, s)
	rows := generate(20)
	rows["f-000001"] = row{verdict: "promoted", text: "t", stub: "fact"}
	delete(rows, "f-000003")
	mustCommit(t, s, fixturestore.Draft{Parent: 2, Changes: map[string]string{"f-000001": "ticket"}}, rows)
	for i, decision := range []string{"passed", "blocked"} {
		at := time.Unix(int64(10+i), 0).UTC()
		seq, err := s.BeginReplay(fixturestore.Replay{ID: fmt.Sprintf("k-%d", i), Set: "memory", Version: 3, Release: "v2", StartedAt: at,
			SubmittedBy: "sam", Key: fmt.Sprintf("key-%d", i), Request: "asked"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.EndReplay(seq, []byte(decision), "", at); err != nil {
			t.Fatal(err)
		}
	}
}

// victim is a file that is damaged again and again.
type victim struct {
	t              *testing.T
	o              fixturestore.Options
	path           string
	db, checkpoint []byte
	want           map[string]answer
	harmed         map[string]int
}

func (v *victim) put(db, checkpoint []byte) {
	v.t.Helper()
	// A file of its own each time: where bbolt panics over a damaged one, its lock stays for as long as this process does.
	if err := os.Remove(v.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(v.path, db, 0o600), os.WriteFile(v.path+fixturestore.CheckpointSuffix, checkpoint, 0o600)); err != nil {
		v.t.Fatal(err)
	}
}

// try holds the answers of a damaged file against those of the sound one. What is missing in an answer must be noticed by a
// check of the whole; what the gate asks must not be missing at all.
func (v *victim) try(name string, db, checkpoint []byte) {
	v.t.Helper()
	v.put(db, checkpoint)
	got, err := answers(v.path, v.o)
	if err != nil {
		v.harmed["open"]++
		if !named(err) {
			v.t.Errorf("%s: %v has no code that says damage", name, err)
		}
		return
	}
	harm := "none"
	for question, want := range v.want {
		a := got[question]
		switch {
		case a == want:
			continue
		case a.missing(want) && got[verifyAsks].err != nil && !strings.HasPrefix(question, gateAsks):
			if harm == "none" {
				harm = "missing, and noticed"
			}
		case a.err != nil && named(a.err) && fixture.CodeOf(a.err) != fixture.CodeNotFound:
			harm = "named"
		default:
			v.t.Errorf("%s: %s is answered %q, %v; want %q; verify says %v", name, question, a.text, a.err, want.text, got[verifyAsks].err)
		}
	}
	v.harmed[harm]++
}

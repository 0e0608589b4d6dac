package fixturestore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

var farFuture = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// contents reads everything that a caller can ask for.
func contents(path string) (out []string, err error) {
	s, err := fixturestore.Open(path, fixturestore.Options{LockTimeout: time.Second})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	sets, err := s.Sets("", 10)
	if err != nil {
		return nil, err
	}
	for _, newest := range sets {
		versions, err := s.Versions(newest.Set, 0, 10)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			out = append(out, fmt.Sprintf("%s %s %v %s %s", v.Name(), v.Checksum, v.Tags, v.Author, v.Changes))
			blocks, err := s.Blocks(v)
			if err != nil {
				return nil, err
			}
			for i := range blocks.Len() {
				if err := blocks.ReadBlock(i, func(e fixturestore.Entry) error {
					out = append(out, string(e.Fixture.Canonical())+string(e.Stubs))
					return nil
				}); err != nil {
					return nil, err
				}
			}
		}
	}
	replays, _, err := s.Replays("", "", 0, 10)
	if err != nil {
		return nil, err
	}
	for _, r := range replays {
		out = append(out, fmt.Sprintf("%+v", *r))
	}
	newest, err := s.ReplayAt("v1", "memory", farFuture)
	if err != nil {
		return nil, err
	}
	return append(out, fmt.Sprintf("%+v", newest)), nil
}

// damagedStore makes a file with two versions, stubs, tags and decisions.
func damagedStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "retrial.db")
	s, err := fixturestore.Open(path, fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := generate(300)
	rows["f-000001"] = row{verdict: "promoted", text: "t", stub: "fact"}
	mustCommit(t, s, fixturestore.Draft{}, rows)
	rows["f-000002"] = row{verdict: "dropped", text: "u"}
	mustCommit(t, s, fixturestore.Draft{Parent: 1, Changes: map[string]string{"f-000002": "ticket"}}, rows)
	if err := s.Tag("memory", 1, "first", time.Unix(3, 0)); err != nil {
		t.Fatal(err)
	}
	seq, err := s.BeginReplay(fixturestore.Replay{ID: "r-1", Set: "memory", Version: 2, Release: "v1", StartedAt: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.EndReplay(seq, []byte("blocked"), "", time.Unix(2, 0)), s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// R16: a bit that flips and a file that is cut give a named error or an unchanged answer; never a wrong one, never a crash.
func TestDamageIsNamed(t *testing.T) {
	path := damagedStore(t)
	want, err := contents(path)
	if err != nil {
		t.Fatal(err)
	}
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(20260301, 7))
	victim := filepath.Join(t.TempDir(), "victim.db")
	try := func(name string, b []byte) (harmed bool) {
		t.Helper()
		if err := os.WriteFile(victim, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := contents(victim)
		switch {
		case err == nil && !missing(want, got):
			if !slices.Equal(got, want) {
				t.Errorf("%s: a wrong answer", name)
			}
			return false
		case err == nil:
			return true // what is not there is found by a checkpoint outside the file alone; nothing of it is wrong
		case fixture.CodeOf(err) != fixture.CodeCorrupt && fixture.CodeOf(err) != fixture.CodePrecondition && fixture.CodeOf(err) != fixture.CodeNotFound:
			t.Errorf("%s: %v has no code that says damage", name, err)
		}
		return true
	}
	harmed := 0
	const flips = 400
	for range flips {
		b := slices.Clone(original)
		at := random.IntN(len(b) * 8)
		b[at/8] ^= 1 << (at % 8)
		if try(fmt.Sprintf("bit %d", at), b) {
			harmed++
		}
	}
	for range 100 {
		n := random.IntN(len(original))
		if try(fmt.Sprintf("cut at %d", n), original[:n]) {
			harmed++
		}
	}
	t.Logf("%d of %d flips and 100 cuts did harm", harmed, flips)
	if harmed < 100 {
		t.Errorf("only %d did any harm: this test shows little", harmed)
	}
}

// missing says whether got is want without some of its parts.
func missing(want, got []string) bool {
	if len(got) >= len(want) {
		return false
	}
	i := 0
	for _, s := range want {
		if i < len(got) && got[i] == s {
			i++
		}
	}
	return i == len(got)
}

// R16: a removal behind the store's back, which leaves a well-formed file, is detected and named.
func TestR16RemovalBehindTheBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrial.db")
	s := open(t, path)
	v := mustCommit(t, s, fixturestore.Draft{}, map[string]row{"a": {verdict: "dropped"}, "b": {verdict: "promoted"}})
	fixturestore.DropFromManifest(t, s, v)
	blocks, err := s.Blocks(v)
	if err != nil {
		t.Fatal(err)
	}
	err = blocks.ReadBlock(0, func(fixturestore.Entry) error { return nil })
	wantCode(t, err, fixture.CodeCorrupt, "manifest node", "does not match its hash")
	_, err = s.Fixture(v, "a")
	wantCode(t, err, fixture.CodeCorrupt, "manifest node", "does not match its hash")
	damaged := 0
	if _, err := s.Verify(t.Context(), func(error) error { damaged++; return nil }); err != nil || damaged != 1 {
		t.Errorf("verify names %d, %v", damaged, err)
	}
}

// R16: a record that was edited and is still well-formed is no record any more.
func TestR16EditedRecord(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
	seq, err := s.BeginReplay(fixturestore.Replay{ID: "r-1", Set: "memory", Version: 1, Release: "v1", StartedAt: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EndReplay(seq, []byte("blocked"), "", time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	fixturestore.EditReplay(t, s, seq, `"version":1`, `"version":2`)
	_, err = s.Replay(seq)
	wantCode(t, err, fixture.CodeCorrupt, "replay record 1", "does not match its hash")
	_, err = s.ReplayAt("v1", "memory", farFuture)
	wantCode(t, err, fixture.CodeCorrupt)
}

// R16: what a replay has read and verified once is held against that when it is read again: an edit between two passes is
// noticed as well.
func TestR16EditBetweenTwoPasses(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
	v := mustCommit(t, s, fixturestore.Draft{}, map[string]row{"a": {verdict: "dropped", text: "one"}, "b": {verdict: "promoted", text: "one", stub: "fact"}})
	for _, edit := range [][2]string{{`"one"`, `"two"`}, {`"fact"`, `"tact"`}} {
		blocks, err := s.Blocks(v)
		if err != nil {
			t.Fatal(err)
		}
		none := func(fixturestore.Entry) error { return nil }
		for range 2 {
			if err := blocks.ReadBlock(0, none); err != nil {
				t.Fatal(err)
			}
		}
		fixturestore.EditObjects(t, s, edit[0], edit[1])
		wantCode(t, blocks.ReadBlock(0, none), fixture.CodeCorrupt, "not match")
		fixturestore.EditObjects(t, s, edit[1], edit[0])
	}
}

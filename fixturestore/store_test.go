package fixturestore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

func TestVersionReadsBackAsWritten(t *testing.T) {
	s := newStore(t)
	rows := generate(2000)
	rows["f-000007"] = row{verdict: "promoted", text: "t", stub: "fact"}
	v := mustCommit(t, s, fixturestore.Draft{}, rows)
	if v.Number != 1 || v.Tally.Total != 2000 || v.Added != 2000 {
		t.Errorf("got %+v", v)
	}
	if got := read(t, s, v); !slices.Equal(got, slices.Sorted(maps.Keys(rows))) {
		t.Errorf("read %d fixtures in another order or number", len(got))
	}
	item, err := s.Fixture(v, "f-000007")
	if err != nil || item.Stubs == nil || string(item.Fixture.Canonical()) != string(rows["f-000007"].fixture(t, "f-000007").Canonical()) {
		t.Errorf("got %+v, %v", item, err)
	}
	_, err = s.Fixture(v, "f-9")
	wantCode(t, err, fixture.CodeNotFound, "f-9", "version 1")
	page, err := s.Fixtures(v, "f-000998", 3)
	if err != nil || len(page) != 3 || page[0].Fixture.ID != "f-000999" {
		t.Errorf("page: %v, %v", page, err)
	}
}

// R14: a published version is immutable; a change makes a new one, and the old one still reads as it was.
func TestR14VersionIsImmutable(t *testing.T) {
	s := newStore(t)
	rows := generate(100)
	v1 := mustCommit(t, s, fixturestore.Draft{}, rows)
	rows["f-000003"] = row{verdict: rows["f-000003"].verdict, text: "edited"}
	v2 := mustCommit(t, s, fixturestore.Draft{Parent: 1}, rows)
	if v2.Changed != 1 || v2.Added != 0 || v2.Removed != 0 {
		t.Errorf("changes: %+v", v2)
	}
	again, err := s.Version("memory", 1)
	if err != nil || again.Checksum != v1.Checksum || again.Checksum == v2.Checksum {
		t.Errorf("version 1 is now %+v, %v", again, err)
	}
	item, err := s.Fixture(again, "f-000003")
	if err != nil || !strings.Contains(string(item.Fixture.Canonical()), "claim 3") {
		t.Errorf("version 1 has %s, %v", item.Fixture.Canonical(), err)
	}
}

// R18: an expected verdict changes only in a version that records why, by whom, fixture by fixture.
func TestR18ChangedExpectationNeedsReason(t *testing.T) {
	s := newStore(t)
	rows := generate(50)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	flipped := maps.Clone(rows)
	flipped["f-000002"] = row{verdict: "dropped", text: rows["f-000002"].text}
	_, err := commit(t, s, fixturestore.Draft{Parent: 1}, flipped)
	wantCode(t, err, fixture.CodePrecondition, "f-000002", "promoted/r", "dropped/r", "without a reason")
	ungated := maps.Clone(rows)
	ungated["f-000002"] = row{verdict: "promoted", text: rows["f-000002"].text, group: "derived"}
	_, err = commit(t, s, fixturestore.Draft{Parent: 1}, ungated)
	wantCode(t, err, fixture.CodePrecondition, "f-000002", "derived")
	_, err = commit(t, s, fixturestore.Draft{Parent: 1, Changes: map[string]string{"f-000002": "ticket 7", "f-000004": "?"}}, flipped)
	wantCode(t, err, fixture.CodePrecondition, "f-000004", "does not change")
	v := mustCommit(t, s, fixturestore.Draft{Parent: 1, Changes: map[string]string{"f-000002": "ticket 7"}}, flipped)
	got, err := s.Version("memory", v.Number)
	if err != nil || got.Changes["f-000002"] != "ticket 7" || got.Author != "ada" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// R16: a removal is noticed, and needs a reason of its own.
func TestR16RemovalNeedsReason(t *testing.T) {
	s := newStore(t)
	rows := generate(50)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	delete(rows, "f-000049")
	_, err := commit(t, s, fixturestore.Draft{Parent: 1}, rows)
	wantCode(t, err, fixture.CodePrecondition, "1 fixtures are removed without a reason")
	v := mustCommit(t, s, fixturestore.Draft{Parent: 1, RemovalReason: "duplicate of f-000048"}, rows)
	if v.Removed != 1 {
		t.Errorf("got %+v", v)
	}
}

// R18: a fixture that is removed and comes back with another verdict has changed its expectation.
func TestR18RemovalIsNoWayAround(t *testing.T) {
	s := newStore(t)
	rows := generate(50)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	gone := maps.Clone(rows)
	delete(gone, "f-000002")
	mustCommit(t, s, fixturestore.Draft{Parent: 1, RemovalReason: "duplicates"}, gone)
	gone["g"] = row{verdict: "dropped"}
	mustCommit(t, s, fixturestore.Draft{Parent: 2}, gone)
	gone["f-000002"] = row{verdict: "dropped", text: "t"}
	_, err := commit(t, s, fixturestore.Draft{Parent: 3}, gone)
	wantCode(t, err, fixture.CodePrecondition, "f-000002", "promoted/r", "dropped/r", "without a reason")
	mustCommit(t, s, fixturestore.Draft{Parent: 3, Changes: map[string]string{"f-000002": "ticket 7"}}, gone)
	rows["g"] = row{verdict: "dropped"}
	rows["f-000002"] = row{verdict: "dropped", text: "u"}
	mustCommit(t, s, fixturestore.Draft{Parent: 4}, rows) // only the text changed since
}

// R16: a version that was taken out behind the store's back is missed by the check of the whole store.
func TestR16VerifyMissesARemovedVersion(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "retrial.db"))
	rows := generate(5)
	for parent := range uint64(3) {
		rows[fmt.Sprint("g", parent)] = row{verdict: "dropped"}
		mustCommit(t, s, fixturestore.Draft{Parent: parent}, rows)
	}
	fixturestore.RemoveVersion(t, s, "memory", 2)
	var named []string
	sum, err := s.Verify(context.Background(), func(err error) error { named = append(named, err.Error()); return nil })
	if err != nil || sum.Damaged != 2 || !strings.Contains(named[0], "version 2") || !strings.Contains(named[1], "log entry 1") {
		t.Errorf("got %+v, %q, %v", sum, named, err)
	}
}

func TestCommitRefuses(t *testing.T) {
	s := newStore(t)
	rows := generate(10)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	t.Run("a parent that is not the newest", func(t *testing.T) {
		_, err := commit(t, s, fixturestore.Draft{}, rows)
		wantCode(t, err, fixture.CodeConflict, "newest version is 1")
	})
	t.Run("nothing new", func(t *testing.T) {
		_, err := commit(t, s, fixturestore.Draft{Parent: 1}, rows)
		wantCode(t, err, fixture.CodePrecondition, "nothing to commit")
	})
	t.Run("no fixtures", func(t *testing.T) {
		_, err := commit(t, s, fixturestore.Draft{Parent: 1, RemovalReason: "all"}, nil)
		wantCode(t, err, fixture.CodePrecondition, "no fixtures")
	})
	t.Run("a verdict outside the vocabulary", func(t *testing.T) {
		_, err := commit(t, s, fixturestore.Draft{Parent: 1}, map[string]row{"x": {verdict: "perhaps"}})
		wantCode(t, err, fixture.CodeInvalid, "x", "perhaps")
	})
	t.Run("ids that differ by normalisation alone", func(t *testing.T) {
		_, err := commit(t, s, fixturestore.Draft{Parent: 1}, map[string]row{"caf\u00e9": {verdict: "dropped"}, "cafe\u0301": {verdict: "dropped"}})
		wantCode(t, err, fixture.CodeInvalid, "normalisation", `caf\u00e9`)
	})
	t.Run("a wrong count or checksum", func(t *testing.T) {
		c, err := s.Begin(fixturestore.Draft{Set: "other", Author: "a", Reason: "b", Vocabulary: vocabulary})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add(row{verdict: "dropped"}.fixture(t, "f"), nil); err != nil {
			t.Fatal(err)
		}
		_, err = c.Seal(2, "sha256:00")
		wantCode(t, err, fixture.CodePrecondition, "1 fixtures arrived, 2 were sent", "sha256:00")
		if err := c.Abort(); err != nil {
			t.Error(err)
		}
	})
	t.Run("descending ids", func(t *testing.T) {
		c, err := s.Begin(fixturestore.Draft{Set: "other", Author: "a", Reason: "b", Vocabulary: vocabulary})
		if err != nil {
			t.Fatal(err)
		}
		r := row{verdict: "dropped"}
		wantCode(t, errors.Join(c.Add(r.fixture(t, "g"), nil), c.Add(r.fixture(t, "f"), nil)), fixture.CodeInvalid, "ascend")
		if err := c.Abort(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Newest("other"); fixture.CodeOf(err) != fixture.CodeNotFound {
		t.Errorf("a refused commit left a set behind: %v", err)
	}
}

// Two commits on one parent: one is published, the other is told to read again.
func TestCommitComparesAndSwaps(t *testing.T) {
	s := newStore(t)
	draft := fixturestore.Draft{Set: "memory", Author: "a", Reason: "b", Vocabulary: vocabulary}
	one, err1 := s.Begin(draft)
	two, err2 := s.Begin(draft)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	r := row{verdict: "dropped"}
	if err := errors.Join(one.Add(r.fixture(t, "a"), nil), two.Add(r.fixture(t, "b"), nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Seal(1, ""); err != nil {
		t.Fatal(err)
	}
	_, err := one.Seal(1, "")
	wantCode(t, err, fixture.CodeConflict)
	if err := one.Abort(); err != nil {
		t.Error(err)
	}
	v, err := s.Newest("memory")
	if err != nil || !slices.Equal(read(t, s, v), []string{"b"}) {
		t.Errorf("got %+v, %v", v, err)
	}
}

// A commit that never ended leaves nothing behind once the store is opened again, and an aborted one not even before.
func TestUnsealedCommitIsSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrial.db")
	s, err := fixturestore.Open(path, fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Begin(fixturestore.Draft{Set: "memory", Author: "a", Reason: "b", Vocabulary: vocabulary})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25_000 { // more than one transaction
		if err := c.Add(row{verdict: "dropped", text: "t"}.fixture(t, fmt.Sprintf("f-%06d", i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := fixturestore.ObjectCount(t, s); n == 0 {
		t.Fatal("the commit has staged nothing, so that this test shows nothing")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	if n := fixturestore.ObjectCount(t, again); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	if _, err := again.Newest("memory"); fixture.CodeOf(err) != fixture.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

// A one-fixture change to a set of 100,000 adds less than 64 KiB to the file, and a diff does not read both versions.
func TestVersionsShareWhatIsUnchanged(t *testing.T) {
	if testing.Short() {
		t.Skip("imports 100,000 fixtures; run without -short")
	}
	s := newStore(t)
	rows := generate(100_000)
	v1 := mustCommit(t, s, fixturestore.Draft{}, rows)
	size := func() int64 {
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	rows["f-050000"] = row{verdict: "dropped", text: "changed"}
	v2 := mustCommit(t, s, fixturestore.Draft{Parent: 1, Changes: map[string]string{"f-050000": "ticket"}}, rows)
	grown := size() - before
	nodes := fixturestore.CountReads(s)
	var ids []string
	err := s.Diff(v1, v2, func(d fixturestore.Difference) error { ids = append(ids, d.ID); return nil })
	if err != nil || !slices.Equal(ids, []string{"f-050000"}) {
		t.Errorf("diff: %v, %v", ids, err)
	}
	t.Logf("the file of %d bytes grew by %d; the diff read %d nodes", before, grown, nodes())
	if grown >= 64<<10 {
		t.Errorf("the file grew by %d bytes", grown)
	}
	if n := nodes(); n > 20 {
		t.Errorf("the diff read %d manifest nodes of over 6,000", n)
	}
}

func TestStoreIsHeldByOneProcess(t *testing.T) {
	s := newStore(t)
	_, err := fixturestore.Open(s.Path(), fixturestore.Options{LockTimeout: 50 * time.Millisecond})
	wantCode(t, err, fixture.CodeBusy, "another process holds it", s.Path())
}

func TestTagsDoNotMove(t *testing.T) {
	s := newStore(t)
	rows := generate(3)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	rows["g"] = row{verdict: "dropped"}
	mustCommit(t, s, fixturestore.Draft{Parent: 1}, rows)
	for range 2 { // again is no error
		if err := s.Tag("memory", 1, "2026-03", time.Unix(3, 0)); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, s.Tag("memory", 2, "2026-03", time.Unix(3, 0)), fixture.CodeExists, "version 1")
	wantCode(t, s.Tag("memory", 9, "x", time.Unix(3, 0)), fixture.CodeNotFound)
	v, err := s.VersionByTag("memory", "2026-03")
	if err != nil || v.Number != 1 || !slices.Equal(v.Tags, []string{"2026-03"}) {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestReplayRecords(t *testing.T) {
	s := newStore(t)
	n := 0
	begin := func(release string) uint64 {
		n++
		seq, err := s.BeginReplay(fixturestore.Replay{ID: fmt.Sprint("r-", n), Set: "memory", Version: 1, Release: release, StartedAt: time.Unix(0, 0).UTC()})
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	if r, err := s.ReplayAt("v1", "memory", farFuture); err != nil || r != nil {
		t.Fatalf("a release that was never tried: %+v, %v", r, err)
	}
	one, _ := begin("v1"), begin("v10")
	two := begin("v1")
	if err := s.EndReplay(one, []byte("pass"), "", time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	r, err := s.ReplayAt("v1", "memory", farFuture)
	if err != nil || r.Seq != two || r.State != fixturestore.Running {
		t.Errorf("the newest replay is %+v, %v", r, err)
	}
	if err := s.EndReplay(two, nil, "checker is gone", time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.EndReplay(two, []byte("pass"), "", time.Unix(2, 0)), fixture.CodePrecondition, "ended before")
	all, _, err := s.Replays("memory", "", 0, 10)
	if err != nil || len(all) != 3 || all[0].Seq != two || all[0].State != fixturestore.Failed {
		t.Errorf("got %v, %v", all, err)
	}
	if page, _, err := s.Replays("", "v1", two, 10); err != nil || len(page) != 1 || page[0].Seq != one {
		t.Errorf("got %v, %v", page, err)
	}
}

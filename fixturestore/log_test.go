package fixturestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// signed gives options with a key of the test's own.
func signed(t testing.TB) fixturestore.Options {
	t.Helper()
	private, public, err := note.GenerateKey(nil, "retrial.test/log")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return fixturestore.Options{LockTimeout: time.Second, Signer: signer, Verifier: verifier}
}

func mustOpen(t testing.TB, path string, o fixturestore.Options) *fixturestore.Store {
	t.Helper()
	s, err := fixturestore.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, s *fixturestore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// decide records a replay with a decision.
func decide(t testing.TB, s *fixturestore.Store, id string, decision string) uint64 {
	t.Helper()
	seq, err := s.BeginReplay(fixturestore.Replay{ID: id, Set: "memory", Version: 1, Release: "v1", StartedAt: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EndReplay(seq, []byte(decision), "", time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	return seq
}

// one writes one thing of each kind that the log has entries about: 8 in all.
func one(t testing.TB, s *fixturestore.Store) {
	t.Helper()
	rows := generate(20)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	delete(rows, "f-000003")
	mustCommit(t, s, fixturestore.Draft{Parent: 1, RemovalReason: "r", FourEyes: &fixturestore.FourEyes{}}, rows)
	decide(t, s, "r-1", "blocked")
	at := time.Unix(4, 0).UTC()
	if err := errors.Join(
		s.Tag("memory", 1, "stable", at),
		s.Approve("memory", 2, fixturestore.Approval{By: "eve", Reason: "seen", At: at}),
		s.PutWaiver(fixturestore.Waiver{ID: "w-1", Release: "v1", Set: "memory", GrantedAt: at, ExpiresAt: at.Add(time.Hour)}),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RevokeWaiver("w-1", "eve", at.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
}

// R16: every write is a leaf, every leaf can be proven, every checkpoint is extended by the next, and the whole recomputes.
func TestR16LogHasEveryWrite(t *testing.T) {
	o := signed(t)
	s := mustOpen(t, filepath.Join(t.TempDir(), "retrial.db"), o)
	defer mustClose(t, s)
	one(t, s)
	entries, err := s.Entries(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s %s", e.Kind, e.Subject))
	}
	want := "version memory@1, version memory@2, replay r-1, decision r-1, tag memory:stable, approval memory@2, waiver w-1, waiver w-1"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
	text, _, err := s.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(text, o.Verifier)
	if err != nil || c.Tree.N != 8 {
		t.Fatalf("checkpoint %+v, %v", c, err)
	}
	for i := range uint64(8) {
		e, size, proof, err := s.InclusionProof(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(proof, int64(size), c.Tree.Hash, int64(i), tlog.RecordHash(e.Leaf)); err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	e, err := s.EntryOf(fixturestore.KindWaiver, "w-1")
	if err != nil || e.Index != 7 {
		t.Errorf("the newest entry of the waiver is %+v, %v", e, err)
	}
	sum, err := s.Verify(context.Background(), func(err error) error { t.Error(err); return nil })
	if err != nil || sum.Entries != 8 || sum.Waivers != 1 {
		t.Errorf("got %+v, %v", sum, err)
	}
	_, _, _, err = s.InclusionProof(8, 0)
	wantCode(t, err, fixture.CodeInvalid, "8 entries")
	_, err = s.ConsistencyProof(3, 9)
	wantCode(t, err, fixture.CodeInvalid)
}

// Every tree of the log extends every smaller one.
func TestLogIsConsistent(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "retrial.db"), signed(t))
	defer mustClose(t, s)
	rows := generate(3)
	mustCommit(t, s, fixturestore.Draft{}, rows)
	var trees []tlog.Tree
	for i := range 20 {
		decide(t, s, fmt.Sprint("r-", i), "pass")
		tree, err := s.Tree()
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
	}
	for i, small := range trees {
		for _, great := range trees[i:] {
			proof, err := s.ConsistencyProof(uint64(small.N), uint64(great.N))
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckTree(proof, great.N, great.Hash, small.N, small.Hash); err != nil {
				t.Errorf("%d in %d: %v", small.N, great.N, err)
			}
		}
	}
}

// A file that is older than its checkpoint is refused, and so is one without, one with somebody else's, and one whose past was
// rewritten. An operator can go on all the same, by a command of its own.
func TestOlderFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrial.db")
	o := signed(t)
	s := mustOpen(t, path, o)
	mustCommit(t, s, fixturestore.Draft{}, generate(3))
	mustClose(t, s)
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	early, err := os.ReadFile(path + fixturestore.CheckpointSuffix)
	if err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path, o)
	if _, err := s.BeginReplay(fixturestore.Replay{ID: "r-0", Set: "memory", Version: 1, Release: "v1", StartedAt: time.Unix(1, 0).UTC()}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	begun, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := fixturestore.Open(path, o); fixture.CodeOf(err) != fixture.CodeCorrupt {
		t.Fatalf("with a file of before a replay began: %v, %v", s, err)
	}
	if err := os.WriteFile(path, begun, 0o600); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path, o)
	decide(t, s, "r-1", "blocked")
	mustClose(t, s)
	newest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file string, b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(name string, o fixturestore.Options, mention string) {
		t.Helper()
		s, err := fixturestore.Open(path, o)
		if err == nil {
			mustClose(t, s)
			t.Errorf("%s: it was opened", name)
			return
		}
		if fixture.CodeOf(err) != fixture.CodeCorrupt || !strings.Contains(err.Error(), mention) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(path, backup)
	refused("a backup", o, "its log has 1 entries, of which there were 4")
	write(path, newest)
	refused("another key", signed(t), "checkpoint")
	late, err := os.ReadFile(path + fixturestore.CheckpointSuffix)
	if err != nil {
		t.Fatal(err)
	}
	write(path+fixturestore.CheckpointSuffix, []byte(strings.Replace(string(late), "\n4\n", "\n3\n", 1)))
	refused("an edited checkpoint", o, "malformed checkpoint")
	if err := os.Remove(path + fixturestore.CheckpointSuffix); err != nil {
		t.Fatal(err)
	}
	refused("no checkpoint", o, "missing")
	write(path+fixturestore.CheckpointSuffix, early)
	mustClose(t, mustOpen(t, path, o)) // behind by one: a process that died between the two writes
	if now, err := os.ReadFile(path + fixturestore.CheckpointSuffix); err != nil || string(now) != string(late) {
		t.Errorf("the checkpoint did not catch up: %s, %v", now, err)
	}
	s = mustOpen(t, path, fixturestore.Options{LockTimeout: time.Second})
	fixturestore.RewriteLog(t, s, "r-1", "r-2")
	mustClose(t, s)
	refused("a rewritten log", o, "somebody else has written it")
	write(path, backup)
	c, err := fixturestore.Adopt(path, o)
	if err != nil || c.Tree.N != 1 {
		t.Fatalf("adopt: %+v, %v", c, err)
	}
	mustClose(t, mustOpen(t, path, o))
}

// What is written behind the log's back is named, even by somebody who knows how records are sealed.
func TestVerifyNamesForgeries(t *testing.T) {
	for name, forge := range map[string]func(t *testing.T, s *fixturestore.Store, seq uint64){
		`decision "r-9": it is not what log entry`:  func(t *testing.T, s *fixturestore.Store, seq uint64) { fixturestore.ForgeReplay(t, s, seq, "v1", "v2") },
		`approval "memory@1": the log has no entry`: func(t *testing.T, s *fixturestore.Store, _ uint64) { fixturestore.ForgeApproval(t, s, "memory", 1) },
		`version "memory@1": it is not what log entry`: func(t *testing.T, s *fixturestore.Store, _ uint64) {
			fixturestore.RewriteLog(t, s, `"record":"`, `"record":"0`)
		},
		`version "memory@2": log entry 1 is about it, and`:   func(t *testing.T, s *fixturestore.Store, _ uint64) { fixturestore.RemoveVersion(t, s, "memory", 2) },
		`decision "r-1": log entry 3 is about it, and there`: func(t *testing.T, s *fixturestore.Store, _ uint64) { fixturestore.ForgeReplay(t, s, 1, "r-1", "r-7") },
		`waiver "w-2": log entry 11 is about it, and there is`: func(t *testing.T, s *fixturestore.Store, _ uint64) {
			fixturestore.RewriteLog(t, s, "r-9", "w-2")
			fixturestore.RewriteLog(t, s, `decision","subject":"w-2"`, `waiver","subject":"w-2"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, filepath.Join(t.TempDir(), "retrial.db"), fixturestore.Options{})
			defer mustClose(t, s)
			one(t, s)
			decide(t, s, "r-8", "blocked")
			seq := decide(t, s, "r-9", "blocked")
			forge(t, s, seq)
			var named []string
			if _, err := s.Verify(context.Background(), func(err error) error { named = append(named, err.Error()); return nil }); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(named, "\n"), name) {
				t.Errorf("got %q", named)
			}
		})
	}
}

// A file of the layout before the log is brought to this one, with all that it holds as the log's first entries.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrial.db")
	s := mustOpen(t, path, fixturestore.Options{})
	mustCommit(t, s, fixturestore.Draft{}, generate(5))
	if err := s.Tag("memory", 1, "stable", time.Unix(3, 0)); err != nil {
		t.Fatal(err)
	}
	decide(t, s, "r-1", "blocked")
	fixturestore.Downgrade(t, s)
	mustClose(t, s)
	s = mustOpen(t, path, signed(t))
	defer mustClose(t, s)
	sum, err := s.Verify(context.Background(), func(err error) error { t.Error(err); return nil })
	if err != nil || sum.Entries != 4 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if r, err := s.ReplayByID("r-1"); err != nil || string(r.Decision) != "blocked" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	s := newStore(t)
	begin := func(id, by, key string) error {
		_, err := s.BeginReplay(fixturestore.Replay{ID: id, Set: "memory", Version: 1, SubmittedBy: by, Key: key, StartedAt: time.Unix(0, 0).UTC()})
		return err
	}
	if err := errors.Join(begin("r-1", "ci", "k"), begin("r-2", "ada", "k"), begin("r-3", "ci", "k2"), begin("r-4", "ci", "")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, begin("r-5", "ci", "k"), fixture.CodeExists, "used before")
	wantCode(t, begin("r-1", "ci", ""), fixture.CodeExists)
	if r, err := s.ReplayByKey("ci", "k"); err != nil || r.ID != "r-1" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := s.ReplayByKey("c", "ik"); err != nil || r != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	wantCode(t, begin("r-6", "ci", "a\nb"), fixture.CodeInvalid, "idempotency_key")
}

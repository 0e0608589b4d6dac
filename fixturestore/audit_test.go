package fixturestore_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Whoever can write the file and knows its format, but has not the key, cannot make an older pass the newest, or add one: the
// file is refused when it is opened.
func TestForgeriesAreRefusedAtOpen(t *testing.T) {
	unsigned := fixturestore.Options{IgnoreCheckpoint: true, LockTimeout: time.Second}
	for name, tt := range map[string]struct {
		forge func(t *testing.T, s *fixturestore.Store)
		want  string
	}{
		"a decision that is added": {func(t *testing.T, s *fixturestore.Store) { decide(t, s, "r-9", "pass") }, "the server signed 6"},
		"a version that is added": {func(t *testing.T, s *fixturestore.Store) {
			mustCommit(t, s, fixturestore.Draft{Parent: 2}, generate(4))
		}, "the server signed 6"},
		"the newest replay hidden from its release": {func(t *testing.T, s *fixturestore.Store) { fixturestore.HideReplay(t, s, "v1", "memory", 2, 1) }, "replay 2 is the newest"},
		"the newest replay removed":                 {func(t *testing.T, s *fixturestore.Store) { fixturestore.RemoveReplay(t, s, 2) }, "missing, and the log has an entry"},
		"the newest version removed, with its index": {func(t *testing.T, s *fixturestore.Store) {
			fixturestore.RemoveVersion(t, s, "memory", 2)
			fixturestore.RemoveSubject(t, s, fixturestore.KindVersion, "memory@2")
		}, "missing, and the log has an entry"},
		"a subject removed": {func(t *testing.T, s *fixturestore.Store) {
			fixturestore.RemoveSubject(t, s, fixturestore.KindDecision, "r-2")
		}, "logsubjects"},
		"a leaf with its own hash": {func(t *testing.T, s *fixturestore.Store) { fixturestore.RewriteLeaf(t, s, 5, "r-2", "r-7") }, "its tree is not that of its entries"},
		"the whole log":            {func(t *testing.T, s *fixturestore.Store) { fixturestore.RewriteLog(t, s, "r-2", "r-7") }, "somebody else has written it"},
		"an older layout":          {func(t *testing.T, s *fixturestore.Store) { fixturestore.SetLayout(t, s, "1") }, "which layout 1 had not"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "retrial.db")
			o := signed(t)
			s := mustOpen(t, path, o)
			mustCommit(t, s, fixturestore.Draft{}, generate(2))
			mustCommit(t, s, fixturestore.Draft{Parent: 1}, generate(3))
			decide(t, s, "r-1", "pass")
			decide(t, s, "r-2", "blocked")
			mustClose(t, s)
			s = mustOpen(t, path, unsigned)
			tt.forge(t, s)
			mustClose(t, s)
			s, err := fixturestore.Open(path, o)
			if err == nil {
				err = errors.Join(errors.New("it was opened"), s.Close())
			}
			if fixture.CodeOf(err) != fixture.CodeCorrupt || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

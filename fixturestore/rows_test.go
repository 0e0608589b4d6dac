package fixturestore_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

var vocabulary = fixture.Vocabulary{Verdicts: []string{"promoted", "dropped"}, Permissive: "promoted"}

// open opens a store in a directory of its own, and checks the whole of it when the test ends.
func open(t testing.TB, path string) *fixturestore.Store {
	t.Helper()
	s, err := fixturestore.Open(path, fixturestore.Options{LockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newStore(t testing.TB) *fixturestore.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "store", "retrial.db"))
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		sum, err := s.Verify(context.Background(), func(err error) error { t.Error(err); return nil })
		if err != nil || sum.Damaged != 0 {
			t.Errorf("verify after the test: %+v, %v", sum, err)
		}
	})
	return s
}

// row is a fixture of these tests: verdict, an input, and the value of its one stub.
type row struct{ verdict, text, stub, group string }

func (r row) fixture(t testing.TB, id string) *fixture.Fixture {
	t.Helper()
	group := r.group
	if group == "" {
		group = "hermetic"
	}
	f, err := fixture.Decode(fmt.Appendf(nil, `{"fixture_id":%q,"source_row_id":"row","verdict":%q,"reason_code":"r","decided_at":"2026-02-14T09:12:00Z","group":%q,"claim_text":%q}`, id, r.verdict, group, r.text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (r row) stubs(t testing.TB, id string) []byte {
	t.Helper()
	if r.stub == "" {
		return nil
	}
	s, err := stub.Decode(fmt.Appendf(nil, `{"fixture_id":%q,"call":"classify","value":%q}`, id, r.stub))
	if err != nil {
		t.Fatal(err)
	}
	joined, err := stub.Join(id, []*stub.Stub{s})
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

func commit(t testing.TB, s *fixturestore.Store, d fixturestore.Draft, rows map[string]row) (*fixturestore.Version, error) {
	t.Helper()
	d.Set, d.Vocabulary, d.Author = "memory", vocabulary, "ada"
	d.At = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if d.Reason == "" {
		d.Reason = "test"
	}
	c, err := s.Begin(d)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := c.Abort(); err != nil {
			t.Error(err)
		}
	}()
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if err := c.Add(rows[id].fixture(t, id), rows[id].stubs(t, id)); err != nil {
			return nil, err
		}
	}
	return c.Seal(uint64(len(rows)), "")
}

func mustCommit(t testing.TB, s *fixturestore.Store, d fixturestore.Draft, rows map[string]row) *fixturestore.Version {
	t.Helper()
	v, err := commit(t, s, d, rows)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func read(t testing.TB, s *fixturestore.Store, v *fixturestore.Version) []string {
	t.Helper()
	b, err := s.Blocks(v)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range b.Len() {
		err := b.ReadBlock(i, func(e fixturestore.Entry) error {
			if e.Position != uint64(len(ids)) {
				t.Errorf("fixture %s stands at %d, want %d", e.Fixture.ID, e.Position, len(ids))
			}
			ids = append(ids, e.Fixture.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func generate(n int) map[string]row {
	rows := make(map[string]row, n)
	for i := range n {
		rows[fmt.Sprintf("f-%06d", i)] = row{verdict: []string{"promoted", "dropped"}[i%2], text: fmt.Sprintf("claim %d %s", i, strings.Repeat("x", 400))}
	}
	return rows
}

func wantCode(t testing.TB, err error, code fixture.Code, parts ...string) {
	t.Helper()
	if err == nil || fixture.CodeOf(err) != code {
		t.Fatalf("got %v (code %d), want code %d", err, fixture.CodeOf(err), code)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("the message %q does not name %q", err, p)
		}
	}
}

package server

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// gateStore is a store with one version of the set "memory".
func gateStore(t *testing.T) *fixturestore.Store {
	t.Helper()
	s, err := fixturestore.Open(filepath.Join(t.TempDir(), "retrial.db"), fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	commitTo(t, s, "memory", 0, "f-1")
	return s
}

func commitTo(t *testing.T, s *fixturestore.Store, set string, parent uint64, ids ...string) {
	t.Helper()
	commitDraft(t, s, fixturestore.Draft{Set: set, Parent: parent}, ids...)
}

func commitDraft(t *testing.T, s *fixturestore.Store, d fixturestore.Draft, ids ...string) {
	t.Helper()
	config, err := proto.Marshal(Set{Vocabulary: fixture.Vocabulary{Verdicts: []string{"a", "b"}, Permissive: "a"}}.ToProto())
	if err != nil {
		t.Fatal(err)
	}
	d.Author, d.Reason, d.Config, d.Vocabulary = "ada", "r", config, fixture.Vocabulary{Verdicts: []string{"a", "b"}, Permissive: "a"}
	c, err := s.Begin(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		f, err := fixture.Decode([]byte(`{"fixture_id":"` + id + `","source_row_id":"r","verdict":"a","decided_at":"2026-01-01T00:00:00Z","x":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add(f, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Seal(uint64(len(ids)), ""); err != nil {
		t.Fatal(err)
	}
}

// tried records a replay and how it ended. A nil change leaves it running.
func tried(t *testing.T, s *fixturestore.Store, version uint64, failure string, change func(*gatev1.Decision)) uint64 {
	t.Helper()
	id := "r-" + strings.ToLower(rand.Text())
	record := fixturestore.Replay{ID: id, Set: "memory", Version: version, Release: "v1", StartedAt: time.Unix(1, 0)}
	seq, err := s.BeginReplay(record)
	if err != nil {
		t.Fatal(err)
	}
	var stored []byte
	switch {
	case change != nil:
		d := &gatev1.Decision{ReplayId: id, Release: "v1", Set: "memory", Version: version, Ruling: gatev1.Ruling_RULING_PASS}
		change(d)
		if stored, err = proto.Marshal(d); err != nil {
			t.Fatal(err)
		}
	case failure == "":
		return seq
	}
	if err := s.EndReplay(seq, stored, failure, time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	return seq
}

// R29: a release passes by its newest replay, on the newest version, over the whole set, or not at all.
func TestR29GateStatus(t *testing.T) {
	pass := func(*gatev1.Decision) {}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, s *fixturestore.Store) (running uint64)
		sets []string
		want gatev1.Status
		code string
	}{
		{"never tried", func(*testing.T, *fixturestore.Store) uint64 { return 0 }, nil, gatev1.Status_STATUS_UNKNOWN, "NEVER_TRIED"},
		{"an unknown set", func(*testing.T, *fixturestore.Store) uint64 { return 0 }, []string{"other"}, gatev1.Status_STATUS_UNKNOWN, "NO_SET"},
		{"passed", func(t *testing.T, s *fixturestore.Store) uint64 { tried(t, s, 1, "", pass); return 0 }, nil, gatev1.Status_STATUS_PASS, ""},
		{"blocked", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", func(d *gatev1.Decision) {
				d.Ruling, d.Causes = gatev1.Ruling_RULING_BLOCK, []*gatev1.Cause{{Code: "FLIP"}}
			})
			return 0
		}, nil, gatev1.Status_STATUS_BLOCK, "FLIP"},
		{"unconfirmed", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", func(d *gatev1.Decision) {
				d.Ruling, d.Causes = gatev1.Ruling_RULING_BASELINE_UNCONFIRMED, []*gatev1.Cause{{Code: "BASELINE_MISMATCH"}}
			})
			return 0
		}, nil, gatev1.Status_STATUS_BLOCK, "BASELINE_MISMATCH"},
		{"no ruling", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", func(d *gatev1.Decision) { d.Ruling = gatev1.Ruling_RULING_UNSPECIFIED })
			return 0
		}, nil, gatev1.Status_STATUS_BLOCK, ""},
		{"passed, then blocked", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", pass)
			tried(t, s, 1, "", func(d *gatev1.Decision) { d.Ruling = gatev1.Ruling_RULING_BLOCK })
			return 0
		}, nil, gatev1.Status_STATUS_BLOCK, ""},
		{"passed, then running", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", pass)
			return tried(t, s, 1, "", nil)
		}, nil, gatev1.Status_STATUS_UNKNOWN, "RUNNING"},
		{"passed, then cut", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", pass)
			tried(t, s, 1, "", nil)
			return 0
		}, nil, gatev1.Status_STATUS_UNKNOWN, "CUT"},
		{"passed, then failed", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", pass)
			tried(t, s, 1, "store is damaged", nil)
			return 0
		}, nil, gatev1.Status_STATUS_UNKNOWN, "FAILED"},
		{"partial", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", func(d *gatev1.Decision) { d.Partial = true })
			return 0
		}, nil, gatev1.Status_STATUS_UNKNOWN, "PARTIAL"},
		{"a version that lacks its approval", func(t *testing.T, s *fixturestore.Store) uint64 {
			commitDraft(t, s, fixturestore.Draft{Set: "memory", Parent: 1, FourEyes: &fixturestore.FourEyes{Also: []string{"the policy changes"}}}, "f-1", "f-2")
			tried(t, s, 2, "", pass)
			return 0
		}, nil, gatev1.Status_STATUS_UNKNOWN, "UNAPPROVED"},
		{"a newer version of the set", func(t *testing.T, s *fixturestore.Store) uint64 {
			tried(t, s, 1, "", pass)
			commitTo(t, s, "memory", 1, "f-1", "f-2")
			return 0
		}, nil, gatev1.Status_STATUS_UNKNOWN, "OUTDATED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := gateStore(t)
			running := tt.make(t, s)
			g := &gates{store: s, running: func(id string) bool {
				r, err := s.ReplayByID(id)
				return err == nil && r.Seq == running
			}, now: time.Now, changed: &bell{}, log: zap.NewNop()}
			res, err := g.GetGateStatus(context.Background(), &gatev1.GetGateStatusRequest{Release: "v1", Sets: tt.sets})
			if err != nil {
				t.Fatal(err)
			}
			set := res.GetSets()[0]
			if res.GetStatus() != tt.want || set.GetStatus() != tt.want || tt.code != "" && (len(set.GetCauses()) == 0 || set.GetCauses()[0].GetCode() != tt.code) {
				t.Errorf("got %s, %v; want %s, %s", res.GetStatus(), set.GetCauses(), tt.want, tt.code)
			}
		})
	}
}

// A decision that belongs to another replay is damage, and no pass.
func TestDecisionOfAnotherReplayIsDamage(t *testing.T) {
	s := gateStore(t)
	tried(t, s, 1, "", func(d *gatev1.Decision) { d.Release = "v2" })
	g := &gates{store: s, running: func(string) bool { return false }, now: time.Now, changed: &bell{}, log: zap.NewNop()}
	_, err := g.GetGateStatus(context.Background(), &gatev1.GetGateStatusRequest{Release: "v1"})
	if fixture.CodeOf(err) != fixture.CodeCorrupt || !strings.Contains(err.Error(), "another replay") {
		t.Errorf("got %v", err)
	}
}

func TestGateStatusNeedsARelease(t *testing.T) {
	g := &gates{store: gateStore(t), running: func(string) bool { return false }, now: time.Now, changed: &bell{}, log: zap.NewNop()}
	if _, err := g.GetGateStatus(context.Background(), &gatev1.GetGateStatusRequest{Sets: []string{"memory"}}); fixture.CodeOf(err) != fixture.CodeInvalid {
		t.Errorf("got %v", err)
	}
}

// Lists come in pages, in one order, without a gap.
func TestListDecisionsPages(t *testing.T) {
	s := gateStore(t)
	for range 7 {
		tried(t, s, 1, "", func(*gatev1.Decision) {})
	}
	g := &gates{store: s, running: func(string) bool { return false }, now: time.Now, changed: &bell{}, log: zap.NewNop()}
	n, req := 0, &gatev1.ListDecisionsRequest{PageSize: 3}
	for pages := 1; ; pages++ {
		res, err := g.ListDecisions(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		n += len(res.GetDecisions())
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			if n != 7 || pages != 3 {
				t.Errorf("%d decisions on %d pages", n, pages)
			}
			break
		}
	}
	if _, err := g.ListDecisions(context.Background(), &gatev1.ListDecisionsRequest{PageToken: "!"}); fixture.CodeOf(err) != fixture.CodeInvalid {
		t.Errorf("a token of somebody else: %v", err)
	}
}

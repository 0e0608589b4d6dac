//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/grpc/status"

	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server"
)

// R14, R29: calls that are cancelled at any instant leave no goroutine, process, replay under way or staged block, and a run that
// was cancelled is no pass.
func TestCampaignCancels(t *testing.T) {
	c := campaign.Begin(t, 1000, 50)
	h := newSocketHouse(t, func(c *server.Config) {
		c.Checkers["launched"] = server.CheckerConfig{Sandbox: "off", Command: []string{os.Args[0], "faulty", "right", filepath.Join(t.TempDir(), "pids")}}
		c.Limits.Replays, c.Limits.MessageBytes = 32, 4<<20
	})
	x := &canceller{t: t, h: h, seen: map[string]int{}}
	const together = 5
	for batch := 0; ; batch++ {
		x.held = batch%2 == 0 // the checker does not come to an end, so that nothing can pass
		goOn := func() {}
		if x.held {
			goOn = h.checker.stopAnswers()
		}
		var all sync.WaitGroup
		n := 0
		for ; n < together && c.Next(); n++ {
			round, random := c.Round(), rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
			all.Go(func() { x.one(round, random) })
		}
		all.Wait()
		goOn()
		x.settles()
		if n < together {
			break
		}
	}
	t.Logf("what came of them: %v", x.seen)
	if _, err := h.store.Verify(t.Context(), func(err error) error { t.Errorf("damage: %v", err); return nil }); err != nil {
		t.Error(err)
	}
	h.stop()
	db, err := bolt.Open(h.path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error {
		if k, _ := tx.Bucket([]byte("staging")).Cursor().First(); k != nil {
			t.Errorf("a staged block is left: %x", k)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// canceller cancels calls, several at once.
type canceller struct {
	t    *testing.T
	h    *house
	held bool

	mu       sync.Mutex // guards the rest
	seen     map[string]int
	releases []cancelled // of this batch
}

// cancelled is a release whose run was begun.
type cancelled struct {
	release string
	never   bool // it can have no pass: the server has said that it is cancelled, or it cannot have come to its end
}

func (x *canceller) note(what string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	x.seen[what+" "+status.Code(err).String()]++
}

func (x *canceller) tried(release string, never bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releases = append(x.releases, cancelled{release, never})
}

// one makes one call, which is cancelled at a random instant.
func (x *canceller) one(round int, r *rand.Rand) {
	as := func(who string) (context.Context, context.CancelFunc) { return context.WithCancel(x.h.as(x.t, who)) }
	after := time.Duration(r.IntN(12_000)) * time.Microsecond
	switch kind := r.IntN(8); kind {
	case 0, 1:
		ctx, cancel := as("author")
		defer cancel()
		x.note("commit", x.commit(ctx, cancel, round, r))
	case 2, 3, 4:
		ctx, cancel := as("submitter")
		defer cancel()
		req := request(fmt.Sprint("attached-", round), 10)
		if kind == 4 {
			req.Candidate = named("launched")
			after *= 20
		}
		defer time.AfterFunc(after, cancel).Stop()
		_, err := endOf(ctx, x.h.conn, req)
		x.note("replay", err)
		x.tried(req.GetRelease(), x.held)
	case 5, 6:
		x.detached(round, r, after)
	case 7:
		ctx, cancel := as("reader")
		defer cancel()
		defer time.AfterFunc(after, cancel).Stop()
		stream, err := gatev1.NewGateServiceClient(x.h.conn).WatchGate(ctx, &gatev1.WatchGateRequest{Release: "r", Sets: []string{"notes"}})
		for err == nil {
			_, err = stream.Recv()
		}
		x.note("watch", err)
	}
}

// commit sends some of the parts of a commit, and goes away. One in five is large enough to be staged.
func (x *canceller) commit(ctx context.Context, cancel func(), round int, r *rand.Rand) error {
	client := fixturev1.NewFixtureServiceClient(x.h.conn)
	stream, err := client.CommitVersion(ctx)
	if err != nil {
		return err
	}
	config := &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep"}}
	parts, n, text := 1+r.IntN(8), 4, "small"
	stop := r.IntN(parts + 5) // the last two are not cancelled
	if r.IntN(5) == 0 {
		parts, n, text, stop = 9, 20, strings.Repeat("large ", 20_000), 8+r.IntN(5)
	}
	send := func(part *fixturev1.CommitVersionRequest) {
		if stop == 0 {
			cancel()
		}
		stop--
		_ = stream.Send(part) // the answer says why
	}
	send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: fmt.Sprint("set-", round), Reason: "test", Config: config}}})
	for p := range parts {
		entries := &fixturev1.CommitEntries{}
		for i := range n {
			entries.Entries = append(entries.Entries, &fixturev1.CommitEntry{Fixture: fmt.Appendf(nil,
				`{"fixture_id":"f-%02d-%02d","source_row_id":"row","verdict":"keep","reason_code":"new","decided_at":"2026-02-14T09:12:00Z","N":1,"text":%q}`, p, i, text)})
		}
		send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Entries{Entries: entries}})
	}
	send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: uint64(parts * n)}}})
	if stop == 0 {
		cancel()
	}
	_, err = stream.CloseAndRecv()
	return err
}

// detached begins a replay that goes on by itself, goes away from it, and in half the cases has it cancelled.
func (x *canceller) detached(round int, r *rand.Rand, after time.Duration) {
	ctx, cancel := context.WithCancel(x.h.as(x.t, "submitter"))
	defer cancel()
	req := request(fmt.Sprint("detached-", round), 10)
	req.Detach = true
	stream, err := replayv1.NewReplayServiceClient(x.h.conn).Replay(ctx, req)
	id := ""
	if err == nil {
		var res *replayv1.ReplayResponse
		res, err = stream.Recv()
		id = res.GetStarted().GetReplayId()
	}
	if err != nil {
		x.t.Errorf("begin a detached replay: %v", err)
		return
	}
	gone := time.AfterFunc(after, cancel)
	defer gone.Stop()
	said := fmt.Errorf("not asked for")
	if r.IntN(2) == 0 {
		<-time.After(time.Duration(r.IntN(6000)) * time.Microsecond)
		_, said = replayv1.NewReplayServiceClient(x.h.conn).CancelReplay(x.h.as(x.t, "submitter"), &replayv1.CancelReplayRequest{ReplayId: id})
		x.note("cancel", said)
	}
	x.tried(req.GetRelease(), said == nil)
	watch, err := replayv1.NewReplayServiceClient(x.h.conn).WatchReplay(ctx, &replayv1.WatchReplayRequest{ReplayId: id})
	for err == nil {
		_, err = watch.Recv()
	}
	x.note("watch", err)
}

// settles holds that nothing of a batch is under way any more, and how its releases stand.
func (x *canceller) settles() {
	x.t.Helper()
	running := func() int {
		res, err := replayv1.NewReplayServiceClient(x.h.conn).ListReplays(x.h.as(x.t, "reader"), &replayv1.ListReplaysRequest{State: replayv1.State_STATE_RUNNING})
		if err != nil {
			x.t.Fatal(err)
		}
		return len(res.GetReplays())
	}
	if !eventually(func() bool { return running() == 0 && handlers() == 0 && len(children()) == 0 }) {
		x.t.Errorf("left: %d replays, %d handlers, processes %v", running(), handlers(), children())
	}
	for _, one := range x.releases {
		res := x.h.status(x.t, &gatev1.GetGateStatusRequest{Release: one.release, Sets: []string{"notes"}})
		d := res.GetSets()[0].GetDecision()
		x.checkGone(one.release)
		x.seen["stands "+res.GetStatus().String()]++
		if res.GetStatus() == gatev1.Status_STATUS_PASS && (one.never || !retrial.Passed(d) || d.GetExpected() != 20 || d.GetConfirmed() != 20) {
			x.t.Errorf("%s passes (cancelled: %t): %v", one.release, one.never, d)
		}
	}
	x.releases = nil
}

// checkGone holds that the server does not keep a replay among those that are under way: it takes it out when it is recorded.
func (x *canceller) checkGone(release string) {
	x.t.Helper()
	client := replayv1.NewReplayServiceClient(x.h.conn)
	res, err := client.ListReplays(x.h.as(x.t, "reader"), &replayv1.ListReplaysRequest{Release: release})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, r := range res.GetReplays() {
		var err error
		if !eventually(func() bool {
			_, err = client.CancelReplay(x.h.as(x.t, "submitter"), &replayv1.CancelReplayRequest{ReplayId: r.GetReplayId()})
			return strings.Contains(status.Convert(err).Message(), "it is not under way")
		}) {
			x.t.Errorf("replay %s is %s, and to cancel it gives %v", r.GetReplayId(), r.GetState(), err)
		}
	}
}

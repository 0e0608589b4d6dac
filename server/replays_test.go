package server_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/retrial"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// watch reads the events of a replay behind a position, but for progress, up to the end of the stream or as many as most.
func (h *house) watch(t *testing.T, id string, after uint64, most int) (events []*replayv1.WatchReplayResponse, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(h.as(t, "reader"), time.Minute)
	defer cancel()
	stream, err := replayv1.NewReplayServiceClient(h.conn).WatchReplay(ctx, &replayv1.WatchReplayRequest{ReplayId: id, AfterPosition: after})
	if err != nil {
		return nil, err
	}
	for len(events) < most {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		if e.GetProgress() == nil {
			events = append(events, e)
		}
	}
	return events, nil
}

// begin starts a replay and gives its first event; leave lets go of the stream.
func (h *house) begin(t *testing.T, by string, req *replayv1.ReplayRequest) (started *replayv1.Started, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(h.as(t, by))
	t.Cleanup(cancel)
	stream, err := replayv1.NewReplayServiceClient(h.conn).Replay(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.GetStarted() == nil {
		t.Fatalf("got %v, %v", first, err)
	}
	return first.GetStarted(), cancel
}

func (h *house) replay(t *testing.T, id string) *replayv1.ReplayRecord {
	t.Helper()
	res, err := replayv1.NewReplayServiceClient(h.conn).GetReplay(h.as(t, "reader"), &replayv1.GetReplayRequest{ReplayId: id})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetReplay()
}

// A detached replay goes on where its caller goes away; whoever watches resumes behind what they have seen, while it runs and
// after it has ended, and sees the same.
func TestDetachedReplayIsFoundAgain(t *testing.T) {
	h := newHouse(t, nil)
	goOn := h.checker.stopAnswers()
	defer goOn()
	req := request("v1", 7)
	req.Detach = true
	started, leave := h.begin(t, "submitter", req)
	leave()
	if r := h.replay(t, started.GetReplayId()); r.GetState() != replayv1.State_STATE_RUNNING || r.GetSubmittedBy() != "submitter" {
		t.Errorf("after its caller left: %v", r)
	}
	first, err := h.watch(t, started.GetReplayId(), 0, 1)
	if err != nil || len(first) != 1 || first[0].GetPosition() != 1 || !proto.Equal(first[0].GetStarted(), started) {
		t.Fatalf("got %v, %v", first, err)
	}
	goOn()
	rest, err := h.watch(t, started.GetReplayId(), 1, 100)
	if err != nil || len(rest) != 4 || rest[3].GetDecision().GetFlipped() != 3 {
		t.Fatalf("got %v, %v", rest, err)
	}
	whole := slices.Concat(first, rest)
	for after := range whole {
		again, err := h.watch(t, started.GetReplayId(), uint64(after), 100)
		if err != nil || len(again) != len(whole)-after {
			t.Fatalf("behind %d: %d events, %v", after, len(again), err)
		}
		for i, e := range again {
			if want := whole[after+i]; e.GetPosition() != want.GetPosition() || !proto.Equal(e, want) {
				t.Errorf("behind %d: got %v, want %v", after, e, want)
			}
		}
	}
	h.wantStatus(t, "v1", block, "FLIP")
}

// R29: a replay whose caller goes away is cancelled, unless it is detached; the release is then blocked.
func TestR29CallerThatLeavesCancels(t *testing.T) {
	h := newHouse(t, nil)
	defer h.checker.stopAnswers()()
	started, leave := h.begin(t, "submitter", request("v1", 10))
	leave()
	events, err := h.watch(t, started.GetReplayId(), 0, 100)
	if err != nil || events[len(events)-1].GetDecision().GetRuling() != gatev1.Ruling_RULING_BLOCK {
		t.Fatalf("got %v, %v", events, err)
	}
	h.wantStatus(t, "v1", block, "RUN_CANCELLED")
}

func TestCancelReplay(t *testing.T) {
	h := newHouse(t, nil)
	defer h.checker.stopAnswers()()
	client := replayv1.NewReplayServiceClient(h.conn)
	for _, by := range []string{"submitter", "admin"} {
		req := request("v1", 10)
		req.Detach = true
		started, _ := h.begin(t, "submitter", req)
		cancel := &replayv1.CancelReplayRequest{ReplayId: started.GetReplayId()}
		_, err := client.CancelReplay(h.as(t, "other"), cancel)
		wantStatusCode(t, err, codes.PermissionDenied, "submitter asked for it")
		if _, err := client.CancelReplay(h.as(t, by), cancel); err != nil {
			t.Fatal(err)
		}
		if events, err := h.watch(t, started.GetReplayId(), 0, 100); err != nil || events[len(events)-1].GetDecision().GetCauses()[0].GetCode() != "RUN_CANCELLED" {
			t.Errorf("got %v, %v", events, err)
		}
		_, err = client.CancelReplay(h.as(t, by), cancel)
		wantStatusCode(t, err, codes.FailedPrecondition, "not under way")
	}
	_, err := client.CancelReplay(h.as(t, "admin"), &replayv1.CancelReplayRequest{ReplayId: "r-0"})
	wantStatusCode(t, err, codes.NotFound, "no such replay")
}

// Of many requests with one key one runs, and all see it; another request with that key is refused, and another caller's key
// is another key.
func TestIdempotencyKey(t *testing.T) {
	h := newHouse(t, nil)
	req := func() *replayv1.ReplayRequest {
		r := request("v1", 8)
		r.IdempotencyKey = "build-7"
		return r
	}
	var wg sync.WaitGroup
	decisions := make([]*gatev1.Decision, 8)
	for i := range decisions {
		wg.Go(func() {
			var err error
			if decisions[i], err = decision(h, t, "submitter", req()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, d := range decisions {
		if d.GetReplayId() != decisions[0].GetReplayId() || d.GetFlipped() != 2 {
			t.Errorf("got %v and %v", d, decisions[0])
		}
	}
	other := req()
	other.Release = "v2"
	if _, err := decision(h, t, "submitter", other); status.Code(err) != codes.AlreadyExists {
		t.Errorf("another request: %v", err)
	}
	if d, err := decision(h, t, "other", req()); err != nil || d.GetReplayId() == decisions[0].GetReplayId() {
		t.Errorf("another caller: %v, %v", d.GetReplayId(), err)
	}
	list, err := replayv1.NewReplayServiceClient(h.conn).ListReplays(h.as(t, "reader"), &replayv1.ListReplaysRequest{State: replayv1.State_STATE_DECIDED})
	if err != nil || len(list.GetReplays()) != 2 {
		t.Errorf("%d replays, %v", len(list.GetReplays()), err)
	}
}

func decision(h *house, t *testing.T, by string, req *replayv1.ReplayRequest) (*gatev1.Decision, error) {
	r, err := retrial.StartReplay(h.as(t, by), h.conn, req)
	if err != nil {
		return nil, err
	}
	for range r.Events() {
	}
	return r.Decision()
}

// A replay that the end of its server cuts is cancelled and recorded; one that a crash cuts is known as such, and its key
// starts nothing.
func TestReplaysOfAServerThatEnds(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Limits.StopTimeout = 50 * time.Millisecond })
	goOn := h.checker.stopAnswers()
	defer goOn()
	req := request("v1", 10)
	req.Detach = true
	started, leave := h.begin(t, "submitter", req)
	leave()
	h.stop()
	h.start(t)
	if r := h.replay(t, started.GetReplayId()); r.GetState() != replayv1.State_STATE_DECIDED || r.GetDecision().GetCauses()[0].GetCode() != "RUN_CANCELLED" {
		t.Errorf("got %v", r)
	}
	h.wantStatus(t, "v1", block, "RUN_CANCELLED")
}

// Lists of replays come in pages, by state, in one order, without a gap.
func TestListReplaysPages(t *testing.T) {
	h := newHouse(t, nil)
	for i := range 7 {
		h.run(t, request("v1", 10-i%2))
	}
	client, seen := replayv1.NewReplayServiceClient(h.conn), map[string]bool{}
	for _, state := range []replayv1.State{replayv1.State_STATE_UNSPECIFIED, replayv1.State_STATE_DECIDED, replayv1.State_STATE_FAILED} {
		clear(seen)
		req := &replayv1.ListReplaysRequest{PageSize: 3, State: state, Release: "v1"}
		for {
			res, err := client.ListReplays(h.as(t, "reader"), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.GetReplays() {
				if seen[r.GetReplayId()] {
					t.Errorf("%s twice", r.GetReplayId())
				}
				seen[r.GetReplayId()] = true
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if want := map[bool]int{true: 0, false: 7}[state == replayv1.State_STATE_FAILED]; len(seen) != want {
			t.Errorf("%s: %d of %d", state, len(seen), want)
		}
	}
}

//go:build linux

package server_test

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server"
)

// readersOfAKind is how many readers there are of each kind at once.
func readersOfAKind() int {
	if campaign.Full() {
		return 40
	}
	return 8
}

// Readers that answer pings and never read what is sent to them are given up: no handler, slot or goroutine of theirs stays,
// although their connections are still there.
func TestCampaignReaders(t *testing.T) {
	n := readersOfAKind()
	h := newSocketHouse(t, func(c *server.Config) { c.Limits.SendTimeout, c.Limits.Replays = time.Second, n })
	logged, logs := observer.New(zap.DebugLevel)
	h.log = zap.New(logged)
	rot(t, h)
	before := handlers()
	if before != 0 {
		t.Fatalf("%d handlers before there is a call", before)
	}
	ended := request("ended", 0)
	ended.Set = "large"
	d := h.run(t, ended)
	var sets []string
	for i := range 900 {
		sets = append(sets, fmt.Sprintf("there-is-no-set-of-this-name-%030d", i))
	}
	all := []struct {
		name, method, as string
		request          func(i int) proto.Message
		then             func()
		atOnce           int // the others are refused; 0: all
	}{
		{name: "DiffVersions", method: fixturev1.FixtureService_DiffVersions_FullMethodName, as: "reader", request: func(int) proto.Message {
			return &fixturev1.DiffVersionsRequest{Set: "large", From: 1, To: 2}
		}},
		{name: "VerifyStore", method: fixturev1.FixtureService_VerifyStore_FullMethodName, as: "auditor", atOnce: 2, request: func(int) proto.Message { return &fixturev1.VerifyStoreRequest{} }},
		{name: "WatchReplay", method: replayv1.ReplayService_WatchReplay_FullMethodName, as: "reader", request: func(int) proto.Message {
			return &replayv1.WatchReplayRequest{ReplayId: d.GetReplayId()}
		}},
		{name: "Replay", method: replayv1.ReplayService_Replay_FullMethodName, as: "submitter", request: func(i int) proto.Message {
			req := request(fmt.Sprint("unread-", i), 0)
			req.Set = "large"
			return req
		}},
		{name: "WatchGate", method: gatev1.GateService_WatchGate_FullMethodName, as: "reader", request: func(int) proto.Message {
			return &gatev1.WatchGateRequest{Release: "ended", Sets: append(sets, "notes")}
		}, then: func() { h.push(t, "author", 1, nil, ids(0, 21)...) }},
	}
	for _, kind := range all {
		t.Run(kind.name, func(t *testing.T) {
			var conns []*rawConn
			var reading sync.WaitGroup
			defer reading.Wait()
			begun := make(chan error, n)
			for i := range n {
				b, err := proto.Marshal(kind.request(i))
				if err != nil {
					t.Fatal(err)
				}
				c := h.neverReads(t, kind.method, h.tokens[kind.as], b)
				defer c.Close()
				conns = append(conns, c)
				reading.Go(func() { c.answerPings(begun) })
			}
			for range conns {
				if err := <-begun; err != nil {
					t.Fatal(err)
				}
			}
			if kind.then != nil {
				kind.then()
			}
			if !eventually(func() bool { return handlers() == 0 }) {
				t.Errorf("%d handlers of %d readers are left", handlers(), n)
			}
			if got := logs.FilterField(zap.String("method", kind.method)).FilterField(zap.Stringer("code", codes.Unavailable)).Len(); got < cmp.Or(kind.atOnce, n) || got > n {
				t.Errorf("%d of %d readers were given up", got, n)
			}
			h.slotsAreBack(t, n)
			for i := range n {
				if kind.name == "Replay" {
					if res := h.status(t, &gatev1.GetGateStatusRequest{Release: fmt.Sprint("unread-", i), Sets: []string{"large"}}); res.GetStatus() == gatev1.Status_STATUS_PASS {
						t.Errorf("unread-%d passes", i)
					}
				}
			}
		})
	}
}

// rot fills a store with two versions of a large set, and a set of which every fixture is damaged.
func rot(t *testing.T, h *house) {
	t.Helper()
	h.pushText(t, "large", 0, strings.Repeat("first ", 300))
	h.pushText(t, "large", 1, strings.Repeat("other ", 300))
	h.pushText(t, "rotten", 0, "sound")
	h.stop()
	db, err := bolt.Open(h.path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("objects"))
		changed := map[string][]byte{}
		if err := b.ForEach(func(k, v []byte) error {
			if bytes.Contains(v, []byte(`"sound"`)) {
				changed[string(k)] = bytes.Replace(v, []byte("sound"), []byte("SOUND"), 1)
			}
			return nil
		}); err != nil {
			return err
		}
		for k, v := range changed {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	h.start(t)
}

// pushText commits 1000 fixtures with this text.
func (h *house) pushText(t *testing.T, set string, parent uint64, text string) {
	t.Helper()
	const n = 1000
	entries := &fixturev1.CommitEntries{}
	for i := range n {
		entries.Entries = append(entries.Entries, &fixturev1.CommitEntry{Fixture: fmt.Appendf(nil,
			`{"fixture_id":"f-%04d","source_row_id":"row","verdict":"keep","reason_code":"new","decided_at":"2026-02-14T09:12:00Z","N":1,"text":%q}`, i, text)})
	}
	config := &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep"}}
	stream, err := fixturev1.NewFixtureServiceClient(h.conn).CommitVersion(h.as(t, "author"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []*fixturev1.CommitVersionRequest{
		{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: set, Parent: parent, Reason: "test", Config: config}}},
		{Part: &fixturev1.CommitVersionRequest_Entries{Entries: entries}},
		{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: n}}},
	} {
		if err := stream.Send(part); err != nil {
			break // the answer says why
		}
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
}

// neverReads makes a call with a window of one byte, which is never opened.
func (h *house) neverReads(t *testing.T, method, token string, payload []byte) *rawConn {
	t.Helper()
	c, err := h.raw(t.Context(), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := speak(c, 1, asked(method, token), message(0, uint32(len(payload)), payload)); err != nil {
		t.Fatal(err)
	}
	return c
}

// answerPings reads frames, opens no window, and says when the server has begun to answer.
func (c *rawConn) answerPings(begun chan<- error) {
	said := false
	for {
		frame, err := c.ReadFrame()
		if err == nil {
			switch f := frame.(type) {
			case *http2.SettingsFrame:
				if !f.IsAck() {
					err = c.WriteSettingsAck()
				}
			case *http2.PingFrame:
				if !f.IsAck() {
					err = c.WritePing(true, f.Data)
				}
			case *http2.RSTStreamFrame, *http2.GoAwayFrame:
				err = fmt.Errorf("the call ends: %v", f)
			case *http2.MetaHeadersFrame:
				if !said && f.StreamEnded() {
					err = fmt.Errorf("the call ends: %v", f.Fields)
				} else if !said {
					said = true
					begun <- nil
				}
			}
		}
		if err != nil {
			if !said {
				begun <- err
			}
			return
		}
	}
}

// handlers counts the goroutines that are in a handler of the server, or send for one.
func handlers() (n int) {
	b := make([]byte, 4<<20)
	for stack := range bytes.SplitSeq(b[:runtime.Stack(b, true)], []byte("\n\n")) {
		if bytes.Contains(stack, []byte("retrial/server.(*")) && (bytes.Contains(stack, []byte("_Handler(")) || bytes.Contains(stack, []byte("watchedStream).SendMsg"))) {
			n++
		}
	}
	return n
}

// slotsAreBack holds that as many replays run at once as the server admits.
func (h *house) slotsAreBack(t *testing.T, n int) {
	t.Helper()
	goOn := h.checker.stopAnswers()
	defer goOn()
	var all sync.WaitGroup
	for range n {
		r, err := retrial.StartReplay(h.as(t, "submitter"), h.conn, request("", 10))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range r.Events() {
			}
			if _, err := r.Decision(); err != nil {
				t.Errorf("a replay when the readers are gone: %v", err)
			}
		})
	}
	running := func() bool {
		res, err := replayv1.NewReplayServiceClient(h.conn).ListReplays(h.as(t, "reader"), &replayv1.ListReplaysRequest{State: replayv1.State_STATE_RUNNING})
		return err == nil && len(res.GetReplays()) == n
	}
	if !eventually(running) {
		t.Errorf("not all of %d slots are back", n)
	}
	goOn()
	all.Wait()
}

package retrial_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"
)

// fakeLog is a log in memory that a test can tamper with.
type fakeLog struct {
	logv1.UnimplementedLogServiceServer
	signer note.Signer
	key    string
	leaves [][]byte
	hashes []tlog.Hash
}

func newFakeLog(t *testing.T) *fakeLog {
	t.Helper()
	private, public, err := note.GenerateKey(nil, "retrial.dev/log")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return &fakeLog{signer: signer, key: public}
}

func (l *fakeLog) ReadHashes(indexes []int64) (out []tlog.Hash, err error) {
	for _, i := range indexes {
		out = append(out, l.hashes[i])
	}
	return out, nil
}

func (l *fakeLog) add(t *testing.T, leaf []byte) {
	t.Helper()
	hashes, err := tlog.StoredHashes(int64(len(l.leaves)), leaf, l)
	if err != nil {
		t.Fatal(err)
	}
	l.leaves, l.hashes = append(l.leaves, leaf), append(l.hashes, hashes...)
}

func (l *fakeLog) GetCheckpoint(_ context.Context, req *logv1.GetCheckpointRequest) (*logv1.GetCheckpointResponse, error) {
	out := &logv1.GetCheckpointResponse{VerifierKey: l.key}
	if req.GetOldSize() > 0 {
		proof, err := tlog.ProveTree(int64(req.GetSize()), int64(req.GetOldSize()), l)
		if err != nil {
			return nil, err
		}
		for _, h := range proof {
			out.Consistency = append(out.Consistency, h[:])
		}
	}
	return out, nil
}

// answer makes an answer of the gate about a decision that the log gets.
func (l *fakeLog) answer(t *testing.T, id string) *gatev1.GetGateStatusResponse {
	t.Helper()
	return l.answerWith(t, l.decision(id))
}

func (l *fakeLog) decision(id string) *gatev1.Decision {
	return &gatev1.Decision{ReplayId: id, Release: "v1", Set: "s", Ruling: gatev1.Ruling_RULING_PASS, Summary: "release passed"}
}

// answerWith makes a pass by a decision that the log gets.
func (l *fakeLog) answerWith(t *testing.T, d *gatev1.Decision) *gatev1.GetGateStatusResponse {
	t.Helper()
	id := d.GetReplayId()
	b, err := proto.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(map[string]any{"id": id, "decision": b})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(record)
	l.add(t, fmt.Appendf(nil, `{"kind":"decision","subject":%q,"record":%q}`, id, hex.EncodeToString(sum[:])))
	n := int64(len(l.leaves))
	proof, err := tlog.ProveRecord(n, n-1, l)
	if err != nil {
		t.Fatal(err)
	}
	p := &logv1.InclusionProof{Entry: &logv1.Entry{Index: uint64(n - 1), Leaf: l.leaves[n-1]}, Size: uint64(n), Record: record}
	for _, h := range proof {
		p.Hashes = append(p.Hashes, h[:])
	}
	root, err := tlog.TreeHash(n, l)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := checkpoint.Sign(checkpoint.Checkpoint{Origin: "retrial.dev/log", Tree: tlog.Tree{N: n, Hash: root}}, l.signer)
	if err != nil {
		t.Fatal(err)
	}
	return &gatev1.GetGateStatusResponse{Release: "v1", Status: gatev1.Status_STATUS_PASS, Checkpoint: signed,
		Sets: []*gatev1.SetStanding{{Set: "s", Status: gatev1.Status_STATUS_PASS, Decision: d, Proof: p}}}
}

func (l *fakeLog) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	listener, s := bufconn.Listen(1<<16), grpc.NewServer()
	logv1.RegisterLogServiceServer(s, l)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:log", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if err := errors.Join(conn.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// An answer holds only if it is in the log, as it is, under the key and behind the log that were pinned.
func TestCheckGate(t *testing.T) {
	l := newFakeLog(t)
	conn := l.dial(t)
	asked := &gatev1.GetGateStatusRequest{Release: "v1", Sets: []string{"s"}}
	check := func(res *gatev1.GetGateStatusResponse, pin retrial.Pin) (retrial.Pin, error) {
		return retrial.CheckGate(t.Context(), conn, asked, res, pin)
	}
	for i := range 5 {
		l.add(t, []byte(fmt.Sprint("older ", i)))
	}
	pin, err := check(l.answer(t, "r-1"), retrial.Pin{})
	if err != nil || pin.Size != 6 || pin.Key != l.key {
		t.Fatalf("the first answer: %+v, %v", pin, err)
	}
	again := l.answer(t, "r-2")
	later, err := check(again, pin)
	if err != nil || later.Size != 7 {
		t.Fatalf("the second: %+v, %v", later, err)
	}
	if same, err := check(again, later); err != nil || same != later {
		t.Errorf("the same once more: %+v, %v", same, err)
	}
	for name, tamper := range map[string]func(*gatev1.GetGateStatusResponse){
		"another decision":     func(r *gatev1.GetGateStatusResponse) { r.Sets[0].Decision.Summary = "release blocked" },
		"another record":       func(r *gatev1.GetGateStatusResponse) { r.Sets[0].Proof.Record = []byte(`{}`) },
		"an edited checkpoint": func(r *gatev1.GetGateStatusResponse) { r.Checkpoint[20] ^= 1 },
		"another hash":         func(r *gatev1.GetGateStatusResponse) { r.Sets[0].Proof.Hashes[0][0] ^= 1 },
		"a cut hash":           func(r *gatev1.GetGateStatusResponse) { r.Sets[0].Proof.Hashes[0] = []byte("abc") },
		"no proof":             func(r *gatev1.GetGateStatusResponse) { r.Sets[0].Proof = nil },
	} {
		bad := proto.CloneOf(again)
		tamper(bad)
		if _, err := check(bad, later); !errors.Is(err, retrial.ErrTampered) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Decisions that are in the log, on which no pass rests.
	logged := func(change func(*gatev1.Decision)) *gatev1.GetGateStatusResponse {
		d := l.decision("r-4")
		change(d)
		return l.answerWith(t, d)
	}
	for name, bad := range map[string]*gatev1.GetGateStatusResponse{
		"of another release": logged(func(d *gatev1.Decision) { d.Release = "v0" }),
		"of another set":     logged(func(d *gatev1.Decision) { d.Set = "t" }),
		"that blocks":        logged(func(d *gatev1.Decision) { d.Ruling = gatev1.Ruling_RULING_BLOCK }),
		"over some":          logged(func(d *gatev1.Decision) { d.Partial = true }),
	} {
		if _, err := check(bad, later); !errors.Is(err, retrial.ErrTampered) {
			t.Errorf("a pass by a decision %s: %v", name, err)
		}
	}
	waived := logged(func(d *gatev1.Decision) { d.Ruling = gatev1.Ruling_RULING_BLOCK })
	waived.Sets[0].Waivers = []*gatev1.Waiver{{WaiverId: "w-1"}}
	if _, err := check(waived, later); err != nil {
		t.Errorf("a pass by a waiver: %v", err)
	}
	nothing := proto.CloneOf(again)
	nothing.Sets = nil
	if _, err := retrial.CheckGate(t.Context(), conn, &gatev1.GetGateStatusRequest{Release: "v1"}, nothing, later); !errors.Is(err, retrial.ErrTampered) {
		t.Errorf("a pass over nothing, where all was asked for: %v", err)
	}
	for name, question := range map[string]*gatev1.GetGateStatusRequest{
		"another release": {Release: "v2", Sets: []string{"s"}}, "a set more": {Release: "v1", Sets: []string{"s", "t"}},
	} {
		if _, err := retrial.CheckGate(t.Context(), conn, question, again, later); !errors.Is(err, retrial.ErrTampered) {
			t.Errorf("asked for %s: %v", name, err)
		}
	}
	for name, unfounded := range map[string]func(*gatev1.GetGateStatusResponse){
		"no set":      func(r *gatev1.GetGateStatusResponse) { r.Sets = nil },
		"no decision": func(r *gatev1.GetGateStatusResponse) { r.Sets[0].Decision = nil },
		"a waiver of no decision": func(r *gatev1.GetGateStatusResponse) {
			r.Sets[0].Decision, r.Sets[0].Waivers = nil, waived.GetSets()[0].GetWaivers()
		},
		"no decision, in an answer that blocks": func(r *gatev1.GetGateStatusResponse) {
			r.Status, r.Sets[0].Decision = gatev1.Status_STATUS_BLOCK, nil
		},
		"a set that does not pass": func(r *gatev1.GetGateStatusResponse) {
			r.Sets = append(r.Sets, &gatev1.SetStanding{Set: "t", Status: gatev1.Status_STATUS_UNKNOWN})
		},
	} {
		bad := proto.CloneOf(again)
		unfounded(bad)
		if _, err := check(bad, later); !errors.Is(err, retrial.ErrTampered) {
			t.Errorf("a pass with %s: %v", name, err)
		}
	}
	// A decision that is in the log, shown as that of another replay.
	swapped := proto.CloneOf(again)
	swapped.Sets[0].Decision.ReplayId = "r-3"
	if _, err := check(swapped, later); !errors.Is(err, retrial.ErrTampered) {
		t.Errorf("another's proof: %v", err)
	}
	// Another key, and a server that went back.
	if _, err := check(newFakeLog(t).answer(t, "r-1"), retrial.Pin{Key: l.key}); !errors.Is(err, retrial.ErrTampered) {
		t.Errorf("another key: %v", err)
	}
	l.leaves, l.hashes = nil, nil
	short := l.answer(t, "r-9")
	if _, err := check(short, later); !errors.Is(err, retrial.ErrTampered) || !strings.Contains(err.Error(), "went back") {
		t.Errorf("a shorter log: %v", err)
	}
	for i := range 6 {
		l.add(t, []byte(fmt.Sprint("rewritten ", i)))
	}
	if _, err := check(l.answer(t, "r-9"), later); !errors.Is(err, retrial.ErrTampered) || !strings.Contains(err.Error(), "do not extend") {
		t.Errorf("a rewritten log: %v", err)
	}
	l.leaves, l.hashes = nil, nil
	for i := range 6 {
		l.add(t, []byte(fmt.Sprint("rewritten ", i)))
	}
	if _, err := check(l.answer(t, "r-9"), later); !errors.Is(err, retrial.ErrTampered) || !strings.Contains(err.Error(), "not those that were pinned") {
		t.Errorf("a rewritten log of the same size: %v", err)
	}
}

package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

const (
	pass    = gatev1.Status_STATUS_PASS
	block   = gatev1.Status_STATUS_BLOCK
	unknown = gatev1.Status_STATUS_UNKNOWN
)

func wantStatusCode(t *testing.T, err error, want codes.Code, mention string) {
	t.Helper()
	if status.Code(err) != want || !strings.Contains(err.Error(), mention) {
		t.Errorf("got %v, want %s with %q", err, want, mention)
	}
}

// R29: a required set that is not there, or was not tried, keeps the whole from passing; it is UNKNOWN, and not absent.
func TestR29RequiredSets(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.RequiredSets = []string{"notes", "other"} })
	h.run(t, request("v1", 10))
	for _, sets := range [][]string{nil, {"notes"}} {
		res := h.status(t, &gatev1.GetGateStatusRequest{Release: "v1", Sets: sets})
		if res.GetStatus() != unknown || len(res.GetSets()) != 2 || res.GetSets()[0].GetStatus() != pass ||
			res.GetSets()[1].GetSet() != "other" || !res.GetSets()[1].GetRequired() || res.GetSets()[1].GetCauses()[0].GetCode() != "NO_SET" {
			t.Errorf("with %q: %v", sets, res)
		}
	}
}

// A pass counts for as long as the policy says, to the second.
func TestEvidenceExpires(t *testing.T) {
	h := newHouse(t, nil)
	h.push(t, "author", 1, func(c *fixturev1.CommitHeader) {
		c.Config.Policy = &gatev1.Policy{EvidenceMaxAge: durationpb.New(time.Hour)}
	}, ids(0, 20)...)
	approve(t, h, 2)
	h.run(t, request("v1", 10))
	h.run(t, request("v2", 8))
	h.wantStatus(t, "v1", pass, "")
	res := h.status(t, &gatev1.GetGateStatusRequest{Release: "v1"})
	if end := res.GetSets()[0].GetEvidenceExpiresAt().AsTime(); !end.Equal(h.clock.now().Add(time.Hour)) {
		t.Errorf("it counts until %s", end)
	}
	h.clock.pass(time.Hour - time.Nanosecond)
	h.wantStatus(t, "v1", pass, "")
	h.clock.pass(time.Nanosecond)
	h.wantStatus(t, "v1", unknown, "EVIDENCE_EXPIRED")
	h.wantStatus(t, "v2", block, "FLIP") // what blocks, blocks however old it is
}

func approve(t *testing.T, h *house, version uint64) {
	t.Helper()
	v, err := fixturev1.NewFixtureServiceClient(h.conn).GetVersion(h.as(t, "reader"), &fixturev1.GetVersionRequest{Set: "notes", Selector: &fixturev1.GetVersionRequest_Number{Number: version}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fixturev1.NewFixtureServiceClient(h.conn).ApproveVersion(h.as(t, "approver"), &fixturev1.ApproveVersionRequest{
		Set: "notes", Version: version, Checksum: v.GetVersion().GetChecksum(), Reason: "looked at it"}); err != nil {
		t.Fatal(err)
	}
}

// What weakens the gate needs a second person (R18): until then no release passes, and its author cannot give it.
func TestR18FourEyes(t *testing.T) {
	h := newHouse(t, nil)
	client := fixturev1.NewFixtureServiceClient(h.conn)
	for name, change := range map[string]func(parent uint64) *fixturev1.Version{
		"a removal": func(parent uint64) *fixturev1.Version { return h.push(t, "ada", parent, nil, ids(0, 19)...) },
		"a policy": func(parent uint64) *fixturev1.Version {
			return h.push(t, "ada", parent, func(c *fixturev1.CommitHeader) {
				c.Config.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_BOUNDED, Bounds: map[string]uint32{"reason": 1}}
			}, ids(0, 20)...)
		},
		"an allowlist": func(parent uint64) *fixturev1.Version {
			return h.push(t, "ada", parent, func(c *fixturev1.CommitHeader) {
				c.Config.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_ALLOWLIST}
				c.Config.Allowlist = []*gatev1.AllowlistEntry{{FixtureId: "n-01", OldVerdict: "keep", OldReasonCode: "new", NewVerdict: "drop", NewReasonCode: "old",
					Reason: "r", Owner: "ada", ExpiresAt: timestamppb.New(h.clock.now().Add(time.Hour))}}
			}, ids(0, 20)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			newest, err := client.GetVersion(h.as(t, "reader"), &fixturev1.GetVersionRequest{Set: "notes"})
			if err != nil {
				t.Fatal(err)
			}
			v := change(newest.GetVersion().GetNumber())
			if v.GetAuthor() != "ada" || len(v.GetApprovalNeeded()) == 0 {
				t.Fatalf("got %v", v)
			}
			if name != "an allowlist" { // an entry that is not used blocks
				h.run(t, request(name, 10)) // a run alone says so too
				h.wantStatus(t, name, block, "VERSION_UNAPPROVED")
			}
			req := &fixturev1.ApproveVersionRequest{Set: "notes", Version: v.GetNumber(), Checksum: v.GetChecksum(), Reason: "fine"}
			_, err = client.ApproveVersion(h.as(t, "ada"), req)
			wantStatusCode(t, err, codes.PermissionDenied, "author")
			_, err = client.ApproveVersion(h.as(t, "author"), req)
			wantStatusCode(t, err, codes.PermissionDenied, "takes one of approver")
			approve(t, h, v.GetNumber())
			if name != "an allowlist" {
				h.wantStatus(t, name, block, "VERSION_UNAPPROVED") // it was tried before
				h.run(t, request(name, 10))
				h.wantStatus(t, name, pass, "")
			}
			// Back to where it was needs nobody.
			back := h.push(t, "author", v.GetNumber(), nil, ids(0, 20)...)
			if name == "a removal" && len(back.GetApprovalNeeded()) != 0 {
				t.Errorf("more fixtures need %v", back.GetApprovalNeeded())
			}
			if len(back.GetApprovalNeeded()) > 0 {
				approve(t, h, back.GetNumber())
			}
		})
	}
}

// The answer for an instant that is past is what it was then.
func TestStatusAsOf(t *testing.T) {
	h := newHouse(t, nil)
	var instants []time.Time
	mark := func() {
		instants = append(instants, h.clock.now())
		h.clock.pass(time.Minute)
	}
	mark() // never tried
	d := h.run(t, request("v1", 8))
	mark() // blocked
	w := waive(t, h, d, time.Hour)
	mark() // waived
	if _, err := gatev1.NewGateServiceClient(h.conn).RevokeWaiver(h.as(t, "approver"), &gatev1.RevokeWaiverRequest{WaiverId: w.GetWaiverId()}); err != nil {
		t.Fatal(err)
	}
	mark() // blocked again
	h.run(t, request("v1", 10))
	mark() // passed
	goOn := h.checker.stopAnswers()
	defer goOn()
	req := request("v1", 10)
	req.Detach = true
	started, _ := h.begin(t, "submitter", req)
	h.clock.pass(time.Minute)
	mark() // running then, whatever came of it since
	goOn()
	if _, err := h.watch(t, started.GetReplayId(), 0, 100); err != nil {
		t.Fatal(err)
	}
	mark() // passed again
	h.push(t, "author", 1, nil, ids(0, 21)...)
	mark() // outdated
	for i, want := range []gatev1.Status{unknown, block, pass, block, pass, unknown, pass, unknown} {
		res := h.status(t, &gatev1.GetGateStatusRequest{Release: "v1", AsOf: timestamppb.New(instants[i])})
		if res.GetStatus() != want {
			t.Errorf("as of %s: %s, want %s: %v", instants[i], res.GetStatus(), want, res.GetSets()[0].GetCauses())
		}
	}
	if res := h.status(t, &gatev1.GetGateStatusRequest{Release: "v1", AsOf: timestamppb.New(instants[0].Add(-time.Hour))}); res.GetStatus() != unknown {
		t.Errorf("before there was a set: %v", res)
	}
	_, err := gatev1.NewGateServiceClient(h.conn).GetGateStatus(h.as(t, "reader"), &gatev1.GetGateStatusRequest{Release: "v1", AsOf: timestamppb.New(h.clock.now().Add(time.Second))})
	wantStatusCode(t, err, codes.InvalidArgument, "has not come yet")
}

// waive grants a waiver over all flips of a decision.
func waive(t *testing.T, h *house, d *gatev1.Decision, lasts time.Duration) *gatev1.Waiver {
	t.Helper()
	res, err := gatev1.NewGateServiceClient(h.conn).GrantWaiver(h.as(t, "approver"), waiver(h, d, lasts))
	if err != nil {
		t.Fatal(err)
	}
	return res.GetWaiver()
}

func waiver(h *house, d *gatev1.Decision, lasts time.Duration) *gatev1.GrantWaiverRequest {
	req := &gatev1.GrantWaiverRequest{Release: d.GetRelease(), Set: d.GetSet(), ReplayId: d.GetReplayId(), Reason: "known", ExpiresAt: timestamppb.New(h.clock.now().Add(lasts))}
	for _, f := range d.GetFindings() {
		if f.GetCode() == "FLIP" {
			req.Flips = append(req.Flips, &gatev1.WaivedFlip{FixtureId: f.GetSubject(), NewVerdict: f.GetNew().GetVerdict(), NewReasonCode: f.GetNew().GetReasonCode()})
		}
	}
	return req
}

func TestWaivers(t *testing.T) {
	h := newHouse(t, nil)
	client := gatev1.NewGateServiceClient(h.conn)
	passed, blocked, unconfirmed := h.run(t, request("good", 10)), h.run(t, request("v1", 8)), request("broken", 10)
	unconfirmed.Baseline.Parameters["limit"] = "9"
	broken := h.run(t, unconfirmed)
	for name, tt := range map[string]struct {
		d       *gatev1.Decision
		change  func(*gatev1.GrantWaiverRequest)
		code    codes.Code
		mention string
	}{
		"a pass":           {passed, nil, codes.FailedPrecondition, "no block"},
		"unconfirmed":      {broken, nil, codes.FailedPrecondition, "no block"},
		"one flip missing": {blocked, func(r *gatev1.GrantWaiverRequest) { r.Flips = r.Flips[1:] }, codes.FailedPrecondition, "1 are missing (n-08 -> drop/old)"},
		"one too many": {blocked, func(r *gatev1.GrantWaiverRequest) {
			r.Flips = append(r.Flips, &gatev1.WaivedFlip{FixtureId: "n-01", NewVerdict: "drop"})
		}, codes.FailedPrecondition, "1 do not block (n-01 -> drop)"},
		"one twice":          {blocked, func(r *gatev1.GrantWaiverRequest) { r.Flips = append(r.Flips, r.Flips[0]) }, codes.FailedPrecondition, "1 do not block"},
		"another outcome":    {blocked, func(r *gatev1.GrantWaiverRequest) { r.Flips[0].NewReasonCode = "x" }, codes.FailedPrecondition, "missing"},
		"an older decision":  {blocked, func(r *gatev1.GrantWaiverRequest) { r.ReplayId = passed.GetReplayId() }, codes.FailedPrecondition, "newest decision"},
		"an unknown release": {blocked, func(r *gatev1.GrantWaiverRequest) { r.Release = "v9" }, codes.FailedPrecondition, "UNKNOWN"},
		"no reason":          {blocked, func(r *gatev1.GrantWaiverRequest) { r.Reason = " " }, codes.InvalidArgument, "reason"},
		"a painted reason":   {blocked, func(r *gatev1.GrantWaiverRequest) { r.Reason = "\x1b[2JPASS" }, codes.InvalidArgument, "control characters"},
		"a long reason":      {blocked, func(r *gatev1.GrantWaiverRequest) { r.Reason = strings.Repeat("x", 5000) }, codes.InvalidArgument, "over the limit"},
		"no end":             {blocked, func(r *gatev1.GrantWaiverRequest) { r.ExpiresAt = nil }, codes.InvalidArgument, "ends"},
		"past":               {blocked, func(r *gatev1.GrantWaiverRequest) { r.ExpiresAt = timestamppb.New(h.clock.now()) }, codes.InvalidArgument, "past"},
		"too long":           {blocked, func(r *gatev1.GrantWaiverRequest) { r.ExpiresAt = timestamppb.New(h.clock.now().Add(721 * time.Hour)) }, codes.InvalidArgument, "30 days"},
	} {
		req := waiver(h, tt.d, time.Hour)
		if tt.change != nil {
			tt.change(req)
		}
		_, err := client.GrantWaiver(h.as(t, "approver"), req)
		if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.mention) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := waive(t, h, blocked, time.Hour)
	if w.GetGrantedBy() != "approver" || len(w.GetFlips()) != 2 {
		t.Errorf("got %v", w)
	}
	h.wantStatus(t, "v1", pass, "")
	if s := h.status(t, &gatev1.GetGateStatusRequest{Release: "v1"}).GetSets()[0]; len(s.GetWaivers()) != 1 || s.GetDecision().GetRuling() != gatev1.Ruling_RULING_BLOCK {
		t.Errorf("the waiver is not shown: %v", s)
	}
	h.run(t, request("v2", 8)) // another release with the same flips
	h.wantStatus(t, "v2", block, "FLIP")
	h.run(t, request("v1", 7)) // the same release with one more
	h.wantStatus(t, "v1", block, "FLIP")
	again := request("v1", 8) // the same again
	again.ArtifactDigest = "sha256:" + strings.Repeat("0", 64)
	h.run(t, again)
	h.wantStatus(t, "v1", pass, "")
	if _, err := client.AttestDecision(h.as(t, "reader"), &gatev1.AttestDecisionRequest{Release: "v1", Set: "notes"}); err != nil {
		t.Errorf("what passes by a waiver cannot be attested: %v", err)
	}
	h.push(t, "author", 1, nil, ids(0, 21)...)
	h.run(t, request("v1", 8)) // the same flips on another version
	h.wantStatus(t, "v1", block, "FLIP")
	w = waive(t, h, h.run(t, request("v1", 8)), time.Hour)
	h.clock.pass(time.Hour - time.Nanosecond)
	h.wantStatus(t, "v1", pass, "")
	h.clock.pass(time.Nanosecond)
	h.wantStatus(t, "v1", block, "FLIP")
	_, err := client.RevokeWaiver(h.as(t, "approver"), &gatev1.RevokeWaiverRequest{WaiverId: w.GetWaiverId()})
	wantStatusCode(t, err, codes.FailedPrecondition, "has ended")
}

// A server that does not know its callers grants nothing that somebody must answer for.
func TestNobodyAnswersWithoutAuth(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Auth = server.AuthConfig{} })
	d := h.run(t, request("v1", 8))
	_, err := gatev1.NewGateServiceClient(h.conn).GrantWaiver(t.Context(), waiver(h, d, time.Hour))
	wantStatusCode(t, err, codes.FailedPrecondition, "does not know its callers")
	_, err = fixturev1.NewFixtureServiceClient(h.conn).ApproveVersion(t.Context(), &fixturev1.ApproveVersionRequest{Set: "notes", Version: 1, Reason: "r"})
	wantStatusCode(t, err, codes.FailedPrecondition, "does not know its callers")
}

// WatchGate tells every change once: a run that begins, its block, a waiver, and the waiver's end by itself.
func TestWatchGate(t *testing.T) {
	h := newHouse(t, nil)
	ctx, cancel := context.WithTimeout(h.as(t, "reader"), time.Minute)
	defer cancel()
	stream, err := gatev1.NewGateServiceClient(h.conn).WatchGate(ctx, &gatev1.WatchGateRequest{Release: "v1", Sets: []string{"notes"}})
	if err != nil {
		t.Fatal(err)
	}
	last := gatev1.Status_STATUS_UNSPECIFIED
	next := func(want gatev1.Status, code string) {
		t.Helper()
		change, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if causes := change.GetCurrent().GetSets()[0].GetCauses(); len(causes) > 0 {
			got = causes[0].GetCode()
		}
		if change.GetPrevious() != last || change.GetCurrent().GetStatus() != want || got != code {
			t.Fatalf("got %s after %s: %s; want %s after %s: %s", change.GetCurrent().GetStatus(), change.GetPrevious(), got, want, last, code)
		}
		last = want
	}
	next(unknown, "NEVER_TRIED")
	goOn := h.checker.stopAnswers()
	defer goOn()
	done := make(chan *gatev1.Decision, 1)
	go func() { done <- h.run(t, request("v1", 8)) }()
	next(unknown, "RUNNING")
	goOn()
	next(block, "FLIP")
	waive(t, h, <-done, 50*time.Millisecond) // of the house's clock, which stands still
	next(pass, "")
	h.clock.pass(time.Hour)
	next(block, "FLIP")
}

// A watcher is told when the evidence expires, though nothing happens.
func TestWatchGateTellsOfExpiry(t *testing.T) {
	h := newHouse(t, nil)
	h.push(t, "author", 1, func(c *fixturev1.CommitHeader) {
		c.Config.Policy = &gatev1.Policy{EvidenceMaxAge: durationpb.New(50 * time.Millisecond)} // of the house's clock, which stands still
	}, ids(0, 20)...)
	approve(t, h, 2)
	h.run(t, request("v1", 10))
	ctx, cancel := context.WithTimeout(h.as(t, "reader"), time.Minute)
	defer cancel()
	stream, err := gatev1.NewGateServiceClient(h.conn).WatchGate(ctx, &gatev1.WatchGateRequest{Release: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []gatev1.Status{pass, unknown} {
		change, err := stream.Recv()
		if err != nil || change.GetCurrent().GetStatus() != want {
			t.Fatalf("got %v, %v; want %s", change, err, want)
		}
		h.clock.pass(time.Hour)
	}
}

// A decision that was written behind the log's back is damage, and no pass: even by somebody who seals it as the store does.
func TestForgedDecisionIsNoPass(t *testing.T) {
	h := newHouse(t, nil)
	id := h.run(t, request("v1", 10)).GetReplayId()
	h.wantStatus(t, "v1", pass, "")
	h.stop()
	db, err := bolt.Open(h.path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, key := tx.Bucket([]byte("decisions")), binary.BigEndian.AppendUint64(nil, 1)
		record := strings.Replace(string(b.Get(key)[sha256.Size:]), `"submitted_by":"submitter"`, `"submitted_by":"mallory"`, 1)
		sum := sha256.Sum256([]byte("decisions\x00" + string(key) + "\x00" + record))
		return b.Put(key, append(sum[:], record...))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	ctx, g, r := h.as(t, "reader"), gatev1.NewGateServiceClient(h.conn), replayv1.NewReplayServiceClient(h.conn)
	watch, err := r.WatchReplay(ctx, &replayv1.WatchReplayRequest{ReplayId: id})
	if err == nil {
		_, err = watch.Recv()
	}
	for name, err := range map[string]error{
		"gate":      errOf(g.GetGateStatus(ctx, &gatev1.GetGateStatusRequest{Release: "v1"})),
		"decisions": errOf(g.ListDecisions(ctx, &gatev1.ListDecisionsRequest{})),
		"replay":    errOf(r.GetReplay(ctx, &replayv1.GetReplayRequest{ReplayId: id})),
		"replays":   errOf(r.ListReplays(ctx, &replayv1.ListReplaysRequest{})),
		"watch":     err,
		"row":       errOf(fixturev1.NewFixtureServiceClient(h.conn).ExplainRow(ctx, &fixturev1.ExplainRowRequest{SourceRowId: "row-1"})),
	} {
		t.Run(name, func(t *testing.T) { wantStatusCode(t, err, codes.DataLoss, "it is not what log entry 2 was made for") })
	}
}

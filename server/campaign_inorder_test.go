//go:build linux

package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// neverAnswers is a checker that a house of newRequestsHouse knows. A replay with it is under way until it is cancelled.
const neverAnswers = "never-answers"

// newRequestsHouse makes a house in which there can be something of each kind that a request is about.
func newRequestsHouse(t *testing.T) *house {
	t.Helper()
	return newSocketHouse(t, func(c *server.Config) {
		never := &house{checker: &limitChecker{}}
		never.checker.stopAnswers()
		c.Checkers[neverAnswers] = server.CheckerConfig{Address: never.serveChecker(t)}
		c.Limits.CaseTimeout, c.Limits.RunTimeout = time.Hour, time.Hour // longer than a campaign
	})
}

// requestsInOrder gives requests that the server grants, by their type, over a store in which there is something of each kind:
// a release "passed" and one "blocked", a tag and a waiver, a version that awaits its approval, and a replay under way.
// Some are granted once only. testRequestsInOrder holds that they are.
func requestsInOrder(t *testing.T, h *house) map[protoreflect.FullName][]proto.Message {
	t.Helper()
	pass := request("passed", 10)
	pass.ArtifactDigest = "sha256:" + strings.Repeat("0", 64) // without it there is nothing to attest
	passed, blocked, waived := h.run(t, pass), h.run(t, request("blocked", 9)), h.run(t, request("waived", 9))
	waive := func(d *gatev1.Decision) *gatev1.GrantWaiverRequest {
		req := &gatev1.GrantWaiverRequest{Release: d.GetRelease(), Set: "notes", ReplayId: d.GetReplayId(), Reason: "known", ExpiresAt: timestamppb.New(h.clock.now().Add(time.Hour))}
		for _, f := range d.GetFindings() {
			if f.GetCode() == "FLIP" {
				req.Flips = append(req.Flips, &gatev1.WaivedFlip{FixtureId: f.GetSubject(), NewVerdict: f.GetNew().GetVerdict(), NewReasonCode: f.GetNew().GetReasonCode()})
			}
		}
		return req
	}
	waiver, err := gatev1.NewGateServiceClient(h.conn).GrantWaiver(h.as(t, "approver"), waive(waived))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fixturev1.NewFixtureServiceClient(h.conn).TagVersion(h.as(t, "author"), &fixturev1.TagVersionRequest{Set: "notes", Version: 1, Tag: "stable"}); err != nil {
		t.Fatal(err)
	}
	var pending *fixturev1.Version
	for parent, fixtures := range []int{2, 1} { // a removal takes an approval
		pending = h.push(t, "author", uint64(parent), func(c *fixturev1.CommitHeader) { c.Set = "pending" }, ids(0, fixtures)...)
	}
	endless := request("endless", 10)
	endless.Candidate.Checker, endless.Detach = &replayv1.CheckerRef_Name{Name: neverAnswers}, true
	endless.CaseTimeout, endless.RunTimeout = durationpb.New(time.Hour), durationpb.New(time.Hour)
	underWay, leave := h.begin(t, "submitter", endless)
	leave()
	cancel := &replayv1.CancelReplayRequest{ReplayId: underWay.GetReplayId()}
	t.Cleanup(func() { // or the server would wait for it when it stops
		_, err := replayv1.NewReplayServiceClient(h.conn).CancelReplay(context.WithoutCancel(h.as(t, "submitter")), cancel)
		if code := status.Code(err); code != codes.OK && code != codes.FailedPrecondition { // a request of the test may have done it
			t.Error(err)
		}
	})
	config := &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep"},
		Policy: &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_BOUNDED, Bounds: map[string]uint32{"permissive": 1}}}
	entry := func(id string) *fixturev1.CommitEntry {
		return &fixturev1.CommitEntry{Fixture: []byte(`{"fixture_id":"` + id + `","source_row_id":"r","verdict":"keep","reason_code":"new","decided_at":"2026-02-14T09:12:00Z","N":1}`),
			Stubs: [][]byte{[]byte(`{"fixture_id":"` + id + `","call":"c","value":1}`)}}
	}
	replay := request("v", 9)
	replay.IdempotencyKey, replay.ArtifactDigest = "k", ""
	out := map[protoreflect.FullName][]proto.Message{}
	add := func(all ...proto.Message) { out[all[0].ProtoReflect().Descriptor().FullName()] = all }
	add(
		&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: "other", Reason: "r", Config: config}}},
		&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Entries{Entries: &fixturev1.CommitEntries{Entries: []*fixturev1.CommitEntry{entry("a"), entry("b")}}}},
		&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: 2}}},
	)
	add(&fixturev1.TagVersionRequest{Set: "notes", Version: 1, Tag: "stable"})
	add(&fixturev1.ApproveVersionRequest{Set: "pending", Version: pending.GetNumber(), Checksum: pending.GetChecksum(), Reason: "seen"})
	add(&fixturev1.GetVersionRequest{Set: "notes", Selector: &fixturev1.GetVersionRequest_Tag{Tag: "stable"}})
	add(&fixturev1.ListSetsRequest{PageSize: 1})
	add(&fixturev1.ListVersionsRequest{Set: "notes", PageSize: 1})
	add(&fixturev1.ListFixturesRequest{Set: "notes", Version: 1, PageSize: 5, PageToken: "bi0wMQ"})
	add(&fixturev1.GetFixtureRequest{Set: "notes", Version: 1, FixtureId: "n-01"})
	add(&fixturev1.DiffVersionsRequest{Set: "notes", From: 1, To: 1})
	add(&fixturev1.ExplainRowRequest{SourceRowId: "row-1", Set: "notes"})
	add(&fixturev1.VerifyStoreRequest{})
	add(replay)
	add(&replayv1.GetReplayRequest{ReplayId: passed.GetReplayId()})
	add(&replayv1.WatchReplayRequest{ReplayId: blocked.GetReplayId(), AfterPosition: 1})
	add(&replayv1.ListReplaysRequest{Set: "notes", Release: "passed", State: replayv1.State_STATE_DECIDED, PageSize: 1})
	add(cancel)
	add(&gatev1.GetGateStatusRequest{Release: "passed", Sets: []string{"notes"}, AsOf: timestamppb.New(h.clock.now())})
	add(&gatev1.WatchGateRequest{Release: "passed", Sets: []string{"notes"}})
	add(&gatev1.ListDecisionsRequest{Set: "notes", Release: "passed", PageSize: 1})
	add(&gatev1.AttestDecisionRequest{Release: "passed", Set: "notes"})
	add(&gatev1.ListWaiversRequest{Release: "waived", Set: "notes", PageSize: 1})
	add(waive(waived))
	add(&gatev1.RevokeWaiverRequest{WaiverId: waiver.GetWaiver().GetWaiverId()})
	add(&logv1.GetCheckpointRequest{OldSize: 1, Size: 2})
	add(&logv1.GetInclusionProofRequest{Index: 1, Size: 2})
	add(&logv1.ListEntriesRequest{PageSize: 1})
	add(&registryv1.ListCheckersRequest{PageSize: 1})
	add(&registryv1.DescribeCheckerRequest{Name: "limit"})
	return out
}

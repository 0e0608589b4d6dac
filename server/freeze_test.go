package server_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// frozen has a commit freeze fixture n-09, for the baseline with the limit 9, which keeps what is below it.
func (h *house) frozen(t *testing.T, change func(*gatev1.Freeze)) func(*fixturev1.CommitHeader) {
	t.Helper()
	res, err := fixturev1.NewFixtureServiceClient(h.conn).GetFixture(h.as(t, "reader"), &fixturev1.GetFixtureRequest{Set: "notes", Version: 1, FixtureId: "n-09"})
	if err != nil {
		t.Fatal(err)
	}
	baseline := replayer.Description{Name: "limit", Version: "1", BuildDigest: "sha256:limit", Parameters: map[string]string{"limit": "9"}}
	now := h.clock.now()
	z := &gatev1.Freeze{FixtureId: "n-09", Reason: "a whim", Owner: "@queue", OpenedAt: timestamppb.New(now), ExpiresAt: timestamppb.New(now.Add(48 * time.Hour)), RecheckAfterRuns: 2,
		Evidence: &gatev1.FreezeEvidence{BaselineDigest: baseline.Digest(), FixtureDigest: "sha256:" + res.GetFixture().GetDigest(), Runs: 20, Failures: 3, RecordedAt: timestamppb.New(now), RecordedBy: "ada"}}
	if change != nil {
		change(z)
	}
	return func(c *fixturev1.CommitHeader) {
		c.Config.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_FULL, AdmitFreezes: true}
		c.Config.Freezes = []*gatev1.Freeze{z}
	}
}

// whim asks for a replay of which the baseline does not reproduce n-09.
func whim(release string) *replayv1.ReplayRequest {
	req := request(release, 10)
	req.Baseline.Parameters["limit"] = "9"
	return req
}

// S5, L7: a freeze counts once a second person has seen it, for as many replays as it says, and is shown with the decision.
func TestL7FreezeOverGRPC(t *testing.T) {
	h := newHouse(t, nil)
	if d := h.run(t, whim("v0")); d.GetRuling() != gatev1.Ruling_RULING_BASELINE_UNCONFIRMED {
		t.Fatalf("without a freeze: %v", d)
	}
	h.clock.pass(time.Second) // the evidence is newer than that run
	v := h.push(t, "author", 1, h.frozen(t, nil), ids(0, 20)...)
	if len(v.GetApprovalNeeded()) == 0 {
		t.Error("one person alone has weakened the gate")
	}
	approve(t, h, 2)
	for _, release := range []string{"v1", "v2"} {
		d := h.run(t, whim(release))
		if d.GetRuling() != gatev1.Ruling_RULING_PASS || d.GetExcused() != 1 || d.GetConfirmed() != 19 || !strings.Contains(d.GetSummary(), "did not reproduce 1 frozen") {
			t.Errorf("%s: %v", release, d)
		}
		if f := withCode(d.GetFindings(), string(gate.Frozen)); len(f) != 1 || f[0].GetSubject() != "n-09" {
			t.Errorf("told of %v", f)
		}
		h.wantStatus(t, release, pass, "")
	}
	if d := h.run(t, whim("v3")); d.GetRuling() != gatev1.Ruling_RULING_BASELINE_UNCONFIRMED || len(withCode(d.GetFindings(), string(gate.FreezeRecheck))) != 1 {
		t.Errorf("after as many replays as it holds for: %v", d.GetSummary())
	}
}

// L8: a change freezes nothing that it edits or adds, and a policy that does not say so admits nothing.
func TestL8FreezeIsRefusedAtCommit(t *testing.T) {
	h := newHouse(t, nil)
	refused := func(name string, parent uint64, change func(*fixturev1.CommitHeader), want string, numbers ...int) {
		t.Helper()
		_, err := h.tryPush(t, "author", parent, change, numbers...)
		t.Run(name, func(t *testing.T) { wantStatusCode(t, err, codes.InvalidArgument, want) })
	}
	other := func(z *gatev1.Freeze) { z.Evidence.FixtureDigest = "sha256:" + strings.Repeat("0", 64) }
	refused("evidence about another fixture", 1, h.frozen(t, other), "freezes nothing that it edits or adds", ids(0, 20)...)
	refused("a fixture that the change adds", 1, h.frozen(t, func(z *gatev1.Freeze) { z.FixtureId = "n-20" }), "freezes nothing that it edits or adds", ids(0, 21)...)
	refused("in the first version", 0, func(c *fixturev1.CommitHeader) {
		h.frozen(t, other)(c)
		c.Set = "fresh"
	}, "about another fixture", ids(0, 20)...)
	refused("a policy that says nothing of it", 1, func(c *fixturev1.CommitHeader) {
		h.frozen(t, nil)(c)
		c.Config.Policy.AdmitFreezes = false
	}, "does not admit", ids(0, 20)...)
	refused("evidence with the change in it", 1, h.frozen(t, func(z *gatev1.Freeze) { z.Evidence.PatchApplied = true }), "patch_applied", ids(0, 20)...)
	h.push(t, "author", 1, h.frozen(t, nil), ids(0, 20)...)
	edited := h.frozen(t, nil)
	stream := func() error {
		_, err := h.tryPushEdited(t, 2, edited)
		return err
	}
	t.Run("an edit of what is frozen already", func(t *testing.T) { wantStatusCode(t, stream(), codes.InvalidArgument, "about another fixture") })
}

// tryPushEdited commits fixture n-09 alone, with another input.
func (h *house) tryPushEdited(t *testing.T, parent uint64, change func(*fixturev1.CommitHeader)) (*fixturev1.Version, error) {
	t.Helper()
	return h.commit(t, "author", parent, change, []*fixturev1.CommitEntry{{Fixture: []byte(
		`{"fixture_id":"n-09","source_row_id":"row-9","verdict":"keep","reason_code":"new","decided_at":"2026-02-14T09:12:00Z","N":8}`)}})
}

func withCode(findings []*gatev1.Finding, code string) []*gatev1.Finding {
	var out []*gatev1.Finding
	for _, f := range findings {
		if f.GetCode() == code {
			out = append(out, f)
		}
	}
	return out
}

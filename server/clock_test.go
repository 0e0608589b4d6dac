package server_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/server"
)

// What came last counts, even where the machine's clock was set back since: an older pass does not stand for a block, nor for
// evidence that a newer version has overtaken, and a waiver that was revoked stays so. A restart does not change that.
func TestClockThatIsSetBack(t *testing.T) {
	h := newHouse(t, nil)
	h.run(t, request("v1", 10))
	h.clock.pass(time.Hour)
	d := h.run(t, request("v1", 8))
	h.clock.pass(time.Hour)
	w := waive(t, h, d, 24*time.Hour)
	h.wantStatus(t, "v1", pass, "")
	h.clock.pass(time.Hour)
	if _, err := gatev1.NewGateServiceClient(h.conn).RevokeWaiver(h.as(t, "approver"), &gatev1.RevokeWaiverRequest{WaiverId: w.GetWaiverId()}); err != nil {
		t.Fatal(err)
	}
	h.run(t, request("v2", 10))
	h.clock.pass(time.Hour)
	h.push(t, "author", 1, nil, ids(0, 21)...)
	for range 2 {
		for _, back := range []time.Duration{0, -30 * time.Minute, -time.Hour, -time.Hour, -90 * time.Minute, -24 * time.Hour} {
			h.clock.pass(back)
			h.wantStatus(t, "v1", unknown, "OUTDATED")
			h.wantStatus(t, "v2", unknown, "OUTDATED")
		}
		h.stop()
		h.start(t)
	}
	h.run(t, request("v1", 10)) // and what is recorded now is the newest
	h.wantStatus(t, "v1", pass, "")
	h.run(t, request("v1", 9))
	h.wantStatus(t, "v1", block, "FLIP")
}

// Nobody answers for what they submitted themselves, whatever roles they have by now.
func TestNobodyWaivesTheirOwn(t *testing.T) {
	h := newHouse(t, nil)
	d := h.run(t, request("v1", 8))
	tokens, err := server.ReadTokens(h.file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tokens {
		if tokens[i].Name == "submitter" {
			tokens[i].Roles = []server.Role{server.Approver}
		}
	}
	if err := server.WriteTokens(h.file, tokens); err != nil {
		t.Fatal(err)
	}
	_, err = gatev1.NewGateServiceClient(h.conn).GrantWaiver(h.as(t, "submitter"), waiver(h, d, time.Hour))
	wantStatusCode(t, err, codes.PermissionDenied, "nobody answers for their own")
	h.wantStatus(t, "v1", block, "FLIP")
}

// A run by another policy than the set's own is no evidence, neither where it passes nor where somebody waives its block. An
// allowlist that such a policy does not read does not bear on it.
func TestOtherPolicyIsNoEvidence(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.PolicyOverride = true })
	v := h.push(t, "author", 1, func(header *fixturev1.CommitHeader) {
		header.Config.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_ALLOWLIST}
		header.Config.Allowlist = []*gatev1.AllowlistEntry{{FixtureId: "n-09", OldVerdict: "keep", OldReasonCode: "new", NewVerdict: "drop", NewReasonCode: "old",
			Reason: "r", Owner: "o", ExpiresAt: timestamppb.New(h.clock.now().Add(time.Hour))}}
	}, ids(0, 20)...)
	if _, err := fixturev1.NewFixtureServiceClient(h.conn).ApproveVersion(h.as(t, "approver"), &fixturev1.ApproveVersionRequest{
		Set: "notes", Version: v.GetNumber(), Checksum: v.GetChecksum(), Reason: "seen"}); err != nil {
		t.Fatal(err)
	}
	h.run(t, request("v1", 9)) // the flip that the list allows
	h.wantStatus(t, "v1", pass, "")
	lax, full := request("v2", 9), request("v3", 9)
	lax.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_BOUNDED, Bounds: map[string]uint32{"restrictive": 5}}
	full.Policy = &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_FULL}
	if d := h.run(t, lax); d.GetRuling() != gatev1.Ruling_RULING_PASS {
		t.Errorf("a list that nobody reads blocks: %v", d.GetCauses())
	}
	h.wantStatus(t, "v2", unknown, "OTHER_POLICY")
	d := h.run(t, full)
	h.wantStatus(t, "v3", block, "FLIP")
	waive(t, h, d, time.Hour)
	h.wantStatus(t, "v3", unknown, "OTHER_POLICY")
}

//go:build linux

package cli_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
)

// ledger is what the server has acknowledged. Safe for concurrent use.
type ledger struct {
	mu       sync.Mutex // guards the rest
	versions []*fixturev1.Version
	tags     []tagged
	trials   []*tried

	cuts, whole, acknowledged int // counted over all checks
}

type tagged struct {
	set, tag string
	number   uint64
}

// tried is a replay that the server said has begun, with what it acknowledged since.
type tried struct {
	id, release string
	keyed       *replayv1.ReplayRequest // what was asked, where it had an idempotency key
	decision    *gatev1.Decision        // nil if the caller saw none
	asked       bool                    // a waiver was asked for
	waiver      *gatev1.Waiver
	ended       bool // a revocation was asked for
	revoked     *gatev1.Waiver
}

// note changes the ledger.
func (l *ledger) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged++
	change()
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acknowledged
}

// mark is how far the ledger is.
type mark struct{ versions, tags, trials int }

func (l *ledger) mark() mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return mark{len(l.versions), len(l.tags), len(l.trials)}
}

// check holds what stands behind a mark against a server that was just started: nothing that was acknowledged is lost or
// another, and a replay that was cut is no pass.
func (l *ledger) check(t *testing.T, y *yard, conn *grpc.ClientConn, from mark) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := y.as(t.Context(), "rob")
	fixtures := fixturev1.NewFixtureServiceClient(conn)
	for _, want := range l.versions[from.versions:] {
		res, err := fixtures.GetVersion(ctx, &fixturev1.GetVersionRequest{Set: want.GetSet(), Selector: &fixturev1.GetVersionRequest_Number{Number: want.GetNumber()}})
		got := res.GetVersion()
		if err != nil || want.GetApproval() != nil && !proto.Equal(want.GetApproval(), got.GetApproval()) {
			t.Errorf("version %d of %s, acknowledged with approval %v: %v, %v", want.GetNumber(), want.GetSet(), want.GetApproval(), got, err)
			continue
		}
		if a, b := bare(want), bare(got); !proto.Equal(a, b) {
			t.Errorf("version %d of %s is another: %v, want %v", want.GetNumber(), want.GetSet(), b, a)
		}
	}
	for _, want := range l.tags[from.tags:] {
		res, err := fixtures.GetVersion(ctx, &fixturev1.GetVersionRequest{Set: want.set, Selector: &fixturev1.GetVersionRequest_Tag{Tag: want.tag}})
		if err != nil || res.GetVersion().GetNumber() != want.number {
			t.Errorf("tag %+v: %d, %v", want, res.GetVersion().GetNumber(), err)
		}
	}
	for _, want := range l.trials[from.trials:] {
		l.checkTrial(ctx, t, conn, want)
		if want.keyed != nil {
			checkAgain(y.as(t.Context(), "sam"), t, conn, want)
		}
	}
}

// checkAgain asks again with the key of a replay that had begun: it is the one that is answered, and no other begins.
func checkAgain(ctx context.Context, t *testing.T, conn *grpc.ClientConn, want *tried) {
	t.Helper()
	r, err := retrial.StartReplay(ctx, conn, want.keyed)
	if err != nil {
		t.Error(err)
		return
	}
	for range r.Events() {
	}
	d, err := r.Decision()
	switch {
	case want.decision != nil && (err != nil || !proto.Equal(d, want.decision)):
		t.Errorf("asked again for replay %s with its key: %v, %v", want.id, d, err)
	case err == nil && d.GetReplayId() != want.id, err != nil && status.Code(err) != codes.FailedPrecondition:
		t.Errorf("asked again for replay %s with its key: replay %s, %v", want.id, d.GetReplayId(), err)
	}
}

// bare is a version without what is added to it later.
func bare(v *fixturev1.Version) *fixturev1.Version {
	v = proto.CloneOf(v)
	v.Tags, v.Approval = nil, nil
	return v
}

func (l *ledger) checkTrial(ctx context.Context, t *testing.T, conn *grpc.ClientConn, want *tried) {
	t.Helper()
	res, err := replayv1.NewReplayServiceClient(conn).GetReplay(ctx, &replayv1.GetReplayRequest{ReplayId: want.id})
	if err != nil {
		t.Errorf("replay %s, which had begun: %v", want.id, err)
		return
	}
	r := res.GetReplay()
	gates := gatev1.NewGateServiceClient(conn)
	standing, err := gates.GetGateStatus(ctx, &gatev1.GetGateStatusRequest{Release: want.release, Sets: []string{trialSet}})
	if err != nil {
		t.Errorf("the gate on %s: %v", want.release, err)
		return
	}
	stands := map[gatev1.Status]bool{}
	switch r.GetState() {
	case replayv1.State_STATE_CUT, replayv1.State_STATE_FAILED:
		stands[gatev1.Status_STATUS_UNKNOWN] = true
		if r.GetState() == replayv1.State_STATE_CUT {
			l.cuts++
		}
	case replayv1.State_STATE_DECIDED:
		l.whole++
		stands = want.standsBy(r.GetDecision())
	default:
		t.Errorf("replay %s is %s on a server that was just started", want.id, r.GetState())
	}
	if want.decision != nil && !proto.Equal(want.decision, r.GetDecision()) {
		t.Errorf("replay %s is %s, its decision another than the acknowledged: %v, want %v", want.id, r.GetState(), r.GetDecision(), want.decision)
	}
	if !stands[standing.GetStatus()] {
		t.Errorf("%s stands %s with replay %s in %s, want one of %v", want.release, standing.GetStatus(), want.id, r.GetState(), maps.Collect(maps.All(stands)))
	}
	if want.waiver == nil {
		return
	}
	waivers, err := gates.ListWaivers(ctx, &gatev1.ListWaiversRequest{Release: want.release})
	if err != nil || len(waivers.GetWaivers()) != 1 {
		t.Errorf("waivers of %s: %v, %v", want.release, waivers, err)
		return
	}
	got := waivers.GetWaivers()[0]
	switch {
	case want.revoked != nil && !proto.Equal(got, want.revoked):
		t.Errorf("waiver %v, was revoked as %v", got, want.revoked)
	case !want.ended && !proto.Equal(got, want.waiver):
		t.Errorf("waiver %v, was granted as %v", got, want.waiver)
	}
}

// standsBy says how a release may stand by a decision, with what was asked for and acknowledged since.
func (w *tried) standsBy(d *gatev1.Decision) map[gatev1.Status]bool {
	const pass, block = gatev1.Status_STATUS_PASS, gatev1.Status_STATUS_BLOCK
	switch {
	case d.GetRuling() == gatev1.Ruling_RULING_PASS:
		return map[gatev1.Status]bool{pass: true}
	case w.revoked != nil || !w.asked:
		return map[gatev1.Status]bool{block: true}
	case w.waiver != nil && !w.ended:
		return map[gatev1.Status]bool{pass: true}
	}
	return map[gatev1.Status]bool{pass: true, block: true}
}

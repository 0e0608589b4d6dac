//go:build linux

package cli_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
)

// trialSet is the set that releases are tried against; it has one version. Each author has sets of their own.
const trialSet = "trial"

// load is what clients do to a server at once. A client goes on until a call fails.
type load struct {
	t      *testing.T
	y      *yard
	l      *ledger
	name   string // of the round, for names that nobody has used
	blocks chan *tried
	pins   *pins
}

// pins are what each reader remembers of the log, over all kills.
type pins [2]retrial.Pin

// run runs clients until the context ends or the server does.
func (l *load) run(ctx context.Context, seed uint64) {
	clients := []func(context.Context, *grpc.ClientConn, *rand.Rand) error{
		l.author("x"), l.author("y"), l.submitter("x"), l.submitter("y"), l.approver, l.reader(0), l.reader(1),
	}
	var all sync.WaitGroup
	for i, client := range clients {
		all.Go(func() {
			conn := l.y.dial(l.t)
			defer conn.Close()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				if err := client(ctx, conn, random); err != nil {
					return // the server is gone: nothing was acknowledged
				}
			}
		})
	}
	all.Wait()
}

// push commits n fixtures and one whose number is extra.
func (y *yard) push(ctx context.Context, conn *grpc.ClientConn, set string, parent uint64, n, extra int) (*fixturev1.Version, error) {
	config := &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep"}}
	header := &fixturev1.CommitHeader{Set: set, Parent: parent, Reason: "load", RemovalReason: "load", Config: config}
	entries := &fixturev1.CommitEntries{}
	for i := range n {
		entries.Entries = append(entries.Entries, &fixturev1.CommitEntry{Fixture: signalDocument(i)})
	}
	entries.Entries = append(entries.Entries, &fixturev1.CommitEntry{Fixture: signalDocument(extra)})
	stream, err := fixturev1.NewFixtureServiceClient(conn).CommitVersion(y.as(ctx, "ada"))
	if err != nil {
		return nil, err
	}
	for _, part := range []*fixturev1.CommitVersionRequest{
		{Part: &fixturev1.CommitVersionRequest_Header{Header: header}},
		{Part: &fixturev1.CommitVersionRequest_Entries{Entries: entries}},
		{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: uint64(n) + 1}}},
	} {
		if err := stream.Send(part); err != nil {
			break // the answer says why
		}
	}
	res, err := stream.CloseAndRecv()
	return res.GetVersion(), err
}

// author commits versions, has some approved, and tags some.
func (l *load) author(who string) func(context.Context, *grpc.ClientConn, *rand.Rand) error {
	set, parent := fmt.Sprintf("set-%s-%s", l.name, who), uint64(0)
	return func(ctx context.Context, conn *grpc.ClientConn, random *rand.Rand) error {
		v, err := l.y.push(ctx, conn, set, parent, 12, 100+random.IntN(1<<20))
		if err != nil {
			return err
		}
		l.l.note(func() { l.l.versions = append(l.l.versions, v) })
		parent = v.GetNumber()
		client := fixturev1.NewFixtureServiceClient(conn)
		if len(v.GetApprovalNeeded()) > 0 && random.IntN(2) == 0 { // it replaced a fixture
			res, err := client.ApproveVersion(l.y.as(ctx, "eve"), &fixturev1.ApproveVersionRequest{Set: set, Version: parent, Checksum: v.GetChecksum(), Reason: "seen"})
			if err != nil {
				return err
			}
			l.l.note(func() { l.l.versions = append(l.l.versions, res.GetVersion()) })
		}
		if random.IntN(3) > 0 {
			return nil
		}
		tag := fmt.Sprint("t-", parent)
		if _, err := client.TagVersion(l.y.as(ctx, "ada"), &fixturev1.TagVersionRequest{Set: set, Version: parent, Tag: tag}); err != nil {
			return err
		}
		l.l.note(func() { l.l.tags = append(l.l.tags, tagged{set, tag, parent}) })
		return nil
	}
}

// submitter runs replays, of which some block.
func (l *load) submitter(who string) func(context.Context, *grpc.ClientConn, *rand.Rand) error {
	n := 0
	return func(ctx context.Context, conn *grpc.ClientConn, random *rand.Rand) error {
		n++
		release := fmt.Sprintf("%s-%s-%d", l.name, who, n)
		ref := func(name, wrong string) *replayv1.CheckerRef {
			c := &replayv1.CheckerRef{Checker: &replayv1.CheckerRef_Name{Name: name}}
			if name == "dialled" {
				c.Parameters = map[string]string{"wrong": wrong}
			}
			return c
		}
		req := &replayv1.ReplayRequest{Set: trialSet, Release: release, Baseline: ref("dialled", "-1"), Candidate: ref("dialled", strconv.Itoa(random.IntN(24)-8))}
		switch random.IntN(8) {
		case 0:
			req.Candidate = ref("launched", "")
		case 1, 2, 3:
			req.Detach, req.IdempotencyKey = true, release
		}
		r, err := retrial.StartReplay(l.y.as(ctx, "sam"), conn, req)
		if err != nil {
			return err
		}
		var trial *tried
		for e := range r.Events() {
			if id := e.GetStarted().GetReplayId(); id != "" {
				trial = &tried{id: id, release: release}
				if req.GetDetach() {
					trial.keyed = req
				}
				l.l.note(func() { l.l.trials = append(l.l.trials, trial) })
			}
		}
		d, err := r.Decision()
		if err != nil {
			return err
		}
		l.l.note(func() { trial.decision = d })
		if d.GetRuling() == gatev1.Ruling_RULING_BLOCK {
			select {
			case l.blocks <- trial:
			default:
			}
		}
		return nil
	}
}

// approver waives blocks, and revokes some of the waivers.
func (l *load) approver(ctx context.Context, conn *grpc.ClientConn, random *rand.Rand) error {
	var trial *tried
	select {
	case trial = <-l.blocks:
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx = l.y.as(ctx, "eve")
	client := gatev1.NewGateServiceClient(conn)
	req := &gatev1.GrantWaiverRequest{Release: trial.release, Set: trialSet, ReplayId: trial.id, Reason: "known", ExpiresAt: timestamppb.New(time.Now().Add(time.Hour))}
	for _, f := range trial.decision.GetFindings() {
		if f.GetCode() == "FLIP" {
			req.Flips = append(req.Flips, &gatev1.WaivedFlip{FixtureId: f.GetSubject(), NewVerdict: f.GetNew().GetVerdict(), NewReasonCode: f.GetNew().GetReasonCode()})
		}
	}
	l.l.note(func() { trial.asked = true })
	granted, err := client.GrantWaiver(ctx, req)
	if err != nil {
		return err
	}
	l.l.note(func() { trial.waiver = granted.GetWaiver() })
	if random.IntN(2) == 0 {
		return nil
	}
	l.l.note(func() { trial.ended = true })
	revoked, err := client.RevokeWaiver(ctx, &gatev1.RevokeWaiverRequest{WaiverId: granted.GetWaiver().GetWaiverId()})
	if err != nil {
		return err
	}
	l.l.note(func() { trial.revoked = revoked.GetWaiver() })
	return nil
}

// reader asks the gate, and holds the answer against the log as it remembers it: every checkpoint extends the one before.
func (l *load) reader(i int) func(context.Context, *grpc.ClientConn, *rand.Rand) error {
	return func(ctx context.Context, conn *grpc.ClientConn, random *rand.Rand) error {
		ctx = l.y.as(ctx, "rob")
		release := "none"
		l.l.mu.Lock()
		if n := len(l.l.trials); n > 0 {
			release = l.l.trials[random.IntN(n)].release
		}
		l.l.mu.Unlock()
		req := &gatev1.GetGateStatusRequest{Release: release, Sets: []string{trialSet}}
		res, err := gatev1.NewGateServiceClient(conn).GetGateStatus(ctx, req)
		if err != nil {
			return err
		}
		return l.pins.hold(ctx, l.t, conn, i, req, res)
	}
}

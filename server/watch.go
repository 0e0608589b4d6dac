package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// WatchGate implements the service.
func (g *gates) WatchGate(req *gatev1.WatchGateRequest, stream grpc.ServerStreamingServer[gatev1.WatchGateResponse]) error {
	ctx := stream.Context()
	var last *gatev1.GetGateStatusResponse
	for {
		rung := g.changed.rung() // before looking, so that no change is missed
		now := g.now()
		current, next, err := g.status(req.GetRelease(), req.GetSets(), now)
		if err != nil {
			return err
		}
		if last == nil || stoodOtherwise(last, current) {
			if err := g.prove(current); err != nil {
				return err
			}
			if err := stream.Send(&gatev1.WatchGateResponse{Previous: last.GetStatus(), Current: current}); err != nil {
				return err
			}
			last = current
		}
		if !wait(ctx.Done(), g.stopping, rung, next, now) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fixture.NewError(fixture.CodeUnavailable, "watch", "", errors.New("the server is stopping"))
		}
	}
}

// wait is true when something changed, or the next instant has come, and false when the watcher or the server is done.
func wait(done, stopping, rung <-chan struct{}, next, now time.Time) bool {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(next.Sub(now))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-done:
		return false
	case <-stopping:
		return false
	case <-rung:
	case <-due:
	}
	return true
}

// stoodOtherwise says whether status, causes, decision or waivers differ.
func stoodOtherwise(a, b *gatev1.GetGateStatusResponse) bool {
	if a.GetStatus() != b.GetStatus() || len(a.GetSets()) != len(b.GetSets()) {
		return true
	}
	for i, s := range a.GetSets() {
		t := b.GetSets()[i]
		if s.GetSet() != t.GetSet() || s.GetStatus() != t.GetStatus() || s.GetNewestVersion() != t.GetNewestVersion() ||
			s.GetDecision().GetReplayId() != t.GetDecision().GetReplayId() ||
			!slices.EqualFunc(s.GetWaivers(), t.GetWaivers(), func(v, w *gatev1.Waiver) bool { return v.GetWaiverId() == w.GetWaiverId() }) || len(s.GetCauses()) != len(t.GetCauses()) {
			return true
		}
		for j, c := range s.GetCauses() {
			if c.GetCode() != t.GetCauses()[j].GetCode() {
				return true
			}
		}
	}
	return false
}

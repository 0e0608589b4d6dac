package server

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// This file shows replays that other calls run or ran.

// GetReplay implements the service.
func (s *replays) GetReplay(_ context.Context, req *replayv1.GetReplayRequest) (*replayv1.GetReplayResponse, error) {
	r, err := s.store.ReplayByID(req.GetReplayId())
	if err != nil {
		return nil, err
	}
	out, err := s.recordToProto(r)
	return &replayv1.GetReplayResponse{Replay: out}, err
}

func (s *replays) recordToProto(r *fixturestore.Replay) (*replayv1.ReplayRecord, error) {
	l := s.liveOf(r.ID)
	if l == nil && r.State == fixturestore.Running { // it may have ended since it was read
		var err error
		if r, err = s.store.Replay(r.Seq); err != nil {
			return nil, err
		}
	}
	out := &replayv1.ReplayRecord{
		ReplayId: r.ID, Set: r.Set, Version: r.Version, Release: r.Release, Failure: r.Error, SubmittedBy: r.SubmittedBy,
		StartedAt: timestamp(r.StartedAt), State: stateOf(r, l != nil),
	}
	if !r.EndedAt.IsZero() {
		out.EndedAt = timestamp(r.EndedAt)
	}
	var err error
	switch {
	case r.State == fixturestore.Decided:
		out.Decision, err = decisionOf(s.store, r)
	case l != nil:
		_, out.Progress, _, _ = l.since(0)
	}
	return out, err
}

func stateOf(r *fixturestore.Replay, underWay bool) replayv1.State {
	switch {
	case r.State == fixturestore.Decided:
		return replayv1.State_STATE_DECIDED
	case r.State == fixturestore.Failed:
		return replayv1.State_STATE_FAILED
	case underWay:
		return replayv1.State_STATE_RUNNING
	}
	return replayv1.State_STATE_CUT
}

// ListReplays implements the service.
func (s *replays) ListReplays(ctx context.Context, req *replayv1.ListReplaysRequest) (*replayv1.ListReplaysResponse, error) {
	before, err := parseNumberToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	out := &replayv1.ListReplaysResponse{}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		records, more, err := s.store.Replays(req.GetSet(), req.GetRelease(), before, limit)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if len(out.GetReplays()) == limit {
				out.NextPageToken = numberToken(before)
				return out, nil
			}
			before = r.Seq
			p, err := s.recordToProto(r)
			if err != nil {
				return nil, err
			}
			if p.GetDecision() != nil {
				p.Decision.Findings = nil
			}
			if want := req.GetState(); want == replayv1.State_STATE_UNSPECIFIED || want == p.GetState() {
				out.Replays = append(out.Replays, p)
			}
		}
		if !more {
			return out, nil
		}
		if len(out.GetReplays()) == limit {
			out.NextPageToken = numberToken(before)
			return out, nil
		}
	}
}

// CancelReplay implements the service.
func (s *replays) CancelReplay(ctx context.Context, req *replayv1.CancelReplayRequest) (*replayv1.CancelReplayResponse, error) {
	r, err := s.store.ReplayByID(req.GetReplayId())
	if err != nil {
		return nil, err
	}
	l := s.liveOf(r.ID)
	if l == nil {
		return nil, fixture.NewError(fixture.CodePrecondition, "cancel replay", r.ID, errors.New("it is not under way"))
	}
	if by := principalOf(ctx); by != l.submittedBy && !hasRole(ctx, Admin) {
		return nil, fixture.NewError(fixture.CodeDenied, "cancel replay", r.ID, fmt.Errorf("%s asked for it, and only they or an admin may cancel it", l.submittedBy))
	}
	if !l.stop() {
		return nil, fixture.NewError(fixture.CodePrecondition, "cancel replay", r.ID, errors.New("it has come to its decision"))
	}
	audit(ctx, s.log, "replay cancelled", zap.String("replay", r.ID), zap.String("submitted_by", l.submittedBy))
	return &replayv1.CancelReplayResponse{}, nil
}

// WatchReplay implements the service.
func (s *replays) WatchReplay(req *replayv1.WatchReplayRequest, stream grpc.ServerStreamingServer[replayv1.WatchReplayResponse]) error {
	return s.watch(stream.Context(), req.GetReplayId(), req.GetAfterPosition(), stream.Send)
}

// watch sends the events of a replay behind a position: as they come, or as they were recorded.
func (s *replays) watch(ctx context.Context, id string, after uint64, send func(*replayv1.WatchReplayResponse) error) error {
	if l := s.liveOf(id); l != nil {
		last := after
		if err := l.follow(ctx, after, func(e *replayv1.WatchReplayResponse) error {
			last = e.GetPosition()
			return send(e)
		}); err != nil {
			return err
		}
		after = last
	}
	r, err := s.store.ReplayByID(id)
	if err != nil {
		return err
	}
	switch r.State {
	case fixturestore.Failed:
		return fixture.NewError(fixture.CodePrecondition, "watch replay", id, fmt.Errorf("it came to no decision: %s", r.Error))
	case fixturestore.Running:
		return fixture.NewError(fixture.CodePrecondition, "watch replay", id, errors.New("it came to no decision: its server stopped"))
	}
	d, err := decisionOf(s.store, r)
	if err != nil {
		return err
	}
	events := recorded(d)
	if after > uint64(len(events)) {
		return invalid("after_position", fmt.Errorf("the replay has %d events", len(events)))
	}
	for i, e := range events {
		if e.Position = uint64(i) + 1; e.Position <= after {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := send(e); err != nil {
			return err
		}
	}
	return nil
}

// recorded gives the events of a replay that has ended, as its decision has them.
func recorded(d *gatev1.Decision) []*replayv1.WatchReplayResponse {
	out := []*replayv1.WatchReplayResponse{{Event: &replayv1.WatchReplayResponse_Started{Started: &replayv1.Started{
		ReplayId: d.GetReplayId(), Set: d.GetSet(), Version: d.GetVersion(), Checksum: d.GetChecksum(), HermeticCount: d.GetExpected(),
		Baseline: d.GetBaseline(), Candidate: d.GetCandidate(), Policy: d.GetPolicy(),
	}}}}
	for _, f := range d.GetFindings() {
		out = append(out, &replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Finding{Finding: f}})
	}
	return append(out, &replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Decision{Decision: d}})
}

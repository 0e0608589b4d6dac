package retrial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
)

// ErrNoDecision says that a replay ended without a decision that can be relied on. It is a block: nothing was shown.
var ErrNoDecision = errors.New("no decision")

// Replay is one replay under way. It belongs to one goroutine.
type Replay struct {
	recv     func() (*replayv1.ReplayResponse, error)
	asked    *replayv1.ReplayRequest // nil where it is watched
	started  *replayv1.Started
	decision *gatev1.Decision
	err      error
	over     bool
}

// maxDecisionBytes bounds one event: a decision has up to a thousand findings.
const maxDecisionBytes = 16 << 20

// StartReplay begins a replay over a connection to the service. The replay ends when ctx does; then it is recorded as
// cancelled.
func StartReplay(ctx context.Context, conn grpc.ClientConnInterface, req *replayv1.ReplayRequest) (*Replay, error) {
	stream, err := replayv1.NewReplayServiceClient(conn).Replay(ctx, req, grpc.MaxCallRecvMsgSize(maxDecisionBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDecision, err)
	}
	return &Replay{recv: stream.Recv, asked: req}, nil
}

// WatchReplay follows a replay that another call began, from its start: one that is under way, or one that has ended. That the
// watching ends changes nothing about it.
func WatchReplay(ctx context.Context, conn grpc.ClientConnInterface, id string) (*Replay, error) {
	req := &replayv1.WatchReplayRequest{ReplayId: id}
	stream, err := replayv1.NewReplayServiceClient(conn).WatchReplay(ctx, req, grpc.MaxCallRecvMsgSize(maxDecisionBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDecision, err)
	}
	return &Replay{recv: func() (*replayv1.ReplayResponse, error) {
		e, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		return watched(e), nil
	}}, nil
}

// watched gives an event that is watched as the replay's own stream has it.
func watched(e *replayv1.WatchReplayResponse) *replayv1.ReplayResponse {
	switch {
	case e.GetStarted() != nil:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Started{Started: e.GetStarted()}}
	case e.GetProgress() != nil:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Progress{Progress: e.GetProgress()}}
	case e.GetFinding() != nil:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Finding{Finding: e.GetFinding()}}
	case e.GetDecision() != nil:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Decision{Decision: e.GetDecision()}}
	}
	return &replayv1.ReplayResponse{} // of a later release
}

// Events gives the events in their order, up to the decision, which is one of them. It ends early where the stream is
// cut or breaks its contract; Decision says so.
func (r *Replay) Events() iter.Seq[*replayv1.ReplayResponse] {
	return func(yield func(*replayv1.ReplayResponse) bool) {
		for !r.over {
			event, err := r.next()
			if err != nil {
				r.over, r.err = true, err
				return
			}
			if event == nil || !yield(event) {
				return
			}
		}
	}
}

// next gives the next event, or nil at the end that the contract asks for.
func (r *Replay) next() (*replayv1.ReplayResponse, error) {
	event, err := r.recv()
	switch {
	case errors.Is(err, io.EOF) && r.decision != nil:
		r.over = true
		return nil, nil
	case errors.Is(err, io.EOF):
		return nil, errors.New("the stream ended without one")
	case err != nil:
		return nil, err
	case r.decision != nil:
		return nil, errors.New("the stream went on behind the decision")
	}
	if r.started == nil && event.GetStarted() == nil {
		return nil, errors.New("the stream does not begin with the start of the replay")
	}
	switch e := event.GetEvent().(type) {
	case *replayv1.ReplayResponse_Started:
		if r.started != nil {
			return nil, errors.New("the stream started twice")
		}
		r.started = e.Started
	case *replayv1.ReplayResponse_Decision:
		if err := r.sound(e.Decision); err != nil {
			return nil, err
		}
		r.decision = e.Decision
	case *replayv1.ReplayResponse_Progress, *replayv1.ReplayResponse_Finding:
	default:
		return nil, errors.New("the stream carries an event that this release does not know")
	}
	return event, nil
}

// sound holds a decision against what the stream said before, and a pass against its own counts.
func (r *Replay) sound(d *gatev1.Decision) error {
	switch {
	case r.started.GetReplayId() != d.GetReplayId():
		return fmt.Errorf("the decision is of replay %q, the stream of %q", d.GetReplayId(), r.started.GetReplayId())
	case d.GetSet() != r.started.GetSet():
		return fmt.Errorf("the decision is about set %q, the stream about %q", d.GetSet(), r.started.GetSet())
	case r.asked != nil && (d.GetRelease() != r.asked.GetRelease() || d.GetSet() != r.asked.GetSet()):
		return fmt.Errorf("the decision is about release %q on set %q, and release %q on set %q was asked for", d.GetRelease(), d.GetSet(), r.asked.GetRelease(), r.asked.GetSet())
	case d.GetRuling() != gatev1.Ruling_RULING_PASS:
		return nil
	case d.GetConfirmed() == 0 || !addsUp(d) || d.GetEvaluated() != d.GetExpected() || d.GetExpected() != r.started.GetHermeticCount():
		return fmt.Errorf("a pass over %d fixtures, of which %d were confirmed, %d excused and %d tried, is none",
			d.GetExpected(), d.GetConfirmed(), d.GetExcused(), d.GetEvaluated())
	}
	return nil
}

// addsUp says that what was expected was confirmed or excused, fixture for fixture. It adds nothing: a sum of two counts of a
// server that lies comes out right where it goes over 64 bits.
func addsUp(d *gatev1.Decision) bool {
	return d.GetConfirmed() <= d.GetExpected() && d.GetExcused() == d.GetExpected()-d.GetConfirmed()
}

// Decision gives the decision, once Events has come to its end. Any error wraps ErrNoDecision and, where the service gave
// one, its status.
func (r *Replay) Decision() (*gatev1.Decision, error) {
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoDecision, r.err)
	case r.decision == nil || !r.over:
		return nil, fmt.Errorf("%w: the events were not read to their end", ErrNoDecision)
	}
	return r.decision, nil
}

// Passed says whether a decision lets a release go out. It is false for nil, for every ruling but a pass, and for one
// over only some of the fixtures.
func Passed(d *gatev1.Decision) bool {
	return d.GetRuling() == gatev1.Ruling_RULING_PASS && !d.GetPartial()
}

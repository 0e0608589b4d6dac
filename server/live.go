package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// live is a replay that is under way here, with the events that watchers get. Safe for concurrent use.
type live struct {
	id          string
	seq         uint64
	submittedBy string
	cancel      context.CancelCauseFunc

	mu       sync.Mutex // guards the rest
	events   []*replayv1.WatchReplayResponse
	findings int
	progress *replayv1.Progress
	ended    bool
	stopped  bool // somebody has cancelled it, and been told so
	decided  bool // its decision is being recorded, and cannot be cancelled any more
	changed  bell
}

// stop cancels the replay, unless it is too late: who is told that it is cancelled never sees it pass.
func (l *live) stop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.decided {
		return false
	}
	l.stopped = true
	l.cancel(errCancelled)
	return true
}

// decide is in front of recording a decision. A replay that was cancelled when it had all of its answers has none.
func (l *live) decide(d *gatev1.Decision) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped && d.GetRuling() == gatev1.Ruling_RULING_PASS {
		return fmt.Errorf("%w: %w", errCancelled, context.Canceled)
	}
	l.decided = true
	return nil
}

// add appends an event behind those there are. Of the findings it keeps the first, as the decision does.
func (l *live) add(e *replayv1.WatchReplayResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.GetFinding() != nil {
		if l.findings == replayer.MaxFindings {
			return
		}
		l.findings++
	}
	e.Position = uint64(len(l.events)) + 1
	l.events = append(l.events, e)
	l.changed.ring()
}

func (l *live) move(p *replayv1.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = p
	l.changed.ring()
}

// end says that no event follows.
func (l *live) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed.ring()
}

// since gives the events behind a position, how far the replay is, whether it has ended, and what rings at the next change.
func (l *live) since(position uint64) (events []*replayv1.WatchReplayResponse, progress *replayv1.Progress, ended bool, rung <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if position < uint64(len(l.events)) {
		events = l.events[position:]
	}
	return events, l.progress, l.ended, l.changed.rung()
}

// follow sends the events behind a position until the replay has ended.
func (l *live) follow(ctx context.Context, position uint64, send func(*replayv1.WatchReplayResponse) error) error {
	var told *replayv1.Progress
	for {
		events, progress, ended, rung := l.since(position)
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
			position = e.GetPosition()
		}
		if progress != told && !ended {
			told = progress
			if err := send(&replayv1.WatchReplayResponse{Position: position, Event: &replayv1.WatchReplayResponse_Progress{Progress: progress}}); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rung:
		}
	}
}

var errCancelled = errors.New("somebody cancelled the replay")

// sink tells watchers what a run finds, and its caller, if there is one that must see everything.
type sink struct {
	live    *live
	started *replayv1.Started
	send    func(*replayv1.ReplayResponse) error // nil for a detached replay: its caller watches
}

func (s *sink) tell(e *replayv1.ReplayResponse) error {
	if s.send == nil {
		return nil
	}
	return s.send(e)
}

// Started implements replayer.Sink.
func (s *sink) Started(n replayer.Selection) error {
	s.started.HermeticCount, s.started.DerivedCount = n.Hermetic, n.Derived
	s.live.add(&replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Started{Started: s.started}})
	return s.tell(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Started{Started: s.started}})
}

// Progress implements replayer.Sink.
func (s *sink) Progress(p replayer.Progress) error {
	progress := progressToProto(p)
	s.live.move(progress)
	return s.tell(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Progress{Progress: progress}})
}

// Finding implements replayer.Sink.
func (s *sink) Finding(f gate.Finding) error {
	finding := findingToProto(f)
	s.live.add(&replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Finding{Finding: finding}})
	return s.tell(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Finding{Finding: finding}})
}

// decided is the last event.
func (s *sink) decided(d *gatev1.Decision) error {
	s.live.add(&replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Decision{Decision: d}})
	return s.tell(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Decision{Decision: d}})
}

// asReplayed gives an event that is watched as one of a replay of one's own.
func asReplayed(e *replayv1.WatchReplayResponse) *replayv1.ReplayResponse {
	switch event := e.GetEvent().(type) {
	case *replayv1.WatchReplayResponse_Started:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Started{Started: event.Started}}
	case *replayv1.WatchReplayResponse_Progress:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Progress{Progress: event.Progress}}
	case *replayv1.WatchReplayResponse_Finding:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Finding{Finding: event.Finding}}
	default:
		return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Decision{Decision: e.GetDecision()}}
	}
}

// liveOf gives a replay that is under way here, or nil.
func (s *replays) liveOf(id string) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

func (s *replays) list(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[l.id] = l
}

func (s *replays) unlist(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, l.id)
}

// isRunning says whether a replay that has not ended is under way here, rather than cut by the end of its process.
func (s *replays) isRunning(id string) bool { return s.liveOf(id) != nil }

// stop ends the replays that are left, and waits until their end is recorded. It comes after the last call.
func (s *replays) stop() {
	s.cancelAll()
	s.detached.Wait()
}

// cancelAll has every replay under way end as cancelled.
func (s *replays) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.live {
		l.cancel(errCancelled)
	}
}

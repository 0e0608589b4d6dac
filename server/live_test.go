package server

import (
	"testing"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer"
)

// Watchers get as many findings as the decision has, so that the memory of a replay is bounded and positions stay what they are.
func TestLiveKeepsWhatTheDecisionHas(t *testing.T) {
	l := &live{}
	l.add(&replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Started{Started: &replayv1.Started{}}})
	for range 2 * replayer.MaxFindings {
		l.add(&replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Finding{Finding: &gatev1.Finding{}}})
	}
	l.add(&replayv1.WatchReplayResponse{Event: &replayv1.WatchReplayResponse_Decision{Decision: &gatev1.Decision{}}})
	events, _, _, _ := l.since(0)
	if n := len(events); n != replayer.MaxFindings+2 || events[n-1].GetDecision() == nil || events[n-1].GetPosition() != uint64(n) {
		t.Errorf("%d events", n)
	}
}

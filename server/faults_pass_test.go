//go:build linux

package server_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/retrial-dev/retrial/clients/retrial"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// R23, R24: what the contract leaves to a checker changes no ruling. Without these, the tests of faults would hold of a
// server that passes nothing.
func TestCheckerThatKeepsTheContractInItsOwnWay(t *testing.T) {
	modes := map[string]string{ // the set that each is tried on
		"right": plainSet, "reversed-batches": plainSet, "at-the-end-reversed": plainSet, "empty-messages-between": plainSet,
		"loud": plainSet, "grandchild": plainSet, "daemon": plainSet, "certificate": plainSet,
		"sdk-right": plainSet, "sdk-loud": plainSet, "sdk-uses-stub": stubbedSet,
	}
	b := newBench(t, func(b *bench) map[string]server.CheckerConfig {
		checkers := map[string]server.CheckerConfig{}
		for mode := range modes {
			checkers[mode] = b.command(mode, mode)
		}
		return checkers
	})
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			// One entry, two processes.
			req := &replayv1.ReplayRequest{Set: modes[mode], Baseline: named(mode), Candidate: named(mode), CaseTimeout: durationpb.New(10 * time.Second)}
			r := b.replay(t, t.Name(), req)
			if r.err != nil || !retrial.Passed(r.decision) {
				t.Errorf("no pass: %s, %v", r.decision.GetSummary(), r.err)
			}
			for _, f := range r.findings {
				t.Errorf("finding: %s %s: %s", f.GetCode(), f.GetSubject(), f.GetMessage())
			}
			if res := b.standing(t, modes[mode], t.Name()); res.GetStatus() != gatev1.Status_STATUS_PASS {
				t.Errorf("the gate says %s", res.GetStatus())
			}
			killDaemons(t, b.pids(mode))
			checkGone(t, b.pids(mode))
		})
	}
}

//go:build linux

package server_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"

	"github.com/retrial-dev/retrial/clients/retrial"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// ownSDK reproduces the plain set by the Go SDK.
type ownSDK struct{}

// Describe implements retrial.Checker.
func (ownSDK) Describe() retrial.Description {
	return retrial.Description{Name: "sdk", Version: "1", BuildDigest: "sha256:1"}
}

// Check implements retrial.Checker.
func (ownSDK) Check(_ context.Context, c *retrial.Case) (retrial.Outcome, error) {
	n, err := retrial.Member[int](c, "n")
	if err != nil {
		return retrial.Outcome{}, err
	}
	return retrial.Outcome{Verdict: right(n).GetVerdict(), ReasonCode: right(n).GetReasonCode()}, nil
}

// A checker of the Go SDK attaches, is listed and described, is tried, and is gone when it is told to stop.
func TestAttachedCheckerIsTried(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	target := b.listenHere(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	came, ended := make(chan *registryv1.Instance, 1), make(chan error, 1)
	go func() {
		ended <- retrial.Attach(ctx, target, "next", ownSDK{}, retrial.OnAttached(func(in *registryv1.Instance) { came <- in }))
	}()
	var in *registryv1.Instance
	select {
	case in = <-came:
	case err := <-ended:
		t.Fatal(err)
	}
	if list := b.instances(t, "next"); len(list) != 1 || list[0].GetInstanceId() != in.GetInstanceId() || list[0].GetBuildDigest() != "sha256:1" || list[0].GetSince() == nil {
		t.Errorf("the registry lists %v", list)
	}
	d, err := registryv1.NewRegistryServiceClient(b.conn).DescribeChecker(t.Context(), &registryv1.DescribeCheckerRequest{Name: "next"})
	if err != nil || d.GetDescription().GetName() != "sdk" || d.GetChecker().GetTransport() != registryv1.Transport_TRANSPORT_ATTACHED {
		t.Errorf("described as %v, %v", d, err)
	}
	r := b.tried(t)
	if r.err != nil || r.decision.GetRuling() != gatev1.Ruling_RULING_PASS || r.decision.GetEvaluated() != plainCount {
		t.Errorf("ruling %v, %v", r.decision, r.err)
	}
	if c := r.decision.GetCandidate(); c.GetReached() != "attached" || c.GetInstances() != 1 || r.decision.GetBaseline().GetReached() != "dialled" {
		t.Errorf("the decision names %v", c)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it was told to stop: %v", err)
	}
	b.await(t, "next", 0)
}

// Two instances of a name share the cases of each pass, and the decision is the same as with one.
func TestInstancesShareTheCases(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	flipping := func() *own {
		return &own{version: "1", digest: "sha256:1", behaviour: behaviour{each: func(s *session, c *checkerv1.Case) error {
			if number(c)%50 == 0 {
				return s.send(outcome(c, right(3)))
			}
			return s.right(c)
		}}}
	}
	one, two := flipping(), flipping()
	b.attach(t, "next", one)
	alone := b.tried(t)
	b.attach(t, "next", two)
	before := one.asked.Load()
	together := b.tried(t)
	if one.asked.Load() == before || two.asked.Load() == 0 || one.asked.Load()-before+two.asked.Load() != 2*plainCount {
		t.Errorf("the instances were asked %d and %d cases, want some each and %d in all", one.asked.Load()-before, two.asked.Load(), 2*plainCount)
	}
	if n := together.decision.GetCandidate().GetInstances(); n != 2 {
		t.Errorf("the decision names %d instances", n)
	}
	checkSameDecision(t, alone, together)
	if alone.decision.GetFlipped() == 0 {
		t.Error("nothing flipped")
	}
}

// checkSameDecision holds that two decisions are the same, but for what is another in every run and for lost instances.
func checkSameDecision(t *testing.T, a, b trial) {
	t.Helper()
	if a.err != nil || b.err != nil {
		t.Fatal(a.err, b.err)
	}
	if x, y := fmt.Sprint(withoutRun(a.decision)), fmt.Sprint(withoutRun(b.decision)); x != y {
		t.Errorf("the decisions differ:\n%s\n%s", x, y)
	}
}

func withoutRun(d *gatev1.Decision) string {
	c := cloneOf(d)
	c.ReplayId, c.StartedAt, c.DecidedAt, c.Release = "", nil, nil, ""
	c.Candidate.Instances = 0
	if c.Evidence != nil {
		c.Evidence.BaselineReplayId = ""
	}
	before := len(c.Findings)
	c.Findings = slices.DeleteFunc(c.Findings, func(f *gatev1.Finding) bool { return f.GetCode() == "INSTANCE_LOST" })
	c.FindingCount -= uint64(before - len(c.Findings))
	return bytesOf(c)
}

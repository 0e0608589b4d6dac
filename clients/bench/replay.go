package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrial-dev/retrial/clients/retrial"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

const roleReplay = "bench-replay"

// replayed is how long the phases of one replay took, in seconds.
type replayed struct {
	// Ready is from the call to the first event: both checkers are launched, and the whole version is read and hashed.
	Ready float64
	// Pair is from there until baseline and candidate, side by side, have both answered everything.
	Pair float64
	// Probe is the candidate asked everything again, alone, but for the first hundredth: ProbeCases of them.
	Probe      float64
	ProbeCases float64
	// Decided is from the first event to the decision.
	Decided float64
	// CPU is what the hosting process used from there on, its checkers left out.
	CPU float64
}

// replayRole is the role roleReplay: STORE. It is a process of its own so that its heap holds nothing but a replay.
func replayRole(args []string) int {
	r, err := replay(context.Background(), args[0])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// replay runs one replay over the whole service: the embedded server, as the command line starts it.
func replay(ctx context.Context, path string) (r replayed, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	checker := server.CheckerConfig{Command: []string{self, roleChecker}}
	config := server.Config{Checkers: map[string]server.CheckerConfig{"baseline": checker, "candidate": checker}}
	store, key, err := server.OpenStore(path, "")
	if err != nil {
		return r, err
	}
	s, err := server.New(config, server.Parts{Store: store, Checkers: server.NewCheckers(config), Key: key, Log: zap.NewNop()})
	if err != nil {
		return r, errors.Join(err, store.Close())
	}
	l := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:embedded", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err == nil {
		r, err = timed(ctx, conn)
		err = errors.Join(err, conn.Close())
	}
	return r, errors.Join(err, s.Stop(), <-served, store.Close())
}

// timed runs a replay that must pass, and takes the time of its events.
func timed(ctx context.Context, conn *grpc.ClientConn) (r replayed, err error) {
	start := time.Now()
	lap := func() float64 { return time.Since(start).Seconds() }
	run, err := retrial.StartReplay(ctx, conn, &replayv1.ReplayRequest{Set: setName,
		Baseline:  &replayv1.CheckerRef{Checker: &replayv1.CheckerRef_Name{Name: "baseline"}},
		Candidate: &replayv1.CheckerRef{Checker: &replayv1.CheckerRef_Name{Name: "candidate"}},
	})
	if err != nil {
		return r, err
	}
	var probeAt float64
	for event := range run.Events() {
		p := event.GetProgress()
		switch {
		case event.GetStarted() != nil:
			r.Ready, r.CPU = lap(), -cpu()
		case p.GetPhase() == replayv1.Phase_PHASE_CONFIRMATION || p.GetPhase() == replayv1.Phase_PHASE_CANDIDATE:
			r.Pair = lap() - r.Ready
		case p.GetPhase() == replayv1.Phase_PHASE_PROBE && probeAt == 0:
			probeAt, r.ProbeCases = lap(), -float64(p.GetAnswered())
		case p.GetPhase() == replayv1.Phase_PHASE_PROBE && p.GetAnswered() == p.GetExpected():
			r.Probe, r.ProbeCases = lap()-probeAt, r.ProbeCases+float64(p.GetExpected())
		case event.GetDecision() != nil:
			r.Decided, r.CPU = lap()-r.Ready, r.CPU+cpu()
		}
	}
	d, err := run.Decision()
	if err != nil {
		return r, err
	}
	if !retrial.Passed(d) {
		return r, fmt.Errorf("the replay did not pass: %s", d.GetRuling())
	}
	return r, nil
}

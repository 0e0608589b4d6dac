//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/retrial-dev/retrial/clients/retrial"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// seedVariable gives the seed of an earlier run.
const seedVariable = "RETRIAL_FAULTS_SEED"

// randomness gives random numbers whose seed stands in the log.
func randomness(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv(seedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("to run this again: %s=%d", seedVariable, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// point is where a replay stands when its caller goes away.
type point struct {
	phase string // launch, confirmation, candidate or probe
	n     int    // the fixture that is being decided, in the latter three
	cut   bool   // the connection is lost, rather than the call cancelled
}

func (p point) String() string {
	how := "cancelled"
	if p.cut {
		how = "connection-lost"
	}
	return fmt.Sprintf("%s-%d-%s", p.phase, p.n, how)
}

// checker gives the checker that comes to the point and no further.
func (p point) checker(b *bench, entry string) server.CheckerConfig {
	stream := "1"
	switch p.phase {
	case "launch":
		return b.command(entry, "tells-and-never-shakes-hands", b.told(entry))
	case "probe":
		stream = "2"
	}
	return b.command(entry, "waits", b.told(entry), stream, fmt.Sprint(p.n))
}

func (b *bench) told(entry string) string { return filepath.Join(b.dir, entry) }

// R29: a run whose caller goes away is no pass, wherever it stands: it is recorded as blocked because it was cancelled, or,
// before a checker was there, as having come to no decision. Nothing of it is left.
func TestReplayWhoseCallerGoesAway(t *testing.T) {
	random := randomness(t)
	points := make([]point, 50)
	for i := range points {
		phase := []string{"launch", "confirmation", "candidate", "candidate", "probe"}[random.IntN(5)]
		points[i] = point{phase, random.IntN(plainCount), random.IntN(3) == 0}
	}
	entry := func(i int) string { return fmt.Sprintf("p%02d", i) }
	b := newBench(t, func(b *bench) map[string]server.CheckerConfig {
		checkers := map[string]server.CheckerConfig{}
		for i, p := range points {
			checkers[entry(i)] = p.checker(b, entry(i))
		}
		return checkers
	})
	for i, p := range points {
		t.Run(fmt.Sprintf("%s-%s", entry(i), p), func(t *testing.T) {
			t.Parallel()
			req := &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(b.good), Candidate: named(entry(i)), Release: t.Name()}
			if p.phase == "confirmation" {
				req.Baseline, req.Candidate = req.Candidate, req.Baseline
			}
			d, err := b.abandon(t, req, b.told(entry(i)), p.cut)
			if d != nil || !errors.Is(err, retrial.ErrNoDecision) {
				t.Errorf("the caller that went away has a decision: %v, %v", d, err)
			}
			if s, _ := status.FromError(err); !p.cut && s.Code() != codes.Canceled {
				t.Errorf("the call ends in %s, want CANCELLED: %v", s.Code(), err)
			}
			checkGone(t, b.pids(entry(i)))
			b.checkCancelled(t, p)
		})
	}
}

// abandon runs a replay until a checker tells that it has come to its point, and goes away.
func (b *bench) abandon(t *testing.T, req *replayv1.ReplayRequest, told string, cut bool) (*gatev1.Decision, error) {
	t.Helper()
	l, err := net.Listen("unix", told)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.(*net.UnixListener).SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn := b.dial(t)
	goAway := cancel
	if cut {
		goAway = func() { _ = conn.Close() } // the error of a connection that is closed twice is of no interest
	}
	defer conn.Close()
	came := make(chan error, 1)
	go func() {
		signal, err := l.Accept()
		if err == nil {
			err = signal.Close()
		}
		came <- err
		goAway()
	}()
	d, err := endOf(ctx, conn, req)
	if err := <-came; err != nil {
		t.Fatalf("the checker did not come to the point: %v", err)
	}
	return d, err
}

// endOf reads a replay to its end.
func endOf(ctx context.Context, conn *grpc.ClientConn, req *replayv1.ReplayRequest) (*gatev1.Decision, error) {
	r, err := retrial.StartReplay(ctx, conn, req)
	if err != nil {
		return nil, err
	}
	for range r.Events() {
	}
	return r.Decision()
}

// checkCancelled holds what the gate says once the server has noticed that the caller is gone.
func (b *bench) checkCancelled(t *testing.T, p point) {
	t.Helper()
	var res *gatev1.SetStanding
	if !eventually(func() bool {
		res = b.standing(t, plainSet, t.Name())
		return len(res.GetCauses()) != 1 || res.GetCauses()[0].GetCode() != "RUNNING"
	}) {
		t.Fatal("the replay is still under way")
	}
	if p.phase == "launch" {
		if res.GetStatus() != gatev1.Status_STATUS_UNKNOWN || res.GetCauses()[0].GetCode() != "FAILED" {
			t.Errorf("the gate says %s: %v", res.GetStatus(), res.GetCauses())
		}
		return
	}
	if res.GetStatus() != gatev1.Status_STATUS_BLOCK || res.GetDecision().GetRuling() != gatev1.Ruling_RULING_BLOCK {
		t.Fatalf("the gate says %s by ruling %s: %v", res.GetStatus(), res.GetDecision().GetRuling(), res.GetCauses())
	}
	if code := res.GetCauses()[0].GetCode(); code != "RUN_CANCELLED" {
		t.Errorf("the first cause is %s, want RUN_CANCELLED", code)
	}
}

// R29: a run that takes longer than it may is blocked for that reason, and blames no checker.
func TestReplayThatTakesTooLong(t *testing.T) {
	timeouts := []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}
	phases := []string{"confirmation", "candidate"}
	entry := func(phase string, timeout time.Duration) string { return fmt.Sprintf("%s-%s", phase, timeout) }
	b := newBench(t, func(b *bench) map[string]server.CheckerConfig {
		checkers := map[string]server.CheckerConfig{}
		for _, timeout := range timeouts {
			for _, phase := range phases {
				checkers[entry(phase, timeout)] = b.command(entry(phase, timeout), "hangs")
			}
		}
		return checkers
	})
	for _, timeout := range timeouts {
		for _, phase := range phases {
			t.Run(entry(phase, timeout), func(t *testing.T) {
				t.Parallel()
				req := &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(b.good), Candidate: named(entry(phase, timeout)), RunTimeout: durationpb.New(timeout)}
				if phase == "confirmation" {
					req.Baseline, req.Candidate = req.Candidate, req.Baseline
				}
				r := b.replay(t, t.Name(), req)
				if r.err != nil || r.decision.GetRuling() != gatev1.Ruling_RULING_BLOCK {
					t.Fatalf("ruling %s, %v", r.decision.GetRuling(), r.err)
				}
				if code := r.decision.GetCauses()[0].GetCode(); code != "RUN_TIMEOUT" {
					t.Errorf("the first cause is %s, want RUN_TIMEOUT: %v", code, r.decision.GetCauses())
				}
				for _, f := range r.findings {
					if f.GetCode() != "RUN_TIMEOUT" {
						t.Errorf("finding: %s %s: %s", f.GetCode(), f.GetSubject(), f.GetMessage())
					}
				}
				b.checkNoPass(t, plainSet, r)
				checkGone(t, b.pids(entry(phase, timeout)))
			})
		}
	}
}

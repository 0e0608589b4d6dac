package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// Timeouts of a run that names none.
const (
	defaultCaseTimeout = 30 * time.Second
	defaultRunTimeout  = 30 * time.Minute
)

// replays implements ReplayService.
type replays struct {
	replayv1.UnimplementedReplayServiceServer
	store    *fixturestore.Store
	registry *Checkers
	limits   Limits
	override bool
	now      func() time.Time
	log      *zap.Logger
	slots    chan struct{} // one for each replay under way

	mu      sync.Mutex // guards running
	running map[uint64]bool
}

// Replay implements the service.
func (s *replays) Replay(req *replayv1.ReplayRequest, stream grpc.ServerStreamingServer[replayv1.ReplayResponse]) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return fixture.NewError(fixture.CodeBusy, "replay", "", fmt.Errorf("%d replays are under way, as many as this server runs at a time; try again later", cap(s.slots)))
	}
	if err := checkReplay(req); err != nil {
		return err
	}
	v, trial, err := s.prepare(req)
	if err != nil {
		return err
	}
	// From here on the release was tried, whatever comes of it.
	record := fixturestore.Replay{ID: "r-" + strings.ToLower(rand.Text()[:16]), Set: v.Set, Version: v.Number, Release: req.GetRelease(), StartedAt: trial.Now}
	seq, err := s.begin(record)
	if err != nil {
		return err
	}
	defer s.done(seq)
	d, err := s.try(req, record, trial, stream)
	if err != nil {
		// What is recorded is what the caller is told, and no more.
		told := status.Convert(toStatus(s.log, err)).Message()
		return errors.Join(err, s.store.EndReplay(seq, nil, fixture.Printable(told, maxFailure)))
	}
	return s.rule(seq, d, stream)
}

// maxFailure bounds what is recorded of the reason why a replay came to no decision, in bytes.
const maxFailure = 2 << 10

// try runs a trial and gives its decision, or the reason why there is none.
func (s *replays) try(req *replayv1.ReplayRequest, record fixturestore.Replay, trial replayer.Trial, stream grpc.ServerStreamingServer[replayv1.ReplayResponse]) (d *gatev1.Decision, err error) {
	hosts, err := s.hosts(stream.Context(), req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hosts.close()) }()
	if trial.Baseline, err = hosts.baseline.Checker(req.GetBaseline().GetParameters()); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if trial.Candidate, err = hosts.candidate.Checker(req.GetCandidate().GetParameters()); err != nil {
		return nil, fmt.Errorf("candidate: %w", err)
	}
	sink := &sink{stream: stream, started: &replayv1.Started{
		ReplayId: record.ID, Set: record.Set, Version: record.Version, Checksum: trial.Checksum, Policy: PolicyToProto(trial.Policy),
		Baseline: hosts.baseline.identity(trial.Baseline.Description()), Candidate: hosts.candidate.identity(trial.Candidate.Description()),
	}}
	report, err := replayer.Run(stream.Context(), trial, sink)
	if err != nil {
		return nil, err
	}
	d = reportToProto(report)
	d.ReplayId, d.Release, d.Set, d.Version, d.Checksum = record.ID, record.Release, record.Set, record.Version, trial.Checksum
	d.Policy, d.Baseline, d.Candidate = sink.started.Policy, sink.started.Baseline, sink.started.Candidate
	d.StartedAt, d.Partial = timestamp(record.StartedAt), trial.Selected != nil
	return d, nil
}

// rule records the decision, and then sends it.
func (s *replays) rule(seq uint64, d *gatev1.Decision, stream grpc.ServerStreamingServer[replayv1.ReplayResponse]) error {
	d.DecidedAt = timestamp(s.now())
	stored, err := proto.Marshal(d)
	if err != nil {
		return err
	}
	if err := s.store.EndReplay(seq, stored, ""); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	s.log.Info("decision", zap.String("replay", d.GetReplayId()), zap.String("set", d.GetSet()), zap.Uint64("version", d.GetVersion()),
		zap.String("release", d.GetRelease()), zap.String("ruling", d.GetRuling().String()), zap.Uint64("flipped", d.GetFlipped()))
	return stream.Send(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Decision{Decision: d}})
}

func (s *replays) begin(record fixturestore.Replay) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, err := s.store.BeginReplay(record)
	if err == nil {
		s.running[seq] = true
	}
	return seq, err
}

func (s *replays) done(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, seq)
}

// isRunning says whether a replay that has not ended is under way here, rather than cut by the end of its process.
func (s *replays) isRunning(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[seq]
}

func checkReplay(req *replayv1.ReplayRequest) error {
	var errs []error
	if req.GetBaseline() == nil {
		errs = append(errs, invalid("baseline", errors.New("missing")))
	}
	if req.GetCandidate() == nil {
		errs = append(errs, invalid("candidate", errors.New("missing")))
	}
	if f := req.GetFilter(); f != "" {
		if _, err := path.Match(f, ""); err != nil {
			errs = append(errs, invalid("filter", fmt.Errorf("%.120q: %w", f, err)))
		}
		if req.GetRelease() != "" {
			errs = append(errs, invalid("filter", errors.New("a run over some of the fixtures is no evidence for a release: leave out the filter or the release")))
		}
	}
	if r := req.GetRelease(); r != "" {
		if err := fixture.CheckName(r, fixture.MaxIDBytes); err != nil {
			errs = append(errs, invalid("release", err))
		}
	}
	for field, d := range map[string]*durationpb.Duration{"case_timeout": req.GetCaseTimeout(), "run_timeout": req.GetRunTimeout()} {
		if d != nil && (d.CheckValid() != nil || d.AsDuration() <= 0) {
			errs = append(errs, invalid(field, errors.New("a timeout is more than nothing")))
		}
	}
	return errors.Join(errs...)
}

// prepare finds the version and makes a trial of it, all but the checkers.
func (s *replays) prepare(req *replayv1.ReplayRequest) (*fixturestore.Version, replayer.Trial, error) {
	v, err := version(s.store, req.GetSet(), req.GetVersion())
	if err != nil {
		return nil, replayer.Trial{}, err
	}
	if want := req.GetChecksum(); want != "" && want != v.Checksum {
		return nil, replayer.Trial{}, fixture.NewError(fixture.CodePrecondition, "replay", v.Name(), fmt.Errorf("its checksum is %s, the caller expects %s", v.Checksum, want))
	}
	set, err := setOf(v)
	if err != nil {
		return nil, replayer.Trial{}, err
	}
	var notes []gate.Finding
	if req.GetPolicy() != nil {
		own := set.Policy
		if set.Policy, err = s.overridden(req.GetPolicy(), set); err != nil {
			return nil, replayer.Trial{}, err
		}
		if !set.Policy.Equal(own) {
			notes = append(notes, gate.Finding{Code: gate.PolicyOverridden, Subject: v.Set,
				Message: fmt.Sprintf("ruled by the policy %s in place of the set's own, %s: a pass is no evidence for a release", set.Policy, own)})
		}
	}
	blocks, err := s.store.Blocks(v)
	if err != nil {
		return nil, replayer.Trial{}, err
	}
	t := replayer.Trial{
		Source: &source{blocks}, Checksum: v.Checksum, Vocabulary: set.Vocabulary, Tally: v.Tally, QueueConfiguration: set.QueueConfiguration,
		Policy: set.Policy, Allowlist: set.Allowlist, Now: s.now().UTC(), KeepGoing: req.GetKeepGoing(), IncludeDerived: req.GetIncludeDerived(), Show: set.Show, Notes: notes,
		CaseTimeout: timeout(req.GetCaseTimeout(), defaultCaseTimeout, s.limits.CaseTimeout),
		RunTimeout:  timeout(req.GetRunTimeout(), defaultRunTimeout, s.limits.RunTimeout),
		Seed:        seed(), Elapsed: stopwatch(),
	}
	if filter := req.GetFilter(); filter != "" {
		t.Selected = func(id string) bool {
			ok, err := path.Match(filter, id)
			return ok && err == nil
		}
	}
	return v, t, nil
}

// overridden takes a policy for this run in place of the version's own, where the configuration admits that.
func (s *replays) overridden(p *gatev1.Policy, set Set) (gate.Policy, error) {
	if !s.override {
		return gate.Policy{}, fixture.NewError(fixture.CodeDenied, "replay", "", errors.New("the server's configuration (policy_override) does not admit a policy other than the version's own"))
	}
	policy, err := PolicyFromProto(p)
	if err != nil {
		return policy, err
	}
	policy = policy.Over(set.Policy)
	if policy.Kind != gate.Listed {
		return policy, nil // the list, if there is one, is not read
	}
	return policy, gate.ValidateAllowlist(set.Allowlist, policy)
}

func timeout(asked *durationpb.Duration, standard, most time.Duration) time.Duration {
	return min(cmp.Or(asked.AsDuration(), standard), most)
}

// seed orders the probe. It decides nothing but the order, so that any will do.
func seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func stopwatch() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// hosts are the two checkers of a run.
type hosts struct{ baseline, candidate *reached }

// hosts reaches both checkers side by side.
func (s *replays) hosts(ctx context.Context, req *replayv1.ReplayRequest) (hosts, error) {
	var h hosts
	var baselineErr, candidateErr error
	var wg sync.WaitGroup
	wg.Go(func() { h.baseline, baselineErr = s.registry.open(ctx, req.GetBaseline()) })
	wg.Go(func() { h.candidate, candidateErr = s.registry.open(ctx, req.GetCandidate()) })
	wg.Wait()
	if baselineErr != nil {
		baselineErr = fmt.Errorf("baseline: %w", baselineErr)
	}
	if candidateErr != nil {
		candidateErr = fmt.Errorf("candidate: %w", candidateErr)
	}
	if err := errors.Join(baselineErr, candidateErr); err != nil {
		return hosts{}, errors.Join(err, h.close())
	}
	return h, nil
}

func (h hosts) close() error {
	var errs [2]error
	var wg sync.WaitGroup
	for i, host := range []*reached{h.baseline, h.candidate} {
		if host != nil {
			wg.Go(func() { errs[i] = host.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// sink sends the events of a run.
type sink struct {
	stream  grpc.ServerStreamingServer[replayv1.ReplayResponse]
	started *replayv1.Started
}

// Started implements replayer.Sink.
func (s *sink) Started(n replayer.Selection) error {
	s.started.HermeticCount, s.started.DerivedCount = n.Hermetic, n.Derived
	return s.stream.Send(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Started{Started: s.started}})
}

// Progress implements replayer.Sink.
func (s *sink) Progress(p replayer.Progress) error {
	return s.stream.Send(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Progress{Progress: progressToProto(p)}})
}

// Finding implements replayer.Sink.
func (s *sink) Finding(f gate.Finding) error {
	return s.stream.Send(&replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Finding{Finding: findingToProto(f)}})
}

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server/telemetry"
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
	observer *telemetry.Telemetry
	slots    chan struct{} // one for each replay under way
	changed  *bell

	detached sync.WaitGroup
	mu       sync.Mutex // guards live
	live     map[string]*live
}

// Replay implements the service.
func (s *replays) Replay(req *replayv1.ReplayRequest, stream grpc.ServerStreamingServer[replayv1.ReplayResponse]) error {
	if err := checkReplay(req); err != nil {
		return err
	}
	by := principalOf(stream.Context())
	if key := req.GetIdempotencyKey(); key != "" {
		before, err := s.store.ReplayByKey(by, key)
		if err != nil {
			return err
		}
		if before != nil {
			return s.again(req, before, stream)
		}
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return fixture.NewError(fixture.CodeBusy, "replay", "", fmt.Errorf("%d replays are under way, as many as this server runs at a time; try again later", cap(s.slots)))
	}
	ctx := stream.Context()
	if req.GetDetach() {
		ctx = context.WithoutCancel(ctx) // it goes on where the caller goes away, and ends where the server does
	}
	c, err := s.open(ctx, req, by)
	if err != nil {
		<-s.slots
		if key := req.GetIdempotencyKey(); key != "" && fixture.CodeOf(err) == fixture.CodeExists { // another was faster
			before, readErr := s.store.ReplayByKey(by, key)
			if readErr != nil || before == nil {
				return errors.Join(err, readErr)
			}
			return s.again(req, before, stream)
		}
		return err
	}
	if !req.GetDetach() {
		return s.run(c, stream.Send)
	}
	s.detached.Go(func() {
		if err := recovered(s.log, "detached replay", func() error { return s.run(c, nil) }); err != nil {
			s.log.Warn("a detached replay came to no decision", zap.String("replay", c.record.ID), zap.Error(err))
		}
	})
	return s.watch(stream.Context(), c.record.ID, 0, func(e *replayv1.WatchReplayResponse) error { return stream.Send(asReplayed(e)) })
}

// again answers a second request with the key of a first one.
func (s *replays) again(req *replayv1.ReplayRequest, before *fixturestore.Replay, stream grpc.ServerStreamingServer[replayv1.ReplayResponse]) error {
	asked, err := requestDigest(req)
	if err != nil {
		return err
	}
	if asked != before.Request {
		return fixture.NewError(fixture.CodeExists, "replay with key", fmt.Sprintf("%.80q", req.GetIdempotencyKey()), fmt.Errorf("the key was used for another request, replay %s", before.ID))
	}
	return s.watch(stream.Context(), before.ID, 0, func(e *replayv1.WatchReplayResponse) error { return stream.Send(asReplayed(e)) })
}

// trialOf is one replay that is about to run.
type trialOf struct {
	ctx    context.Context
	req    *replayv1.ReplayRequest
	record fixturestore.Replay
	trial  replayer.Trial
	blocks *fixturestore.Blocks
	set    Set
	live   *live
	seen   *telemetry.Replay
}

// open records that a replay begins. From here on the release was tried, whatever comes of it.
func (s *replays) open(ctx context.Context, req *replayv1.ReplayRequest, by string) (*trialOf, error) {
	v, set, trial, err := s.prepare(req)
	if err != nil {
		return nil, err
	}
	asked, err := requestDigest(req)
	if err != nil {
		return nil, err
	}
	c := &trialOf{req: req, trial: trial, blocks: trial.Source.(*source).blocks, set: set, record: fixturestore.Replay{
		ID: newID("r-"), Set: v.Set, Version: v.Number, Release: req.GetRelease(), StartedAt: trial.Now,
		SubmittedBy: by, Key: req.GetIdempotencyKey(), Request: asked,
	}}
	c.live = &live{id: c.record.ID, submittedBy: by}
	c.ctx, c.live.cancel = context.WithCancelCause(ctx)
	s.list(c.live) // before there is a record that says that it runs
	if c.live.seq, err = s.store.BeginReplay(c.record); err != nil {
		c.live.cancel(err)
		s.unlist(c.live)
		return nil, err
	}
	s.changed.ring()
	return c, nil
}

// run runs a replay to its end, and gives its slot back.
func (s *replays) run(c *trialOf, send func(*replayv1.ReplayResponse) error) error {
	defer func() {
		c.live.cancel(nil)
		s.unlist(c.live)
		c.live.end()
		s.changed.ring()
		<-s.slots
	}()
	note(c.ctx, zap.String("set", c.record.Set), zap.Uint64("version", c.record.Version), zap.String("replay", c.record.ID))
	c.seen = s.observer.Begin(c.ctx, c.record.Set, c.record.Version, c.record.ID)
	defer c.seen.End()
	out := &sink{live: c.live, send: send}
	d, err := s.try(c, out)
	if err == nil {
		err = c.live.decide(d)
	}
	if err != nil {
		// What is recorded is what the caller is told, and no more.
		told := status.Convert(toStatus(logOf(c.ctx, s.log), err)).Message()
		return errors.Join(err, s.store.EndReplay(c.live.seq, nil, fixture.Printable(told, maxFailure), s.now()))
	}
	return s.rule(c, d, out)
}

// maxFailure bounds what is recorded of the reason why a replay came to no decision, in bytes.
const maxFailure = 2 << 10

// try runs a trial and gives its decision, or the reason why there is none.
func (s *replays) try(c *trialOf, out *sink) (d *gatev1.Decision, err error) {
	hosts, err := s.hosts(c.ctx, c.req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hosts.close()) }()
	c.trial.Notes = slices.Concat(c.trial.Notes, hosts.baseline.losses(gate.Baseline), hosts.candidate.losses(gate.Candidate))
	if c.trial.Baseline, err = hosts.baseline.Checker(c.req.GetBaseline().GetParameters()); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if c.trial.Candidate, err = hosts.candidate.Checker(c.req.GetCandidate().GetParameters()); err != nil {
		return nil, fmt.Errorf("candidate: %w", err)
	}
	if c.trial.ModelCalls, err = hosts.modelCalls(c.blocks); err != nil {
		return nil, err
	}
	out.started = &replayv1.Started{
		ReplayId: c.record.ID, Set: c.record.Set, Version: c.record.Version, Checksum: c.trial.Checksum, Policy: PolicyToProto(c.trial.Policy),
		Baseline: hosts.baseline.identity(c.trial.Baseline.Description()), Candidate: hosts.candidate.identity(c.trial.Candidate.Description()),
	}
	programs := func() (string, string, error) { return "", "", nil }
	if c.record.Release != "" { // nobody asks later what ran for no release
		programs = hosts.programs(&s.registry.digests)
	}
	report, err := replayer.Run(c.ctx, c.trial, c.seen.Sink(out))
	baseline, candidate, programErr := programs()
	if err := errors.Join(err, programErr); err != nil {
		return nil, err
	}
	d = reportToProto(report)
	d.ReplayId, d.Release, d.Set, d.Version, d.Checksum = c.record.ID, c.record.Release, c.record.Set, c.record.Version, c.trial.Checksum
	d.Policy, d.Baseline, d.Candidate = out.started.Policy, proto.CloneOf(out.started.Baseline), proto.CloneOf(out.started.Candidate)
	d.Baseline.ProgramDigest, d.Candidate.ProgramDigest = baseline, candidate
	d.StartedAt, d.Partial, d.SubmittedBy = timestamp(c.record.StartedAt), c.trial.Selected != nil, c.record.SubmittedBy
	d.Evidence, err = evidenceOf(c, d, report)
	return d, err
}

// rule records the decision, and then sends it.
func (s *replays) rule(c *trialOf, d *gatev1.Decision, out *sink) error {
	d.DecidedAt = timestamp(s.now())
	stored, err := proto.Marshal(d)
	if err != nil {
		return err
	}
	if err := s.store.EndReplay(c.live.seq, stored, "", d.GetDecidedAt().AsTime()); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	c.seen.Decided(outcomeOf(d), policyKind(d))
	auditDecision(c.ctx, s.log, d)
	return out.decided(d)
}

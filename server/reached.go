package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// How a checker was reached, as a decision records it.
const (
	launched = "launched"
	dialled  = "dialled"
	attached = "attached"
)

// reached is a checker that a run can ask: one host, or all instances of a name.
type reached struct {
	*checkerhost.Group
	host      *checkerhost.Host // of a launched one
	how       string
	broughtBy []string // ascending, each once
	absent    []absence
	closers   []func() error
}

// absence is an instance that is listed, and could not be reached for a run.
type absence struct {
	id  string
	why error
}

// Close lets go of the checker. The contexts of its streams must have ended.
func (r *reached) Close() error {
	r.Wait()
	errs := make([]error, len(r.closers))
	var wg sync.WaitGroup
	for i, c := range r.closers {
		wg.Go(func() { errs[i] = c() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// losses tells of the instances that a run goes on without.
func (r *reached) losses(role gate.Role) (out []gate.Finding) {
	for _, a := range r.absent {
		out = append(out, gate.Finding{Code: gate.InstanceLost, Role: role, Subject: a.id,
			Message: fixture.Printable(fmt.Sprintf("%s: this instance could not be reached, and the run went on without it: %v", role, a.why), maxFailure)})
	}
	return out
}

// identity says which checker gave the evidence.
func (r *reached) identity(d replayer.Description) *gatev1.CheckerIdentity {
	out := identityToProto(d)
	out.Reached, out.BroughtBy, out.Instances = r.how, strings.Join(r.broughtBy, ", "), uint32(r.Instances())
	if r.host != nil {
		level, lacks := r.host.Sandbox()
		out.Sandbox, out.SandboxLacks = level.String(), lacks
	}
	return out
}

// program gives the digest of the program of a launched checker, or nothing for one that has no such: it ended, which the run itself
// finds out, or it is not ours, or this platform does not show it.
func (r *reached) program(known *checkerhost.Digests) (string, error) {
	if r.host == nil {
		return "", nil
	}
	digest, err := r.host.ProgramDigest(known)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, checkerhost.ErrEnded) {
		return "", nil
	}
	return digest, err
}

// alone makes a run's checker of a host of its own.
func alone(h *checkerhost.Host, err error, how string) (*reached, error) {
	if err != nil {
		return nil, err
	}
	r := &reached{Group: checkerhost.NewGroup(checkerhost.Member{Host: h}), how: how, closers: []func() error{h.Close}}
	if how == launched {
		r.host = h
	}
	return r, nil
}

// together makes a run's checker of the instances of a name: those that are attached, and those that can be dialled and still
// say of themselves what they said when they were registered. nil if the name has no instances.
func (r *Checkers) together(ctx context.Context, name string) (*reached, error) {
	all := r.instances.use(name)
	if len(all) == 0 {
		return nil, nil
	}
	hosts, errs := make([]*checkerhost.Host, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for i, in := range all {
		if hosts[i] = in.host; in.host == nil {
			wg.Go(func() { hosts[i], errs[i] = r.redial(ctx, in) })
		}
	}
	wg.Wait()
	out := &reached{how: dialled}
	var members []checkerhost.Member
	for i, in := range all {
		release := func() error { r.instances.release(in); return nil }
		out.closers = append(out.closers, release)
		if errs[i] != nil {
			out.absent = append(out.absent, absence{in.id, errs[i]})
			continue
		}
		members = append(members, checkerhost.Member{ID: in.id, Host: hosts[i]})
		if in.host != nil {
			out.how = attached
		} else {
			out.closers = append(out.closers, hosts[i].Close)
		}
		if in.broughtBy != "" {
			out.broughtBy = append(out.broughtBy, in.broughtBy)
		}
	}
	out.Group = checkerhost.NewGroup(members...)
	if len(members) == 0 {
		return nil, errors.Join(append(errs, out.Close())...)
	}
	slices.Sort(out.broughtBy)
	out.broughtBy = slices.Compact(out.broughtBy)
	return out, nil
}

// redial reaches a registered instance. Where it has become another checker, its lease ends.
func (r *Checkers) redial(ctx context.Context, in *instance) (*checkerhost.Host, error) {
	h, err := checkerhost.Dial(ctx, in.address)
	if err != nil {
		return nil, err
	}
	if !proto.Equal(h.Description(), in.desc) {
		r.instances.end(in)
		return nil, errors.Join(errChanged(in), h.Close())
	}
	return h, nil
}

func errChanged(in *instance) error {
	return fixture.NewError(fixture.CodePrecondition, "reach", fmt.Sprintf("%.120q", in.name),
		fmt.Errorf("what listens at %.120q describes itself otherwise than when it was registered: its lease has ended", in.address))
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

// programs finds out what runs, beside the run. wait gives the digests of both programs.
func (h hosts) programs(known *checkerhost.Digests) (wait func() (baseline, candidate string, err error)) {
	var baseline, candidate string
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { baseline, errs[0] = h.baseline.program(known) })
	both.Go(func() { candidate, errs[1] = h.candidate.program(known) })
	return func() (string, string, error) {
		both.Wait()
		return baseline, candidate, errors.Join(errs[:]...)
	}
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

package server

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
	"time"

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

// requestDigest is over all that makes a request what it is.
func requestDigest(req *replayv1.ReplayRequest) (string, error) {
	bare := proto.CloneOf(req)
	bare.IdempotencyKey, bare.Detach = "", false
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	return fixture.DigestOf(b).String(), err
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

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
	if d := req.GetArtifactDigest(); d != "" && !digestForm.MatchString(d) {
		errs = append(errs, invalid("artifact_digest", fmt.Errorf("%.100q is not \"sha256:\" and 64 hexadecimal digits in lower case", d)))
	}
	if k := req.GetIdempotencyKey(); k != "" {
		if err := fixture.CheckName(k, fixture.MaxIDBytes); err != nil {
			errs = append(errs, invalid("idempotency_key", err))
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
func (s *replays) prepare(req *replayv1.ReplayRequest) (*fixturestore.Version, Set, replayer.Trial, error) {
	v, err := version(s.store, req.GetSet(), req.GetVersion())
	if err != nil {
		return nil, Set{}, replayer.Trial{}, err
	}
	if want := req.GetChecksum(); want != "" && want != v.Checksum {
		return nil, Set{}, replayer.Trial{}, fixture.NewError(fixture.CodePrecondition, "replay", v.Name(), fmt.Errorf("its checksum is %s, the caller expects %s", v.Checksum, want))
	}
	if err := s.store.CheckLogged(v); err != nil {
		return nil, Set{}, replayer.Trial{}, err
	}
	set, err := setOf(v)
	if err != nil {
		return nil, Set{}, replayer.Trial{}, err
	}
	var notes []gate.Finding
	if v.Pending() {
		notes = append(notes, gate.Finding{Code: gate.VersionUnapproved, Subject: v.Name(),
			Message: "it needs the approval of a second person, and lacks it: " + strings.Join(v.ApprovalNeeded, "; ")})
	}
	if req.GetPolicy() != nil {
		own := set.Policy
		if set.Policy, err = s.overridden(req.GetPolicy(), set); err != nil {
			return nil, Set{}, replayer.Trial{}, err
		}
		if set.Policy.Kind != gate.Listed {
			set.Allowlist = nil // nobody reads it
		}
		if !set.Policy.Equal(own) {
			notes = append(notes, gate.Finding{Code: gate.PolicyOverridden, Subject: v.Set,
				Message: fmt.Sprintf("ruled by the policy %s in place of the set's own, %s: a pass is no evidence for a release", set.Policy, own)})
		}
	}
	blocks, err := s.store.Blocks(v)
	if err != nil {
		return nil, Set{}, replayer.Trial{}, err
	}
	t := replayer.Trial{
		Source: &source{blocks}, Checksum: v.Checksum, Vocabulary: set.Vocabulary, Tally: v.Tally, QueueConfiguration: set.QueueConfiguration,
		Policy: set.Policy, Allowlist: set.Allowlist, Freezes: set.Freezes, Since: s.since(v.Set), Now: s.now().UTC(), KeepGoing: req.GetKeepGoing(), IncludeDerived: req.GetIncludeDerived(), Show: set.Show, Notes: notes,
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
	return v, set, t, nil
}

// since gives a function that counts the replays of a set that began at or after an instant, up to as many as a freeze can see.
func (s *replays) since(set string) func(time.Time) (uint32, error) {
	return func(at time.Time) (n uint32, err error) {
		const page = 100
		for before, more := uint64(0), true; more && n <= gate.MaxRecheck; {
			var records []*fixturestore.Replay
			if records, more, err = s.store.Replays(set, "", before, page); err != nil {
				return 0, err
			}
			for _, r := range records {
				before = r.Seq
				if r.StartedAt.Before(at) {
					return n, nil // those before it are older
				}
				n++
			}
		}
		return n, nil
	}
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
		return policy, nil
	}
	return policy, gate.ValidateAllowlist(set.Allowlist, policy)
}

func timeout(asked *durationpb.Duration, standard, most time.Duration) time.Duration {
	return min(cmp.Or(asked.AsDuration(), standard), most)
}

// seed orders the probe. It decides nothing but the order, so that any will do.
func seed() uint64 { return rand.Uint64() }

func stopwatch() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

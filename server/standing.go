package server

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// standing finds out how a release stands for one set at an instant: from its newest replay and nothing else. Absence of
// evidence is never a pass.
type standing struct {
	g       *gates
	release string
	at      time.Time
	out     *gatev1.SetStanding
	next    time.Time // when it changes by itself; zero if it does not
}

func (s *standing) unknown(code, format string, args ...any) {
	s.out.Status, s.out.Causes = gatev1.Status_STATUS_UNKNOWN, causes(code, fmt.Sprintf(format, args...))
}

func (s *standing) find() error {
	set := s.out.GetSet()
	newest, err := s.g.store.VersionAt(set, s.at)
	if fixture.CodeOf(err) == fixture.CodeNotFound {
		s.unknown("NO_SET", "there is no set %q", set)
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.g.store.CheckLogged(newest); err != nil {
		return err
	}
	s.out.NewestVersion = newest.Number
	r, err := s.ended()
	if err != nil || r == nil {
		return err
	}
	if s.out.Decision, err = decisionOf(s.g.store, r); err != nil {
		return err
	}
	s.out.Age = durationpb.New(s.at.Sub(s.out.GetDecision().GetDecidedAt().AsTime()))
	return s.rule(newest)
}

// ended gives the newest replay if it had come to a decision, and else says what there is in its place.
func (s *standing) ended() (*fixturestore.Replay, error) {
	r, err := s.g.store.ReplayAt(s.release, s.out.GetSet(), s.at)
	if err != nil {
		return nil, err
	}
	if r == nil {
		s.unknown("NEVER_TRIED", "release %q was never tried against %q", s.release, s.out.GetSet())
		return nil, nil
	}
	r, underWay, err := s.g.settled(r)
	if err != nil {
		return nil, err
	}
	switch {
	case underWay, r.EndedAt.After(s.at):
		s.unknown("RUNNING", "replay %s has not ended yet", r.ID)
	case r.State == fixturestore.Running:
		s.unknown("CUT", "replay %s never ended: its server stopped", r.ID)
	case r.State == fixturestore.Failed:
		s.unknown("FAILED", "replay %s came to no decision: %s", r.ID, r.Error)
	default:
		return r, nil
	}
	return nil, nil
}

// rule says what the decision means for the newest version of the set.
func (s *standing) rule(newest *fixturestore.Version) error {
	d := s.out.GetDecision()
	set, err := setOf(newest)
	if err != nil {
		return err
	}
	// The policy lives beside the fixtures (R26), and a pass by another is no evidence.
	policy, policyErr := PolicyFromProto(d.GetPolicy())
	switch {
	case d.GetVersion() != newest.Number:
		s.unknown("OUTDATED", "the newest evidence is on version %d of %q, and version %d is the newest", d.GetVersion(), s.out.GetSet(), newest.Number)
	case d.GetPartial():
		s.unknown("PARTIAL", "the newest replay tried only some of the fixtures")
	case d.GetRuling() == gatev1.Ruling_RULING_PASS:
		s.out.Status = gatev1.Status_STATUS_PASS
	default:
		s.out.Status, s.out.Causes = gatev1.Status_STATUS_BLOCK, d.GetCauses()
		if err := s.waive(); err != nil {
			return err
		}
	}
	if s.out.GetStatus() == gatev1.Status_STATUS_PASS && (policyErr != nil || !policy.Equal(set.Policy)) {
		s.unknown("OTHER_POLICY", "the newest replay was ruled by a policy that is not the set's own")
	}
	if s.out.GetStatus() == gatev1.Status_STATUS_PASS {
		s.age(set.Policy)
	}
	if s.out.GetStatus() == gatev1.Status_STATUS_PASS && (newest.Pending() || newest.Approval != nil && newest.Approval.At.After(s.at)) {
		s.unknown("UNAPPROVED", "version %d of %q lacks the approval that it needs: %s", newest.Number, s.out.GetSet(), newest.ApprovalNeeded[0])
	}
	return nil
}

// age ends a pass that is older than the policy lets it be.
func (s *standing) age(p gate.Policy) {
	if p.EvidenceMaxAge == 0 {
		return
	}
	end := s.out.GetDecision().GetDecidedAt().AsTime().Add(p.EvidenceMaxAge)
	s.out.EvidenceExpiresAt = timestamp(end)
	if fixture.Expired(end, s.at) {
		s.unknown("EVIDENCE_EXPIRED", "the newest pass counted until %s: the policy lets evidence be %s old", end.UTC().Format(time.RFC3339), p.EvidenceMaxAge)
		return
	}
	s.wake(end)
}

// wake notes an instant at which the standing changes by itself.
func (s *standing) wake(at time.Time) {
	if at.After(s.at) && (s.next.IsZero() || at.Before(s.next)) {
		s.next = at
	}
}

// waive turns a block into a pass that somebody answers for, where a waiver in force covers exactly what blocks.
func (s *standing) waive() error {
	all, err := s.g.store.Waivers(s.release, s.out.GetSet())
	if err != nil {
		return err
	}
	d := s.out.GetDecision()
	for _, w := range all {
		if w.Version != d.GetVersion() || w.GrantedAt.After(s.at) || fixture.Expired(w.ExpiresAt, s.at) || !w.RevokedAt.IsZero() && fixture.Expired(w.RevokedAt, s.at) {
			continue
		}
		if err := s.g.store.CheckWaiverLogged(w); err != nil {
			return err
		}
		if gate.CheckWaiver(blockedOf(d), waivedOf(w)) == nil {
			s.out.Status, s.out.Causes = gatev1.Status_STATUS_PASS, nil
			s.out.Waivers = append(s.out.Waivers, waiverToProto(w))
			s.wake(w.ExpiresAt)
		}
	}
	return nil
}

package attest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxTests bounds each list of tests, maxText what somebody wrote in bytes.
const (
	maxTests = 1000
	maxText  = 1 << 10
)

var rulings = map[gatev1.Ruling]string{
	gatev1.Ruling_RULING_PASS:                 rulingPass,
	gatev1.Ruling_RULING_BLOCK:                rulingBlock,
	gatev1.Ruling_RULING_BASELINE_UNCONFIRMED: rulingUnconfirmed,
}

// summarize gives what a decision says. waivers are those in force for it.
func summarize(d *gatev1.Decision, status gatev1.Status, waivers []*gatev1.Waiver) (*Summary, error) {
	result, err := resultOf(d, status)
	if err != nil {
		return nil, err
	}
	subject, err := subjectOf(d)
	if err != nil {
		return nil, err
	}
	s := &Summary{
		Result: result, Subject: subject, Release: d.GetRelease(), Set: d.GetSet(), Version: d.GetVersion(), ReplayID: d.GetReplayId(),
		Checksum: d.GetChecksum(), Ruling: rulings[d.GetRuling()], Text: fixture.Cut(d.GetSummary(), maxText),
		Expected: d.GetExpected(), Confirmed: d.GetConfirmed(), Excused: d.GetExcused(), Evaluated: d.GetEvaluated(), Flipped: d.GetFlipped(),
		DecidedAt: instant(d.GetDecidedAt()),
	}
	if sum := d.GetEvidence().GetSetChecksum(); sum != "" && sum != s.Checksum {
		return nil, fmt.Errorf("its evidence is on the checksum %s, and it is on %s", sum, s.Checksum)
	}
	for _, c := range d.GetCauses() {
		s.Causes = append(s.Causes, Cause{Code: c.GetCode(), Count: c.GetCount(), Message: fixture.Cut(c.GetMessage(), maxText)})
	}
	if age := d.GetPolicy().GetEvidenceMaxAge(); age != nil && !s.DecidedAt.IsZero() {
		s.ExpiresAt = s.DecidedAt.Add(age.AsDuration())
	}
	if result != Warned {
		waivers = nil // what was waived before does not bear on it
	}
	for _, w := range waivers {
		if err := s.waive(d, w); err != nil {
			return nil, err
		}
	}
	s.tests(d)
	return s, s.check()
}

// resultOf gives the result of a decision by its standing, and refuses what has none.
func resultOf(d *gatev1.Decision, status gatev1.Status) (Result, error) {
	ruling := d.GetRuling()
	switch {
	case d.GetPartial():
		return "", errors.New("only some of the fixtures were tried, which is no evidence")
	case status == gatev1.Status_STATUS_PASS && ruling == gatev1.Ruling_RULING_PASS:
		return Passed, nil
	case status == gatev1.Status_STATUS_PASS && ruling == gatev1.Ruling_RULING_BLOCK:
		return Warned, nil // check demands its waivers
	case status == gatev1.Status_STATUS_BLOCK && (ruling == gatev1.Ruling_RULING_BLOCK || ruling == gatev1.Ruling_RULING_BASELINE_UNCONFIRMED):
		return Failed, nil
	case status == gatev1.Status_STATUS_PASS || status == gatev1.Status_STATUS_BLOCK:
		return "", fmt.Errorf("%s and %s contradict each other", status, ruling)
	}
	return "", errors.New("the standing of the release is unknown: there is nothing to attest")
}

// waive adds a waiver, which must be for this release and version, and exactly these flips. The attestation ends with the first that does.
func (s *Summary) waive(d *gatev1.Decision, w *gatev1.Waiver) error {
	if w.GetRelease() != s.Release || w.GetSet() != s.Set || w.GetVersion() != s.Version {
		return fmt.Errorf("waiver %s is for release %s on %s version %d, which is another", w.GetWaiverId(), w.GetRelease(), w.GetSet(), w.GetVersion())
	}
	if w.GetRevokedAt() != nil || w.GetRevokedBy() != "" {
		return fmt.Errorf("waiver %s was revoked", w.GetWaiverId())
	}
	named := map[string]bool{}
	for _, flip := range w.GetFlips() {
		named[flip.GetFixtureId()] = true
	}
	for _, f := range d.GetFindings() {
		if f.GetCode() == codeFlip && blocks(f) && !slices.ContainsFunc(w.GetFlips(), func(flip *gatev1.WaivedFlip) bool {
			return flip.GetFixtureId() == f.GetSubject() && flip.GetNewVerdict() == f.GetNew().GetVerdict() && flip.GetNewReasonCode() == f.GetNew().GetReasonCode()
		}) {
			return fmt.Errorf("waiver %s does not name the flip of %s, which blocks", w.GetWaiverId(), f.GetSubject())
		}
	}
	out := Waiver{ID: w.GetWaiverId(), Reason: fixture.Cut(w.GetReason(), maxText), GrantedBy: w.GetGrantedBy(), ExpiresAt: instant(w.GetExpiresAt()), Flips: uint64(len(named))}
	if s.ExpiresAt.IsZero() || out.ExpiresAt.Before(s.ExpiresAt) {
		s.ExpiresAt = out.ExpiresAt
	}
	s.Waivers = append(s.Waivers, out)
	return nil
}

// tests fills in Failed and Warned: the fixtures of findings, without those of the group "derived", which never gate.
func (s *Summary) tests(d *gatev1.Decision) {
	failed, warned := list{seen: map[string]bool{}}, list{seen: map[string]bool{}}
	for _, f := range d.GetFindings() {
		switch {
		case f.GetGroup() != string(fixture.Hermetic):
		case f.GetCode() == codeFlip && blocks(f) && len(s.Waivers) > 0:
			warned.add(f.GetSubject())
		case blocks(f):
			failed.add(f.GetSubject())
		case f.GetSeverity() == gatev1.Severity_SEVERITY_TOLERATED:
			warned.add(f.GetSubject())
		}
	}
	s.Failed, s.Warned = failed.ids, warned.ids
}

// list holds ids, each once and at most maxTests.
type list struct {
	ids  []string
	seen map[string]bool
}

func (l *list) add(id string) {
	if !l.seen[id] && len(l.ids) < maxTests {
		l.seen[id] = true
		l.ids = append(l.ids, id)
	}
}

// blocks counts a severity that nobody said as blocking, as the contract does.
func blocks(f *gatev1.Finding) bool {
	return f.GetSeverity() == gatev1.Severity_SEVERITY_BLOCKING || f.GetSeverity() == gatev1.Severity_SEVERITY_UNSPECIFIED
}

// instant gives a time of the contract; zero where there is none.
func instant(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

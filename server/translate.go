package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/retrial-dev/retrial/fixturestore"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	stubv1 "github.com/retrial-dev/retrial/gen/retrial/stub/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// This file is the one translator between generated and domain types.

// Set is what stands beside the fixtures of a version, in domain terms.
type Set struct {
	Vocabulary         fixture.Vocabulary
	QueueConfiguration string
	Policy             gate.Policy
	Allowlist          []gate.Entry
	Freezes            []gate.Freeze
	Show               []string
}

// maxShow bounds the members of the input that a set shows beside a flip.
const maxShow = 16

// SetFromProto translates and validates a set's configuration. It reports everything that is wrong at once.
func SetFromProto(p *fixturev1.SetConfig) (Set, error) {
	if p == nil {
		return Set{}, invalid("config", errors.New("missing"))
	}
	v := p.GetVocabulary()
	s := Set{
		Vocabulary:         fixture.Vocabulary{Verdicts: v.GetVerdicts(), Permissive: v.GetPermissive(), ReasonCodes: v.GetReasonCodes()},
		QueueConfiguration: p.GetQueueConfiguration(),
		Show:               p.GetShow(),
	}
	var errs []error
	if p.GetSchema() != fixture.SchemaVersion {
		errs = append(errs, invalid("schema", fmt.Errorf("schema %d is unknown; this release reads schema %d", p.GetSchema(), fixture.SchemaVersion)))
	}
	if q := s.QueueConfiguration; q != "" {
		if err := fixture.CheckName(q, fixture.MaxIDBytes); err != nil {
			errs = append(errs, invalid("queue_configuration", err))
		}
	}
	if len(s.Show) > maxShow {
		errs = append(errs, invalid("show", fmt.Errorf("%d members are over the limit of %d", len(s.Show), maxShow)))
	}
	var err error
	s.Policy, err = PolicyFromProto(p.GetPolicy())
	errs = append(errs, err, s.Vocabulary.Validate())
	for _, e := range p.GetAllowlist() {
		s.Allowlist = append(s.Allowlist, entryFromProto(e))
	}
	for _, z := range p.GetFreezes() {
		s.Freezes = append(s.Freezes, freezeFromProto(z))
	}
	return s, errors.Join(append(errs, gate.ValidateAllowlist(s.Allowlist, s.Policy), gate.ValidateFreezes(s.Freezes, s.Policy))...)
}

// ToProto is the inverse of SetFromProto.
func (s Set) ToProto() *fixturev1.SetConfig {
	p := &fixturev1.SetConfig{
		Schema:             fixture.SchemaVersion,
		Vocabulary:         &fixturev1.Vocabulary{Verdicts: s.Vocabulary.Verdicts, Permissive: s.Vocabulary.Permissive, ReasonCodes: s.Vocabulary.ReasonCodes},
		QueueConfiguration: s.QueueConfiguration,
		Policy:             PolicyToProto(s.Policy),
		Show:               s.Show,
	}
	for _, e := range s.Allowlist {
		p.Allowlist = append(p.Allowlist, entryToProto(e))
	}
	for _, z := range s.Freezes {
		p.Freezes = append(p.Freezes, freezeToProto(z))
	}
	return p
}

var kinds = map[gatev1.PolicyKind]gate.Kind{
	gatev1.PolicyKind_POLICY_KIND_UNSPECIFIED: gate.Full,
	gatev1.PolicyKind_POLICY_KIND_FULL:        gate.Full,
	gatev1.PolicyKind_POLICY_KIND_BOUNDED:     gate.Bounded,
	gatev1.PolicyKind_POLICY_KIND_ALLOWLIST:   gate.Listed,
}

// PolicyFromProto translates and validates a policy; nil is full agreement.
func PolicyFromProto(p *gatev1.Policy) (gate.Policy, error) {
	kind, ok := kinds[p.GetKind()]
	if !ok {
		return gate.Policy{}, invalid("policy.kind", fmt.Errorf("kind %d is unknown", p.GetKind()))
	}
	out := gate.Policy{Kind: kind, AllowlistCap: int(p.GetAllowlistCap()), BlockUnusedStubs: p.GetBlockUnusedStubs(), FreeRemovals: p.GetFreeRemovals(), AdmitFreezes: p.GetAdmitFreezes()}
	if age := p.GetEvidenceMaxAge(); age != nil {
		if err := age.CheckValid(); err != nil {
			return gate.Policy{}, invalid("policy.evidence_max_age", err)
		}
		out.EvidenceMaxAge = age.AsDuration()
	}
	if len(p.GetBounds()) > 0 {
		out.Bounds = map[fixture.Class]uint32{}
		for class, n := range p.GetBounds() {
			out.Bounds[fixture.Class(class)] = n
		}
	}
	return out, out.Validate()
}

// PolicyToProto is the inverse of PolicyFromProto.
func PolicyToProto(p gate.Policy) *gatev1.Policy {
	out := &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_FULL, AllowlistCap: uint32(p.AllowlistCap), BlockUnusedStubs: p.BlockUnusedStubs, FreeRemovals: p.FreeRemovals, AdmitFreezes: p.AdmitFreezes}
	if p.EvidenceMaxAge != 0 {
		out.EvidenceMaxAge = durationpb.New(p.EvidenceMaxAge)
	}
	for kind, k := range kinds {
		if k == p.Kind && kind != gatev1.PolicyKind_POLICY_KIND_UNSPECIFIED {
			out.Kind = kind
		}
	}
	if len(p.Bounds) > 0 {
		out.Bounds = map[string]uint32{}
		for class, n := range p.Bounds {
			out.Bounds[string(class)] = n
		}
	}
	return out
}

func entryFromProto(e *gatev1.AllowlistEntry) gate.Entry {
	out := gate.Entry{
		FixtureID: e.GetFixtureId(),
		Old:       fixture.Outcome{Verdict: e.GetOldVerdict(), ReasonCode: e.GetOldReasonCode()},
		New:       fixture.Outcome{Verdict: e.GetNewVerdict(), ReasonCode: e.GetNewReasonCode()},
		Reason:    e.GetReason(), Owner: e.GetOwner(),
	}
	if e.GetExpiresAt() != nil {
		out.ExpiresAt = e.GetExpiresAt().AsTime()
	}
	return out
}

func freezeFromProto(z *gatev1.Freeze) gate.Freeze {
	e := z.GetEvidence()
	return gate.Freeze{
		FixtureID: z.GetFixtureId(), Reason: z.GetReason(), Owner: z.GetOwner(), OpenedAt: instant(z.GetOpenedAt()), ExpiresAt: instant(z.GetExpiresAt()),
		RecheckAfterRuns: z.GetRecheckAfterRuns(),
		Evidence: gate.FreezeEvidence{
			PatchApplied: e.GetPatchApplied(), Baseline: e.GetBaselineDigest(), Fixture: e.GetFixtureDigest(), Runs: e.GetRuns(), Failures: e.GetFailures(),
			RecordedAt: instant(e.GetRecordedAt()), RecordedBy: e.GetRecordedBy(),
		},
	}
}

func freezeToProto(z gate.Freeze) *gatev1.Freeze {
	e := z.Evidence
	return &gatev1.Freeze{
		FixtureId: z.FixtureID, Reason: z.Reason, Owner: z.Owner, OpenedAt: timestamp(z.OpenedAt), ExpiresAt: timestamp(z.ExpiresAt),
		RecheckAfterRuns: z.RecheckAfterRuns,
		Evidence: &gatev1.FreezeEvidence{
			PatchApplied: e.PatchApplied, BaselineDigest: e.Baseline, FixtureDigest: e.Fixture, Runs: e.Runs, Failures: e.Failures,
			RecordedAt: timestamp(e.RecordedAt), RecordedBy: e.RecordedBy,
		},
	}
}

// instant gives a time, zero for one that was not said or is none.
func instant(t *timestamppb.Timestamp) time.Time {
	if t == nil || t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}

func entryToProto(e gate.Entry) *gatev1.AllowlistEntry {
	return &gatev1.AllowlistEntry{
		FixtureId: e.FixtureID, OldVerdict: e.Old.Verdict, OldReasonCode: e.Old.ReasonCode, NewVerdict: e.New.Verdict, NewReasonCode: e.New.ReasonCode,
		Reason: e.Reason, Owner: e.Owner, ExpiresAt: timestamppb.New(e.ExpiresAt),
	}
}

// setOf reads the configuration that a stored version carries.
func setOf(v *fixturestore.Version) (Set, error) {
	var p fixturev1.SetConfig
	if err := proto.Unmarshal(v.Config, &p); err != nil {
		return Set{}, fixture.NewError(fixture.CodeCorrupt, "read configuration of", v.Name(), err)
	}
	s, err := SetFromProto(&p)
	if err != nil {
		return Set{}, fixture.NewError(fixture.CodeCorrupt, "read configuration of", v.Name(), err)
	}
	return s, nil
}

func versionToProto(v *fixturestore.Version) (*fixturev1.Version, error) {
	set, err := setOf(v)
	if err != nil {
		return nil, err
	}
	out := &fixturev1.Version{
		Set: v.Set, Number: v.Number, Parent: v.Parent, Checksum: v.Checksum, FixtureCount: v.Tally.Total, HermeticCount: v.Tally.Hermetic,
		Author: v.Author, Reason: v.Reason, CommittedAt: timestamppb.New(v.CommittedAt), Config: set.ToProto(), Tags: v.Tags,
		RemovalReason: v.RemovalReason, ApprovalNeeded: v.ApprovalNeeded,
		ChangeCounts: &fixturev1.ChangeCounts{Added: v.Added, Changed: v.Changed, Removed: v.Removed},
	}
	if a := v.Approval; a != nil {
		out.Approval = &fixturev1.Approval{ApprovedBy: a.By, Reason: a.Reason, ApprovedAt: timestamppb.New(a.At)}
	}
	for _, id := range slices.Sorted(maps.Keys(v.Changes)) {
		out.Changes = append(out.Changes, &fixturev1.ExpectationChange{FixtureId: id, Reason: v.Changes[id]})
	}
	return out, nil
}

func itemToProto(i *fixturestore.Item, whole bool) (*fixturev1.Fixture, error) {
	if i == nil {
		return nil, nil
	}
	f := i.Fixture
	out := &fixturev1.Fixture{
		FixtureId: f.ID, SourceRowId: f.SourceRowID, Group: string(f.Group),
		Verdict: f.Expected.Verdict, ReasonCode: f.Expected.ReasonCode, Digest: i.Digest.String(),
	}
	if !whole {
		return out, nil
	}
	out.Document = f.Canonical()
	stubs, err := stubsOf(f, i.Stubs)
	if err != nil {
		return nil, err
	}
	for _, s := range stubs {
		out.Stubs = append(out.Stubs, &stubv1.Stub{FixtureId: s.FixtureID, Call: s.Call, Document: s.Canonical(), Digest: s.Digest().String()})
	}
	return out, nil
}

func outcomeToProto(o fixture.Outcome) *gatev1.Outcome {
	if o.Verdict == "" {
		return nil
	}
	return &gatev1.Outcome{Verdict: o.Verdict, ReasonCode: o.ReasonCode, Output: o.Output}
}

var severities = map[gate.Severity]gatev1.Severity{
	gate.Blocking:  gatev1.Severity_SEVERITY_BLOCKING,
	gate.Tolerated: gatev1.Severity_SEVERITY_TOLERATED,
	gate.Warning:   gatev1.Severity_SEVERITY_WARNING,
	gate.Info:      gatev1.Severity_SEVERITY_INFO,
}

func findingToProto(f gate.Finding) *gatev1.Finding {
	out := &gatev1.Finding{
		Code: string(f.Code), Severity: severities[f.Severity], Subject: f.Subject, Message: f.Message, SourceRowId: f.SourceRowID,
		Old: outcomeToProto(f.Old), New: outcomeToProto(f.New), FlipClass: string(f.Class), AllowedBy: f.AllowedBy, Group: string(f.Group), OutputDiffers: f.OutputDiffers,
	}
	for _, in := range f.Inputs {
		out.Inputs = append(out.Inputs, &gatev1.ShownInput{Path: in.Path, Value: in.Value})
	}
	return out
}

var rulings = map[gate.Ruling]gatev1.Ruling{
	gate.NoRuling:            gatev1.Ruling_RULING_UNSPECIFIED,
	gate.Pass:                gatev1.Ruling_RULING_PASS,
	gate.Block:               gatev1.Ruling_RULING_BLOCK,
	gate.BaselineUnconfirmed: gatev1.Ruling_RULING_BASELINE_UNCONFIRMED,
}

// reportToProto gives the part of a decision that the run has found.
func reportToProto(r *replayer.Report) *gatev1.Decision {
	out := &gatev1.Decision{
		Ruling: rulings[r.Ruling], Summary: r.Summary,
		Expected: r.Evidence.Expected, Confirmed: r.Evidence.Confirmed, Excused: r.Evidence.Excused, Evaluated: r.Evidence.Evaluated, Flipped: r.Tally.Flipped(),
		FlipsByClass: map[string]uint64{}, FindingCount: r.Tally.Total(),
	}
	for _, c := range r.Causes {
		out.Causes = append(out.Causes, &gatev1.Cause{Code: string(c.Code), Count: c.Count, Message: c.Message})
	}
	for _, class := range fixture.Classes() {
		if n := r.Tally.Flips(class); n > 0 {
			out.FlipsByClass[string(class)] = n
		}
	}
	for _, p := range r.Tally.Pairs() {
		out.FlipsByOutcome = append(out.FlipsByOutcome, &gatev1.OutcomePair{
			OldVerdict: p.Old.Verdict, OldReasonCode: p.Old.ReasonCode, NewVerdict: p.New.Verdict, NewReasonCode: p.New.ReasonCode,
			FlipClass: string(p.Class), Count: p.Count,
		})
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, findingToProto(f))
	}
	return out
}

func identityToProto(d replayer.Description) *gatev1.CheckerIdentity {
	return &gatev1.CheckerIdentity{Name: d.Name, Version: d.Version, BuildDigest: d.BuildDigest, Parameters: d.Parameters, ConfigurationVersion: d.ConfigurationVersion}
}

var phases = map[replayer.Phase]replayv1.Phase{
	replayer.PhaseConfirmation: replayv1.Phase_PHASE_CONFIRMATION,
	replayer.PhaseCandidate:    replayv1.Phase_PHASE_CANDIDATE,
	replayer.PhaseProbe:        replayv1.Phase_PHASE_PROBE,
	replayer.PhaseDerived:      replayv1.Phase_PHASE_DERIVED,
}

func progressToProto(p replayer.Progress) *replayv1.Progress {
	return &replayv1.Progress{Phase: phases[p.Phase], Answered: p.Answered, Expected: p.Expected, Confirmed: p.Confirmed}
}

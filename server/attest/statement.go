package attest

import (
	"regexp"
	"strings"
	"time"

	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

// The types that an attestation states.
const (
	StatementType = intoto.StatementTypeUri
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
	PayloadType   = "application/vnd.in-toto+json"
)

// The names of the resource descriptors in the predicate's configuration. The first two are always there, the others where
// the decision has such a thing; there is one nameWaiver a waiver.
const (
	nameDecision  = "decision"
	nameSet       = "set"
	namePolicy    = "policy"
	nameAllowlist = "allowlist"
	nameStubs     = "stubs"
	nameBaseline  = "baseline"
	nameCandidate = "candidate"
	nameWaiver    = "waiver"
)

// Sign attests a decision: a statement, as Statement makes it, in a DSSE envelope that the key has signed. The same arguments
// give the same bytes: one JSON document without a line feed at its end, of at most MaxEnvelopeBytes.
//
// Errors are those of Statement; CodeTooLarge for an envelope over the limit.
func Sign(key *identity.Key, decision *gatev1.Decision, status gatev1.Status, waivers []*gatev1.Waiver) ([]byte, error) {
	statement, err := Statement(decision, status, waivers)
	if err != nil {
		return nil, err
	}
	return seal(key, statement)
}

// Statement gives an in-toto statement on a decision, as canonical JSON. status is the standing of its release on its set, of
// which the decision is the newest; waivers are those in force, and bear on the statement only where a block passes by them.
//
// CodePrecondition where there is nothing to attest: neither the artifact nor the release is a digest or a git commit, the
// standing is unknown, or decision, standing and waivers contradict each other.
func Statement(decision *gatev1.Decision, status gatev1.Status, waivers []*gatev1.Waiver) ([]byte, error) {
	s, err := summarize(decision, status, waivers)
	if err != nil {
		return nil, fixture.NewError(fixture.CodePrecondition, "attest decision of", decision.GetReplayId(), err)
	}
	configuration, err := s.configuration(decision)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := convert(predicate, &testresult.TestResult{Result: string(s.Result), Configuration: configuration, WarnedTests: s.Warned, FailedTests: s.Failed}); err != nil {
		return nil, err
	}
	doc, err := protojson.Marshal(&intoto.Statement{
		Type:          StatementType,
		Subject:       []*intoto.ResourceDescriptor{{Name: s.Release, Digest: map[string]string{s.Subject.Algorithm: s.Subject.Digest}}},
		PredicateType: PredicateType,
		Predicate:     predicate,
	})
	if err != nil {
		return nil, err
	}
	return fixture.Canonicalize(nil, doc) // protojson spaces as it likes
}

// convert makes one message of another by their JSON.
func convert(to, from proto.Message) error {
	b, err := protojson.Marshal(from)
	if err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, to)
}

// configuration gives what the ruling rests on.
func (s *Summary) configuration(d *gatev1.Decision) ([]*intoto.ResourceDescriptor, error) {
	c := descriptors{}
	causes := []any{}
	for _, cause := range s.Causes {
		causes = append(causes, map[string]any{"code": cause.Code, "count": cause.Count, "message": cause.Message})
	}
	byClass := map[string]any{}
	for class, n := range d.GetFlipsByClass() {
		byClass[class] = n
	}
	decision := map[string]any{
		"release": s.Release, "replayId": s.ReplayID, "ruling": s.Ruling, "summary": s.Text, "causes": causes,
		"expected": s.Expected, "confirmed": s.Confirmed, "evaluated": s.Evaluated, "flipped": s.Flipped, "flipsByClass": byClass,
		"findings": d.GetFindingCount(), "decidedAt": timeText(s.DecidedAt),
	}
	if s.Excused > 0 {
		decision["excused"] = s.Excused
	}
	if !s.ExpiresAt.IsZero() {
		decision["expiresAt"] = timeText(s.ExpiresAt)
	}
	if by := d.GetSubmittedBy(); by != "" {
		decision["submittedBy"] = by
	}
	c.add(nameDecision, "", decision)
	c.add(nameSet, s.Checksum, map[string]any{"set": s.Set, "version": s.Version})
	e := d.GetEvidence()
	if p := d.GetPolicy(); p != nil || e.GetPolicyDigest() != "" {
		c.add(namePolicy, e.GetPolicyDigest(), map[string]any{"kind": strings.ToLower(strings.TrimPrefix(p.GetKind().String(), "POLICY_KIND_"))})
	}
	c.digest(nameAllowlist, e.GetAllowlistDigest())
	c.digest(nameStubs, e.GetStubsDigest())
	c.checker(nameBaseline, e.GetBaselineBuild(), d.GetBaseline())
	c.checker(nameCandidate, e.GetCandidateBuild(), d.GetCandidate())
	for _, w := range s.Waivers {
		c.add(nameWaiver, "", map[string]any{"waiverId": w.ID, "reason": w.Reason, "grantedBy": w.GrantedBy, "expiresAt": timeText(w.ExpiresAt), "flips": w.Flips})
	}
	return c.all, c.err
}

// descriptors collects resource descriptors, and the first error.
type descriptors struct {
	all []*intoto.ResourceDescriptor
	err error
}

// add adds a descriptor. A digest that is no SHA-256 is an annotation: it is what somebody reported.
func (c *descriptors) add(name, digest string, annotations map[string]any) {
	out := &intoto.ResourceDescriptor{Name: name}
	if sha256Form.MatchString(digest) {
		out.Digest = map[string]string{"sha256": fromSHA256(digest).Digest}
	} else if digest != "" {
		annotations["digest"] = fixture.Cut(digest, maxText)
	}
	if len(annotations) > 0 {
		var err error
		if out.Annotations, err = structpb.NewStruct(annotations); err != nil && c.err == nil {
			c.err = err
		}
	}
	c.all = append(c.all, out)
}

func (c *descriptors) digest(name, digest string) {
	if digest != "" {
		c.add(name, digest, map[string]any{})
	}
}

func (c *descriptors) checker(name, build string, id *gatev1.CheckerIdentity) {
	if build == "" {
		build = id.GetBuildDigest()
	}
	if build == "" && id == nil {
		return
	}
	annotations := map[string]any{}
	for key, value := range map[string]string{"name": id.GetName(), "version": id.GetVersion(), "configurationVersion": id.GetConfigurationVersion()} {
		if value != "" {
			annotations[key] = fixture.Cut(value, maxText)
		}
	}
	if bareHex.MatchString(build) {
		build = "sha256:" + build
	}
	c.add(name, build, annotations)
}

// bareHex is how some checkers report their build: a SHA-256 without its name.
var bareHex = regexp.MustCompile(`^[0-9a-f]{64}$`)

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

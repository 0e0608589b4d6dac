package attest

import (
	"errors"
	"fmt"
	"math"
	"time"

	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// parseStatement reads what Statement makes. Members that it does not know are ignored, as in-toto's parsing rules demand;
// those that it knows must be there, of their type, and agree with each other.
func parseStatement(payload []byte) (*Summary, error) {
	doc, err := fixture.Canonicalize(nil, payload) // no duplicate keys, nothing behind
	if err != nil {
		return nil, err
	}
	lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
	var st intoto.Statement
	if err := lenient.Unmarshal(doc, &st); err != nil {
		return nil, errors.New("it is no in-toto statement")
	}
	switch {
	case st.GetType() != StatementType:
		return nil, fmt.Errorf("expected the type %q, found %q", StatementType, st.GetType())
	case st.GetPredicateType() != PredicateType:
		return nil, fmt.Errorf("expected the predicate type %q, found %q", PredicateType, st.GetPredicateType())
	case len(st.GetSubject()) != 1 || len(st.GetSubject()[0].GetDigest()) != 1:
		return nil, errors.New("expected one subject with one digest")
	}
	var result testresult.TestResult
	if err := convert(&result, st.GetPredicate()); err != nil {
		return nil, errors.New("its predicate is no test result")
	}
	s := &Summary{Result: Result(result.GetResult()), Failed: result.GetFailedTests(), Warned: result.GetWarnedTests()}
	for algorithm, digest := range st.GetSubject()[0].GetDigest() {
		s.Subject = Subject{Algorithm: algorithm, Digest: digest}
	}
	if err := s.configured(result.GetConfiguration()); err != nil {
		return nil, err
	}
	if name := st.GetSubject()[0].GetName(); name != s.Release {
		return nil, fmt.Errorf("its subject is named %q, and the release is %q", name, s.Release)
	}
	return s, s.check()
}

// configured fills in what the descriptors say. Whether something is missing is check's to say.
func (s *Summary) configured(all []*intoto.ResourceDescriptor) error {
	seen := map[string]bool{}
	for _, d := range all {
		name := d.GetName()
		if seen[name] && name != nameWaiver {
			return fmt.Errorf("it has two descriptors named %q", name)
		}
		seen[name] = true
		m := members{in: d.GetAnnotations().GetFields()}
		switch name {
		case nameDecision:
			s.Release, s.ReplayID, s.Ruling, s.Text = m.text("release"), m.text("replayId"), m.text("ruling"), m.text("summary")
			s.Expected, s.Confirmed, s.Evaluated, s.Flipped = m.count("expected"), m.count("confirmed"), m.count("evaluated"), m.count("flipped")
			if _, excused := m.in["excused"]; excused {
				s.Excused = m.count("excused")
			}
			s.DecidedAt, s.Causes = m.time("decidedAt"), m.causes()
			if _, ends := m.in["expiresAt"]; ends {
				s.ExpiresAt = m.time("expiresAt")
			}
		case nameSet:
			s.Set, s.Version = m.text("set"), m.count("version")
			s.Checksum = "sha256:" + d.GetDigest()["sha256"]
		case nameWaiver:
			s.Waivers = append(s.Waivers, Waiver{ID: m.text("waiverId"), Reason: m.text("reason"), GrantedBy: m.text("grantedBy"), ExpiresAt: m.time("expiresAt"), Flips: m.count("flips")})
		}
		if m.err != nil {
			return fmt.Errorf("descriptor %q: %w", name, m.err)
		}
	}
	return nil
}

// members reads annotations, and keeps the first error.
type members struct {
	in  map[string]*structpb.Value
	err error
}

func (m *members) refuse(name, expected string) {
	if m.err == nil {
		m.err = fmt.Errorf("annotation %q: expected %s", name, expected)
	}
}

func (m *members) text(name string) string {
	v, ok := m.in[name].GetKind().(*structpb.Value_StringValue)
	if !ok {
		m.refuse(name, "a string")
		return ""
	}
	return v.StringValue
}

func (m *members) count(name string) uint64 {
	v, ok := m.in[name].GetKind().(*structpb.Value_NumberValue)
	if !ok || v.NumberValue < 0 || v.NumberValue > 1<<53 || v.NumberValue != math.Trunc(v.NumberValue) {
		m.refuse(name, "a whole number")
		return 0
	}
	return uint64(v.NumberValue)
}

func (m *members) time(name string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, m.text(name))
	if err != nil {
		m.refuse(name, "a time by RFC 3339")
	}
	return t
}

func (m *members) causes() []Cause {
	list, ok := m.in["causes"].GetKind().(*structpb.Value_ListValue)
	if !ok {
		m.refuse("causes", "a list")
		return nil
	}
	var out []Cause
	for _, v := range list.ListValue.GetValues() {
		c := members{in: v.GetStructValue().GetFields()}
		out = append(out, Cause{Code: c.text("code"), Count: c.count("count"), Message: c.text("message")})
		if c.err != nil && m.err == nil {
			m.err = c.err
		}
	}
	return out
}

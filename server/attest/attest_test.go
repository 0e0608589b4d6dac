package attest_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/attest"
	"github.com/retrial-dev/retrial/server/identity"
)

const (
	passes  = gatev1.Status_STATUS_PASS
	blocks  = gatev1.Status_STATUS_BLOCK
	unknown = gatev1.Status_STATUS_UNKNOWN
)

var (
	decided = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	hex64   = strings.Repeat("ab", 32)
)

func newKey(t testing.TB) *identity.Key {
	t.Helper()
	key, err := identity.LoadOrCreate(filepath.Join(t.TempDir(), "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// passed is a decision that passes, of 3 fixtures.
func passed() *gatev1.Decision {
	return &gatev1.Decision{
		ReplayId: "r-1", Release: "v2", Set: "memory", Version: 7, Checksum: "sha256:" + hex64, Ruling: gatev1.Ruling_RULING_PASS,
		Summary: "release passed: 3 of 3 fixtures agree", Expected: 3, Confirmed: 3, Evaluated: 3,
		Policy: &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_FULL}, DecidedAt: timestamppb.New(decided), SubmittedBy: "ada",
		Baseline: &gatev1.CheckerIdentity{Name: "promotion", Version: "1.0.0"}, Candidate: &gatev1.CheckerIdentity{Name: "promotion", Version: "1.1.0", ProgramDigest: "sha256:" + strings.Repeat("06", 32)},
		Evidence: &gatev1.Evidence{
			ArtifactDigest: "sha256:" + strings.Repeat("01", 32), SetChecksum: "sha256:" + hex64, PolicyDigest: "sha256:" + strings.Repeat("02", 32),
			AllowlistDigest: "sha256:" + strings.Repeat("03", 32), StubsDigest: "sha256:" + strings.Repeat("04", 32),
			BaselineBuild: "sha256:" + strings.Repeat("05", 32), CandidateBuild: "git describe: v1.1.0-3",
		},
	}
}

// blocked is the same with two flips.
func blocked() *gatev1.Decision {
	d := passed()
	d.Ruling, d.Summary, d.Flipped, d.FlipsByClass = gatev1.Ruling_RULING_BLOCK, "release blocked: 2 fixtures flipped", 2, map[string]uint64{"restrictive": 2}
	d.Causes = []*gatev1.Cause{{Code: "FLIP", Count: 2, Message: "2 fixtures flipped"}}
	d.FindingCount = 2
	for _, id := range []string{"f-1", "f-2"} {
		d.Findings = append(d.Findings, &gatev1.Finding{Code: "FLIP", Severity: gatev1.Severity_SEVERITY_BLOCKING, Subject: id, Group: "hermetic", New: &gatev1.Outcome{Verdict: "dropped", ReasonCode: "stale"}})
	}
	return d
}

func waiver() *gatev1.Waiver {
	return &gatev1.Waiver{
		WaiverId: "w-1", Release: "v2", Set: "memory", Version: 7, ReplayId: "r-1", Reason: "ticket 4711", GrantedBy: "grace", ExpiresAt: timestamppb.New(decided.Add(24 * time.Hour)),
		Flips: []*gatev1.WaivedFlip{{FixtureId: "f-1", NewVerdict: "dropped", NewReasonCode: "stale"}, {FixtureId: "f-2", NewVerdict: "dropped", NewReasonCode: "stale"}},
	}
}

// Each result comes back as it was signed, and the same arguments give the same bytes.
func TestRoundTrip(t *testing.T) {
	key := newKey(t)
	derived := blocked()
	derived.Findings[1].Group, derived.Findings[1].Severity = "derived", gatev1.Severity_SEVERITY_INFO
	aged := passed()
	aged.Policy.EvidenceMaxAge = durationpb.New(time.Hour)
	tolerated := passed()
	tolerated.Findings = blocked().Findings[:1]
	tolerated.Findings[0].Severity = gatev1.Severity_SEVERITY_TOLERATED
	unconfirmed := blocked()
	unconfirmed.Ruling, unconfirmed.Confirmed, unconfirmed.Evaluated = gatev1.Ruling_RULING_BASELINE_UNCONFIRMED, 1, 0
	for _, tt := range []struct {
		name           string
		decision       *gatev1.Decision
		status         gatev1.Status
		waivers        []*gatev1.Waiver
		want           attest.Result
		failed, warned []string
		expires        time.Time
	}{
		{"pass", passed(), passes, nil, attest.Passed, nil, nil, time.Time{}},
		{"a waiver of an earlier replay does not bear on a pass", passed(), passes, []*gatev1.Waiver{{ReplayId: "r-0"}}, attest.Passed, nil, nil, time.Time{}},
		{"evidence that ages", aged, passes, nil, attest.Passed, nil, nil, decided.Add(time.Hour)},
		{"tolerated", tolerated, passes, nil, attest.Passed, nil, []string{"f-1"}, time.Time{}},
		{"block", blocked(), blocks, nil, attest.Failed, []string{"f-1", "f-2"}, nil, time.Time{}},
		{"derived", derived, blocks, nil, attest.Failed, []string{"f-1"}, nil, time.Time{}},
		{"unconfirmed", unconfirmed, blocks, nil, attest.Failed, []string{"f-1", "f-2"}, nil, time.Time{}},
		{"waived", blocked(), passes, []*gatev1.Waiver{waiver()}, attest.Warned, nil, []string{"f-1", "f-2"}, decided.Add(24 * time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			envelope, err := attest.Sign(key, tt.decision, tt.status, tt.waivers)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := attest.Sign(key, tt.decision, tt.status, tt.waivers); err != nil || !bytes.Equal(again, envelope) {
				t.Errorf("signed again it is another (%v)", err)
			}
			s, err := attest.Verify(envelope, []ed25519.PublicKey{newKey(t).Public(), key.Public()}, attest.Expected{Digest: tt.decision.GetEvidence().GetArtifactDigest(), Release: "v2"})
			if err != nil {
				t.Fatal(err)
			}
			if s.Result != tt.want || s.KeyID != key.ID() || s.Set != "memory" || s.Version != 7 || s.Checksum != "sha256:"+hex64 || s.ReplayID != "r-1" || len(s.Causes) != len(tt.decision.GetCauses()) || !s.DecidedAt.Equal(decided) || s.Text != tt.decision.GetSummary() {
				t.Errorf("got %+v", s)
			}
			if !slices.Equal(s.Failed, tt.failed) || !slices.Equal(s.Warned, tt.warned) || !s.ExpiresAt.Equal(tt.expires) {
				t.Errorf("got %v, %v, %v", s.Failed, s.Warned, s.ExpiresAt)
			}
		})
	}
}

// The subject is what was released, or there is no statement.
func TestSubject(t *testing.T) {
	artifact := passed().GetEvidence().GetArtifactDigest()
	for name, tt := range map[string]struct{ artifact, release, want string }{
		"artifact":                   {artifact, strings.Repeat("c", 40), artifact},
		"release is a digest":        {"", "sha256:" + hex64, "sha256:" + hex64},
		"commit":                     {"", strings.Repeat("c", 40), "gitCommit:" + strings.Repeat("c", 40)},
		"commit of SHA-256":          {"", hex64, "gitCommit:" + hex64},
		"a name":                     {"", "v2", ""},
		"none":                       {"", "", ""},
		"short commit":               {"", "c0ffee0", ""},
		"upper case":                 {"", strings.Repeat("C", 40), ""},
		"a line behind":              {"", strings.Repeat("c", 40) + "\n", ""},
		"another algorithm":          {"sha512:" + hex64 + hex64, strings.Repeat("c", 40), ""},
		"artifact, but no release":   {artifact, "", ""},
		"artifact digest is damaged": {artifact[:70], "sha256:" + hex64, ""},
	} {
		t.Run(name, func(t *testing.T) {
			key, d := newKey(t), passed()
			d.Evidence.ArtifactDigest, d.Release = tt.artifact, tt.release
			envelope, err := attest.Sign(key, d, passes, nil)
			if tt.want == "" {
				if fixture.CodeOf(err) != fixture.CodePrecondition || envelope != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := attest.Verify(envelope, []ed25519.PublicKey{key.Public()}, attest.Expected{Digest: tt.want})
			if err != nil || s.Release != tt.release {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
}

// A release that is another than the verifying side expects is refused, however well it is signed.
func TestExpectations(t *testing.T) {
	key := newKey(t)
	envelope, err := attest.Sign(key, passed(), passes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []attest.Expected{{Digest: "sha256:" + hex64}, {Release: "v3"}, {Digest: "v2"}, {Digest: passed().GetEvidence().GetArtifactDigest(), Release: "V2"}} {
		if s, err := attest.Verify(envelope, []ed25519.PublicKey{key.Public()}, want); s != nil || fixture.CodeOf(err) != fixture.CodePrecondition {
			t.Errorf("%+v: got %+v, %v", want, s, err)
		}
	}
}

// What is no evidence is not attested.
func TestNothingToAttest(t *testing.T) {
	type decision = *gatev1.Decision
	type waiving = *gatev1.Waiver
	pass := func(d decision) { proto.Reset(d); proto.Merge(d, passed()) }
	for name, tt := range map[string]struct {
		status gatev1.Status
		waived bool
		change func(decision, waiving) // of a block by two flips, and the waiver of both
	}{
		"unknown":               {unknown, false, func(decision, waiving) {}},
		"no status":             {0, false, func(decision, waiving) {}},
		"pass without a waiver": {passes, false, func(decision, waiving) {}},
		"partial":               {blocks, false, func(d decision, _ waiving) { d.Partial = true }},
		"no ruling":             {blocks, false, func(d decision, _ waiving) { d.Ruling = 0 }},
		"pass that blocks":      {blocks, false, func(d decision, _ waiving) { d.Ruling = gatev1.Ruling_RULING_PASS }},
		"pass with a cause":     {passes, false, func(d decision, _ waiving) { pass(d); d.Causes = blocked().Causes }},
		"pass of nothing":       {passes, false, func(d decision, _ waiving) { pass(d); d.Expected, d.Confirmed, d.Evaluated = 0, 0, 0 }},
		"pass of some":          {passes, false, func(d decision, _ waiving) { pass(d); d.Evaluated = 2 }},
		"pass, not confirmed":   {passes, false, func(d decision, _ waiving) { pass(d); d.Confirmed = 2 }},
		"block without a cause": {blocks, false, func(d decision, _ waiving) { d.Causes = nil }},
		"no checksum":           {blocks, false, func(d decision, _ waiving) { d.Checksum, d.Evidence.SetChecksum = "", "" }},
		"another checksum":      {blocks, false, func(d decision, _ waiving) { d.Evidence.SetChecksum = "sha256:" + strings.Repeat("0", 64) }},
		"no time":               {blocks, false, func(d decision, _ waiving) { d.DecidedAt = nil }},
		"unconfirmed is waived": {passes, true, func(d decision, _ waiving) { d.Ruling = gatev1.Ruling_RULING_BASELINE_UNCONFIRMED }},
		"another cause is waived": {passes, true, func(d decision, _ waiving) {
			d.Causes = append(d.Causes, &gatev1.Cause{Code: "CHECKER_ERROR", Count: 1})
		}},
		"another release is waived": {passes, true, func(_ decision, w waiving) { w.Release = "v3" }},
		"another set is waived":     {passes, true, func(_ decision, w waiving) { w.Set = "notes" }},
		"another version is waived": {passes, true, func(_ decision, w waiving) { w.Version = 6 }},
		"revoked":                   {passes, true, func(_ decision, w waiving) { w.RevokedAt = timestamppb.New(decided) }},
		"endless waiver":            {passes, true, func(_ decision, w waiving) { w.ExpiresAt = nil }},
		"flip that is not waived":   {passes, true, func(_ decision, w waiving) { w.Flips[1].NewVerdict = "kept" }},
		"flips beyond the listed":   {passes, true, func(d decision, _ waiving) { d.Causes[0].Count = 3 }},
		"a fixture named twice":     {passes, true, func(d decision, w waiving) { d.Causes[0].Count = 3; w.Flips = append(w.Flips, w.Flips[0]) }},
		"a finding beside flips":    {passes, true, func(d decision, _ waiving) { d.Findings[1].Code = "NONDETERMINISTIC" }},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := blocked(), waiver()
			tt.change(d, w)
			var waivers []*gatev1.Waiver
			if tt.waived {
				waivers = append(waivers, w)
			}
			if doc, err := attest.Statement(d, tt.status, waivers); doc != nil || fixture.CodeOf(err) != fixture.CodePrecondition || !strings.Contains(err.Error(), "attest decision of r-1: ") {
				t.Errorf("got %s, %v", doc, err)
			}
		})
	}
}

// Whatever decision, standing and waivers are: PASSED is a pass over everything, WARNED has a waiver.
func TestPassIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := blocked()
		d.Ruling = gatev1.Ruling(rapid.IntRange(0, 4).Draw(t, "ruling"))
		d.Partial = rapid.Bool().Draw(t, "partial")
		d.Evaluated = rapid.Uint64Range(0, 3).Draw(t, "evaluated")
		if rapid.Bool().Draw(t, "clean") {
			d.Causes, d.Findings = nil, nil
		}
		status := gatev1.Status(rapid.IntRange(0, 4).Draw(t, "status"))
		var waivers []*gatev1.Waiver
		if rapid.Bool().Draw(t, "waived") {
			waivers = append(waivers, waiver())
		}
		doc, err := attest.Statement(d, status, waivers)
		if err != nil {
			return
		}
		var st struct {
			Predicate struct{ Result attest.Result }
		}
		if err := json.Unmarshal(doc, &st); err != nil {
			t.Fatal(err)
		}
		whole := !d.Partial && d.Evaluated == 3
		switch st.Predicate.Result {
		case attest.Passed:
			if status != passes || d.Ruling != gatev1.Ruling_RULING_PASS || !whole || len(d.Causes) > 0 {
				t.Errorf("PASSED: %s, %s, %+v", doc, status, d)
			}
		case attest.Warned:
			if status != passes || d.Ruling != gatev1.Ruling_RULING_BLOCK || !whole || len(waivers) == 0 {
				t.Errorf("WARNED: %s, %s, %+v", doc, status, d)
			}
		}
	})
}

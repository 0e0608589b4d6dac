package attest_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/attest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// The statement on a waived block, byte for byte: what is signed must not change unseen.
func TestStatementOfAWaivedBlock(t *testing.T) {
	const file = "testdata/waived-block.json"
	doc, err := attest.Statement(blocked(), passes, []*gatev1.Waiver{waiver()})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var b bytes.Buffer
		if err := json.Indent(&b, append(doc, '\n'), "", "  "); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want, err = fixture.Canonicalize(nil, want); err != nil || !bytes.Equal(doc, want) {
		t.Errorf("%v: got\n%s\nwant\n%s", err, doc, want)
	}
}

// The statement has the fields of the published schemas and no others: Statement v1, ResourceDescriptor v1
// (spec/v1/statement.md, resource_descriptor.md) and test-result v0.1 (spec/predicates/test-result.md).
func TestStatementFollowsTheSchema(t *testing.T) {
	for name, tt := range map[string]struct {
		decision *gatev1.Decision
		status   gatev1.Status
		waivers  []*gatev1.Waiver
		result   string
	}{
		"passed": {passed(), passes, nil, "PASSED"},
		"failed": {blocked(), blocks, nil, "FAILED"},
		"warned": {blocked(), passes, []*gatev1.Waiver{waiver()}, "WARNED"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := attest.Statement(tt.decision, tt.status, tt.waivers)
			if err != nil {
				t.Fatal(err)
			}
			var st map[string]any
			if err := json.Unmarshal(doc, &st); err != nil {
				t.Fatal(err)
			}
			only(t, st, "_type", "subject", "predicateType", "predicate")
			if st["_type"] != "https://in-toto.io/Statement/v1" || st["predicateType"] != "https://in-toto.io/attestation/test-result/v0.1" {
				t.Errorf("got %s, %s", st["_type"], st["predicateType"])
			}
			predicate := st["predicate"].(map[string]any)
			only(t, predicate, "result", "configuration", "url", "passedTests", "warnedTests", "failedTests")
			if predicate["result"] != tt.result {
				t.Errorf("got %s", predicate["result"])
			}
			for _, d := range slices.Concat(st["subject"].([]any), predicate["configuration"].([]any)) {
				only(t, d.(map[string]any), "name", "uri", "digest", "content", "downloadLocation", "mediaType", "annotations")
			}

			// What in-toto's own library says about it.
			var theirs intoto.Statement
			if err := protojson.Unmarshal(doc, &theirs); err != nil {
				t.Fatal(err)
			}
			if err := theirs.Validate(); err != nil {
				t.Error(err)
			}
			b, err := protojson.Marshal(theirs.GetPredicate())
			if err != nil {
				t.Fatal(err)
			}
			var result testresult.TestResult
			if err := protojson.Unmarshal(b, &result); err != nil {
				t.Fatal(err)
			}
			for _, d := range result.GetConfiguration() {
				if err := d.Validate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func only(t *testing.T, object map[string]any, names ...string) {
	t.Helper()
	for k := range object {
		if !slices.Contains(names, k) {
			t.Errorf("the schema has no %q", k)
		}
	}
}

// However many fixtures flip, the lists are bounded and the envelope can be read; what is not listed is counted.
func TestManyFlips(t *testing.T) {
	d := blocked()
	d.Flipped, d.FindingCount, d.Causes[0].Count = 5000, 5000, 5000
	for i := range 5000 {
		d.Findings = append(d.Findings, &gatev1.Finding{Code: "FLIP", Severity: gatev1.Severity_SEVERITY_BLOCKING, Subject: fmt.Sprintf("%0*d", fixture.MaxIDBytes, i), Group: "hermetic"})
	}
	s := reread(t, d)
	if len(s.Failed) != 1000 || s.Failed[0] != "f-1" || s.Flipped != 5000 || s.Causes[0].Count != 5000 {
		t.Errorf("got %d, %d, %v", len(s.Failed), s.Flipped, s.Causes)
	}
}

func reread(t *testing.T, d *gatev1.Decision) *attest.Summary {
	t.Helper()
	key := newKey(t)
	envelope, err := attest.Sign(key, d, blocks, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := attest.Verify(envelope, []ed25519.PublicKey{key.Public()}, attest.Expected{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

var (
	root   = filepath.Join("..", "..", "..", "..")
	setDir = filepath.Join(root, "examples", "promotion")
)

// loadFixtures reads fixtures/, one array a reason code.
func loadFixtures(t testing.TB) []*fixture.Fixture {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(setDir, "fixtures", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*fixture.Fixture
	for _, path := range paths {
		err := fixture.Elements(read(t, path), func(_ int, doc []byte) error {
			f, err := fixture.Decode(doc)
			if err != nil {
				return err
			}
			if name := strings.TrimSuffix(filepath.Base(path), ".json"); f.Expected.ReasonCode != name {
				t.Errorf("%s stands in %s.json, its reason code is %s", f.ID, name, f.Expected.ReasonCode)
			}
			out = append(out, f)
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return out
}

// loadStubs reads stubs/, one stub a line, by fixture id.
func loadStubs(t testing.TB) map[string]*stub.Stub {
	t.Helper()
	out := map[string]*stub.Stub{}
	for line := range bytes.Lines(read(t, filepath.Join(setDir, "stubs", rules.PreferenceOrFact+".jsonl"))) {
		s, err := stub.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if out[s.FixtureID] != nil || s.Call != rules.PreferenceOrFact {
			t.Errorf("unexpected stub of %s for %s", s.Call, s.FixtureID)
		}
		out[s.FixtureID] = s
	}
	return out
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// R30: 200 of 200 confirm with 30 days; with 14 days 17 flip, 15 of them promotions that become stale and 2 drops that
// change their reason only.
func TestWorkedExample(t *testing.T) {
	fixtures, stubs := loadFixtures(t), loadStubs(t)
	verdicts, flips := map[string]int{}, map[string]int{}
	confirmed := 0
	for _, f := range fixtures {
		verdicts[f.Expected.Verdict]++
		was := f.Expected.Verdict + "/" + f.Expected.ReasonCode
		answer := ""
		if s := stubs[f.ID]; s != nil {
			answer = string(s.Value)
		}
		if got := outcome(t, f, answer, "30"); got == was {
			confirmed++
		} else {
			t.Errorf("%s: %s -> %s with 30 days", f.ID, was, got)
		}
		if got := outcome(t, f, answer, "14"); got != was {
			flips[was+" -> "+got]++
		}
	}
	if want := map[string]int{"promoted": 100, "dropped": 100}; !maps.Equal(verdicts, want) {
		t.Errorf("verdicts: got %v, want %v", verdicts, want)
	}
	if confirmed != 200 || len(fixtures) != 200 {
		t.Errorf("%d of %d confirm, want 200 of 200", confirmed, len(fixtures))
	}
	want := map[string]int{
		"promoted/preference -> dropped/stale":      8,
		"promoted/fact -> dropped/stale":            7,
		"dropped/already_promoted -> dropped/stale": 1,
		"dropped/below_threshold -> dropped/stale":  1,
	}
	if !maps.Equal(flips, want) {
		t.Errorf("flips: got %v, want %v", flips, want)
	}
}

func outcome(t *testing.T, f *fixture.Fixture, answer, days string) string {
	t.Helper()
	got, err := check(t, f.AppendInput(nil), answer, map[string]string{"max_age_days": days})
	if err != nil {
		t.Fatalf("%s: %v", f.ID, err)
	}
	return got.Verdict + "/" + got.ReasonCode
}

// R19: with 30 days exactly the fixtures that have a stub ask for one.
func TestStubsAreThoseAskedFor(t *testing.T) {
	stubs := loadStubs(t)
	asked := 0
	for _, f := range loadFixtures(t) {
		_, err := check(t, f.AppendInput(nil), "", nil)
		var missing *retrial.StubMissingError
		if asks := errors.As(err, &missing); asks != (stubs[f.ID] != nil) {
			t.Errorf("%s: asks for a stub: %v; has one: %v", f.ID, asks, !asks)
		} else if asks {
			asked++
		} else if err != nil {
			t.Errorf("%s: %v", f.ID, err)
		}
	}
	if asked != len(stubs) {
		t.Errorf("%d fixtures ask for a stub, and there are %d", asked, len(stubs))
	}
}

// The set is one that a curator would accept: hermetic (R17), every reason code of the checker covered (R35) and the
// drops balanced over theirs (R10), no claim twice in one scope (R11), ids and row ids once each.
func TestSetIsWellFormed(t *testing.T) {
	var tally fixture.Tally
	once := map[string]string{}
	for _, f := range loadFixtures(t) {
		if err := tally.Add(f); err != nil {
			t.Error(err)
		}
		claim, _ := fixture.Lookup(f.Canonical(), "claim_hash")
		for _, key := range []string{f.ID, f.SourceRowID, string(claim) + string(f.Shown("scope"))} {
			if other := once[key]; other != "" {
				t.Errorf("%s and %s share %s", other, f.ID, key)
			}
			once[key] = f.ID
		}
	}
	if tally.Hermetic != tally.Total {
		t.Errorf("%d of %d fixtures are hermetic", tally.Hermetic, tally.Total)
	}
	var codes []string
	for _, c := range tally.Counts() {
		codes = append(codes, c.ReasonCode)
		if c.Verdict == rules.Dropped && (c.Count < 16 || c.Count > 17) {
			t.Errorf("%d fixtures dropped as %s, want 16 or 17", c.Count, c.ReasonCode)
		}
	}
	declared := rules.Checker{}.Describe().ReasonCodes
	if !slices.Equal(slices.Sorted(slices.Values(codes)), slices.Sorted(slices.Values(declared))) {
		t.Errorf("reason codes: the set has %v, the checker declares %v", codes, declared)
	}
	if line := "\nreason_codes: [" + strings.Join(declared, ", ") + "]\n"; !bytes.Contains(read(t, filepath.Join(setDir, "retrial.yaml")), []byte(line)) {
		t.Errorf("retrial.yaml lacks the line %q", line)
	}
}

// R2: the stored age is what the rule would have computed when it decided, from the acceptance.
func TestStoredAges(t *testing.T) {
	for _, f := range loadFixtures(t) {
		var doc struct {
			DecidedAt  time.Time `json:"decided_at"`
			AcceptedAt time.Time `json:"accepted_at"`
			AgeDays    int       `json:"age_days_at_decision"`
		}
		if err := json.Unmarshal(f.Canonical(), &doc); err != nil {
			t.Fatal(err)
		}
		if days := int(doc.DecidedAt.Sub(doc.AcceptedAt) / (24 * time.Hour)); days != doc.AgeDays {
			t.Errorf("%s: accepted %s, decided %s: %d days, not %d", f.ID, doc.AcceptedAt, doc.DecidedAt, days, doc.AgeDays)
		}
	}
}

// The generator gives the committed files, byte for byte, and there are no others.
func TestGeneratorReproducesTheSet(t *testing.T) {
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./examples/promotion/generate", "-out", out)
	cmd.Dir = root
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	got, want := tree(t, out), tree(t, setDir)
	if len(want) != 9 {
		t.Errorf("the set has %d files, want 8 of fixtures and 1 of stubs", len(want))
	}
	names := slices.Sorted(maps.Keys(want))
	if generated := slices.Sorted(maps.Keys(got)); !slices.Equal(generated, names) {
		t.Fatalf("generated %v, committed %v", generated, names)
	}
	for _, name := range names {
		if got[name] != want[name] {
			t.Errorf("%s differs from what the generator gives", name)
		}
	}
}

// tree reads fixtures/ and stubs/ by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, sub := range []string{"fixtures", "stubs"} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out[sub+"/"+e.Name()] = string(read(t, filepath.Join(dir, sub, e.Name())))
		}
	}
	return out
}

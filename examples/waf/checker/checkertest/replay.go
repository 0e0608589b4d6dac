// Package checkertest replays the fixtures of the example in a test of one version of the rules.
package checkertest

import (
	"bufio"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/examples/waf/checker"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Result counts what a replay came to.
type Result struct {
	// Rows are all fixtures, Confirmed those decided as they were recorded.
	Rows, Confirmed int
	// ToMatch and ToNoMatch are the flips.
	ToMatch, ToNoMatch int
	// Unexpected are the fixtures decided otherwise than the rule set's own tests expect.
	Unexpected int
}

// Replay decides every fixture of a JSON Lines file, on all processors, and each a second time: another answer to the
// same case fails the test (R24).
func Replay(t *testing.T, c *checker.Checker, path string) Result {
	t.Helper()
	fixtures := read(t, path)
	counts := make([]Result, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range counts {
		wg.Go(func() {
			for at := i; at < len(fixtures); at += len(counts) {
				counts[i].try(t, c, fixtures[at])
			}
		})
	}
	wg.Wait()
	sum := Result{Rows: len(fixtures)}
	for _, n := range counts {
		sum.Confirmed += n.Confirmed
		sum.ToMatch += n.ToMatch
		sum.ToNoMatch += n.ToNoMatch
		sum.Unexpected += n.Unexpected
	}
	return sum
}

func (n *Result) try(t *testing.T, c *checker.Checker, f *fixture.Fixture) {
	got, err := decide(t, c, f)
	if err != nil {
		t.Errorf("%s: %v", f.ID, err)
		return
	}
	if again, err := decide(t, c, f); err != nil || !again.Equal(got) {
		t.Errorf("%s: decided %s, and when asked again %s (error: %v)", f.ID, got, again, err)
	}
	switch {
	case got.Equal(f.Expected):
		n.Confirmed++
	case got.Verdict == checker.Match && f.Expected.Verdict == checker.NoMatch:
		n.ToMatch++
	case got.Verdict == checker.NoMatch && f.Expected.Verdict == checker.Match:
		n.ToNoMatch++
	default:
		t.Errorf("%s: was %s, decided %s: the same verdict for another reason", f.ID, f.Expected, got)
	}
	upstream, _ := fixture.Lookup(f.Canonical(), "provenance", "upstream_expectation", "verdict")
	if string(upstream) != `"`+got.Verdict+`"` {
		n.Unexpected++
	}
}

func decide(t *testing.T, c *checker.Checker, f *fixture.Fixture) (fixture.Outcome, error) {
	k, err := retrial.NewCase(c, f.AppendInput(nil), nil, nil)
	if err != nil {
		return fixture.Outcome{}, err
	}
	o, err := c.Check(t.Context(), k)
	return fixture.Outcome{Verdict: o.Verdict, ReasonCode: o.ReasonCode}, err
}

func read(t *testing.T, path string) (fixtures []*fixture.Fixture) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f, err := fixture.Decode(lines.Bytes())
		if err != nil {
			t.Fatalf("%s:%d: %v", path, len(fixtures)+1, err)
		}
		fixtures = append(fixtures, f)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return fixtures
}

// Version fails the test if the rules do not say that they are of this version.
func Version(t *testing.T, version string, rules fs.FS) {
	t.Helper()
	setup, err := fs.ReadFile(rules, "@crs-setup.conf.example")
	if err != nil {
		t.Fatal(err)
	}
	if want := "# OWASP CRS ver." + version + "\n"; !strings.Contains(string(setup), want) {
		t.Errorf("the rules do not say %q: go.mod names another version than main.go", want)
	}
}

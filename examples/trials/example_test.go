// Package trials runs the examples that need more than Go and the product's own modules, each as its README says. It is a
// module of its own, so that `go test ./...` at the root needs none of what they need.
package trials

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decision is what a run with --json ends with, as far as it is looked at. Numbers come as strings.
type decision struct {
	Summary        string            `json:"summary"`
	Expected       string            `json:"expected"`
	Confirmed      string            `json:"confirmed"`
	Evaluated      string            `json:"evaluated"`
	FlipsByClass   map[string]string `json:"flips_by_class"`
	Findings       []finding         `json:"findings"`
	FlipsByOutcome []struct {
		OldVerdict string      `json:"old_verdict"`
		NewVerdict string      `json:"new_verdict"`
		Count      json.Number `json:"count"`
	} `json:"flips_by_outcome"`
}

type finding struct {
	Code    string `json:"code"`
	Subject string `json:"subject"`
}

// want is what a run must come to. All of these block: the exit status is 1.
type want struct {
	rows    string
	classes map[string]string
	summary string
}

// Each example as its README says: what is built, what is run, and what that prints.
func TestExamples(t *testing.T) {
	for name, want := range map[string]want{
		"cedar": {"358", map[string]string{"permissive": "4", "restrictive": "7", "lateral": "8", "reason": "11"},
			"release blocked: 30 fixtures flipped"},
		"pod-security": {"340", map[string]string{"permissive": "16", "restrictive": "30", "reason": "8"},
			"release blocked: 54 fixtures flipped"},
		"packaging": {"471", map[string]string{"permissive": "122", "restrictive": "9", "lateral": "3", "reason": "2"},
			"release blocked: 136 fixtures flipped"},
		"tough-cookie": {"471", map[string]string{"permissive": "99", "restrictive": "152"},
			"release blocked: 251 fixtures flipped"},
	} {
		t.Run(name, func(t *testing.T) {
			printed := followReadme(t, name)
			want.check(t, try(t, filepath.Join("examples", name)))
			if !strings.HasSuffix(printed, want.summary+"\n") {
				t.Errorf("the run of the README does not end with %q", want.summary)
			}
		})
	}
}

func (w want) check(t *testing.T, d decision) {
	t.Helper()
	if d.Expected != w.rows || d.Confirmed != w.rows || d.Evaluated != w.rows {
		t.Errorf("%s fixtures, %s confirmed, %s tried by the candidate: want %s of each", d.Expected, d.Confirmed, d.Evaluated, w.rows)
	}
	if !maps.Equal(d.FlipsByClass, w.classes) {
		t.Errorf("got flips %v, want %v", d.FlipsByClass, w.classes)
	}
	if d.Summary != w.summary {
		t.Errorf("got %q, want %q", d.Summary, w.summary)
	}
}

// The fixtures are what the generator makes of the two lists that the environments have: nothing in them was edited by hand.
// That of examples/packaging reads archives, which would have to be downloaded.
func TestToughCookieIsGenerated(t *testing.T) {
	followReadme(t, "tough-cookie")
	generator := exec.CommandContext(t.Context(), "node", "baseline/dist/generate.js", "baseline/node_modules/psl", "candidate/node_modules/psl")
	generator.Dir = filepath.Join("..", "tough-cookie")
	got, err := generator.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../tough-cookie/fixtures/suffixes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the generator makes %d bytes, and not the %d of the fixtures", len(got), len(want))
	}
}

// followReadme runs the first block of commands in an example's README. The last one is the trial; it must end with status 1
// and print what the README shows, line by line. It gives what the trial printed.
func followReadme(t *testing.T, name string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", name, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands, shown := block(t, string(readme), "sh"), block(t, string(readme), "")
	setUp, trial, found := strings.Cut(commands, "./retrial run ")
	if !found {
		t.Fatalf("the commands of %s do not end with a trial:\n%s", name, commands)
	}
	bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", setUp)
	bash.Dir = root
	if out, err := bash.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := run(t, strings.Fields(trial)...)
	for line := range strings.Lines(shown) {
		// What is cut ends in an ellipsis: the rows are wide.
		beginning, _ := strings.CutSuffix(line, "…\n")
		if !strings.Contains(printed, strings.TrimRight(beginning, " ")) {
			t.Errorf("the run does not print %q", line)
		}
	}
	return printed
}

// block gives the first code block of a language.
func block(t *testing.T, doc, language string) string {
	t.Helper()
	found := regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```").FindAllStringSubmatch(doc, -1)
	for _, m := range found {
		if m[1] == language {
			return m[2]
		}
	}
	t.Fatalf("no code block of language %q", language)
	return ""
}

// root is the root of the repository, where the commands of every README are meant to be run.
var root = filepath.Join("..", "..")

// try runs a set and gives its decision.
func try(t *testing.T, directory string) decision {
	t.Helper()
	for line := range strings.Lines(run(t, "--json", directory)) {
		var document struct {
			Decision *decision `json:"decision"`
		}
		if err := json.Unmarshal([]byte(line), &document); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if document.Decision != nil {
			return *document.Decision
		}
	}
	t.Fatal("the run gives no decision")
	return decision{}
}

// run gives what `retrial run` prints, over a store of its own. Its status must be 1.
func run(t *testing.T, arguments ...string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "retrial.db")
	retrial := exec.CommandContext(t.Context(), "./retrial", append([]string{"run", "--store", store}, arguments...)...)
	retrial.Dir = root
	var stderr strings.Builder
	retrial.Stderr = &stderr
	out, err := retrial.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("retrial run %v: %v, want exit status 1\n%s%s", arguments, err, out, &stderr)
	}
	return string(out)
}

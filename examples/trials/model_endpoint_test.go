package trials

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The unmodified OpenAI SDKs for Python and TypeScript, in checkers that are replayed as the README says, offline in the strictest
// sandbox that this user can have: what was recorded answers them, and a changed prompt stops the release.
func TestModelEndpoint(t *testing.T) {
	readme, err := os.ReadFile("../model-endpoint/README.md")
	if err != nil {
		t.Fatal(err)
	}
	setUp, trials, found := strings.Cut(block(t, string(readme), "sh"), "./retrial run ")
	if !found {
		t.Fatal("the commands do not end with trials")
	}
	bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", setUp)
	bash.Dir = root
	if out, err := bash.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passes, blocks, _ := strings.Cut(trials, "./retrial run ")
	confined := []string{"--sandbox", "strict"}
	if os.Getuid() != 0 {
		confined[1] = "off" // as the README says
	}
	for _, tt := range []struct {
		command, language string
		status            int
	}{{passes, "", 0}, {blocks, "text", 1}} {
		printed := ruled(t, tt.status, append(strings.Fields(tt.command), confined...)...)
		for line := range strings.Lines(block(t, string(readme), tt.language)) {
			beginning, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "…")
			if !strings.Contains(printed, beginning) {
				t.Errorf("the run does not print %q", line)
			}
		}
	}
	python := "examples/model-endpoint/python/venv/bin/python examples/model-endpoint/python/checker.py"
	node := "node examples/model-endpoint/typescript/dist/checker.js"
	reads := []string{"--read", "clients/python/src", "--read", "clients/typescript", "--read", "examples/model-endpoint/typescript"}
	for _, pair := range [][2]string{{python, python}, {node, node}, {node, python}} {
		given := slices.Concat([]string{"--json", "examples/model-endpoint", "--baseline", pair[0], "--candidate", pair[1]}, confined, reads)
		if d := endpointDecision(t, 0, given...); len(d.Findings) > 0 || d.Baseline.Sandbox != confined[1] || d.Candidate.Sandbox != confined[1] {
			t.Errorf("%q: got %+v", pair, d)
		}
		d := endpointDecision(t, 1, append(given, "--candidate-param", "instructions=2")...)
		missing := 0
		for _, f := range d.Findings {
			if f.Code == "STUB_MISSING" {
				missing++
			}
		}
		if missing != 8 { // one for each ticket that is no spam: a refusal is not tried again, and told once
			t.Errorf("%q: %d requests were refused, want 8: %+v", pair, missing, d)
		}
	}
}

type endpointRun struct {
	Summary             string
	Findings            []finding
	Baseline, Candidate struct{ Sandbox string }
}

func endpointDecision(t *testing.T, status int, arguments ...string) endpointRun {
	t.Helper()
	printed := strings.TrimSpace(ruled(t, status, arguments...))
	var document struct{ Decision endpointRun }
	if err := json.Unmarshal([]byte(printed[strings.LastIndex(printed, "\n")+1:]), &document); err != nil {
		t.Fatal(err)
	}
	return document.Decision
}

// ruled gives what `retrial run` prints, over a store of its own, and fails the test unless it ends with a status.
func ruled(t *testing.T, status int, arguments ...string) string {
	t.Helper()
	retrial := exec.CommandContext(t.Context(), "./retrial", append([]string{"run", "--store", filepath.Join(t.TempDir(), "retrial.db")}, arguments...)...)
	retrial.Dir = root
	var stderr strings.Builder
	retrial.Stderr = &stderr
	out, err := retrial.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || retrial.ProcessState.ExitCode() != status {
		t.Fatalf("retrial run %v: %v, want exit status %d\n%s%s", arguments, err, status, out, &stderr)
	}
	return string(out)
}

// The fixtures, prompts and recordings are what the generator makes: nothing in them was edited by hand.
func TestModelEndpointIsGenerated(t *testing.T) {
	dir := t.TempDir()
	generator, err := os.ReadFile("../model-endpoint/generate.py")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "generate.py")
	if err := os.WriteFile(file, generator, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "python3", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, kept := tree(t, dir), tree(t, "../model-endpoint")
	if len(made) < 40 || len(made) != len(kept) {
		t.Errorf("%d files are made, and there are %d", len(made), len(kept))
	}
	for name, text := range made {
		if kept[name] != text {
			t.Errorf("%s is not as it is made", name)
		}
	}
}

// tree gives the files of a set by their names.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, part := range []string{"fixtures", "prompts", "stubs"} {
		err := filepath.WalkDir(filepath.Join(dir, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			name, relErr := filepath.Rel(dir, path)
			out[name] = string(text)
			return errors.Join(err, relErr)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

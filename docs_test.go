package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/clients/cli"
	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server/telemetry"
	"github.com/retrial-dev/retrial/stub"
)

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fenced gives the code blocks of a document in one language.
func fenced(doc, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(doc, -1) {
		out = append(out, m[1])
	}
	return out
}

// The first command of the README prints what stands below it.
func TestReadmeShowsTheWorkedExample(t *testing.T) {
	// The test binary is not the product, and cannot stand in for it as a checker.
	checker := filepath.Join(t.TempDir(), "promotion")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", checker, "./clients/checkers/promotion").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var stdout, stderr strings.Builder
	status := cli.Main([]string{"run", "--store", filepath.Join(t.TempDir(), "retrial.db"), "examples/promotion", "--baseline", checker, "--candidate", checker}, &stdout, &stderr)
	if status != 1 {
		t.Fatalf("exit status %d\n%s%s", status, &stdout, &stderr)
	}
	block := fenced(document(t, "README.md"), "")[1]
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), ", …")
		if line != "…" && !strings.Contains(stdout.String(), line) {
			t.Errorf("the run does not print %q\n%s", line, &stdout)
		}
	}
}

// The set of the README can be read, its fixture decoded, its stub too.
func TestReadmeSetIsOne(t *testing.T) {
	readme := document(t, "README.md")
	dir := t.TempDir()
	for _, block := range fenced(readme, "yaml") {
		if strings.HasPrefix(block, "set:") {
			if err := os.WriteFile(filepath.Join(dir, setdir.ConfigFile), []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "fixtures"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fixtures", "decisions.jsonl"), []byte(fenced(readme, "json")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := setdir.Load(dir)
	if err != nil || set.Len() != 1 {
		t.Errorf("got %+v, %v", set, err)
	}
	if _, err := fixture.Canonicalize(nil, []byte(fenced(readme, "json")[1])); err != nil {
		t.Errorf("the allowlist is no JSON: %v", err)
	}
	for name, src := range map[string]string{"stubs/manifest.json": fenced(readme, "json")[2], "prompts/triage-1.md": "?"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := setdir.Recordables(dir, time.Now()); err != nil || len(list) != 1 || list[0].Recorded {
		t.Errorf("the manifest: %+v, %v", list, err)
	}
}

// Every code of a finding and every metric stand in ARCHITECTURE.md, and every exit status in the README as it stands in the help.
func TestDocumentsAreComplete(t *testing.T) {
	architecture, readme := document(t, "ARCHITECTURE.md"), document(t, "README.md")
	for _, code := range gate.Codes() {
		if !strings.Contains(architecture, "`"+string(code)+"`") {
			t.Errorf("ARCHITECTURE.md does not explain %s", code)
		}
	}
	for _, kind := range stub.Kinds() {
		if !regexp.MustCompile("(?m)^\\| [A-Z_`, ]*`" + string(kind) + "`[A-Z_`, ]* \\|").MatchString(architecture) {
			t.Errorf("ARCHITECTURE.md does not say what to do about %s", kind)
		}
	}
	var help, stderr strings.Builder
	if status := cli.Main([]string{"--help"}, &help, &stderr); status != 0 {
		t.Fatal(stderr.String())
	}
	var statuses []string
	for _, m := range regexp.MustCompile(`(?m)^  (\d)  (.+)$`).FindAllStringSubmatch(help.String(), -1) {
		statuses = append(statuses, m[1])
		if row := "| " + m[1] + " | " + m[2] + " |"; !strings.Contains(readme, row) {
			t.Errorf("README.md lacks %q", row)
		}
	}
	if want := []string{"0", "1", "2", "3", "4", "5"}; !slices.Equal(statuses, want) {
		t.Errorf("the help explains the exit statuses %q, want %q", statuses, want)
	}
	for _, m := range telemetry.Metrics() {
		labels := strings.Join(m.Labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		if row := "| `" + m.Name + "` | " + m.Type + " | `" + m.Unit + "` | " + labels + " | " + m.Help + " |"; !strings.Contains(architecture, row) {
			t.Errorf("ARCHITECTURE.md lacks %s", row)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(retrial_[a-z_]+)`").FindAllStringSubmatch(architecture, -1) {
		if !slices.ContainsFunc(telemetry.Metrics(), func(own telemetry.Metric) bool { return own.Name == m[1] }) {
			t.Errorf("ARCHITECTURE.md has %s, which is no metric", m[1])
		}
	}
	// A name of a test in ARCHITECTURE.md must be one.
	names := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(architecture, -1)
	if len(names) == 0 {
		t.Error("ARCHITECTURE.md names no test")
	}
	for _, name := range names {
		if !declared(t, name[1]) {
			t.Errorf("ARCHITECTURE.md names %s, which no file declares", name[1])
		}
	}
}

func declared(t *testing.T, test string) bool {
	t.Helper()
	files, err := filepath.Glob("*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("*/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	deepest, err := filepath.Glob("*/*/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Concat(files, deeper, deepest) {
		if strings.Contains(document(t, f), "func "+test+"(") {
			return true
		}
	}
	return false
}

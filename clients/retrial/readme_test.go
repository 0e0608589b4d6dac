package retrial_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	// fence is a code block: the line before it, its language, the code.
	fence = regexp.MustCompile("(?m)(.*)\n\n```(\\w*)\n((?s:.*?))^```$")
	named = regexp.MustCompile("^`([^`]+[.][a-z]+)`")
	other = regexp.MustCompile("`(retrial run [^`]+)` passes, with status 0")
	last  = regexp.MustCompile("`(retrial conformance [^`]+)`\n[^`]*`(level[^`]+)`")
)

// reader is somebody who follows the README in a folder of their own.
type reader struct {
	t    *testing.T
	dir  string
	env  []string
	text string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	// No network is asked for what lies in the module cache, nor for the hashes of it. What this checkout alone never needed,
	// such as the go.mod of a version that lost, comes from where modules always come from here.
	proxy := strings.TrimSpace(output(t, "go", "env", "GOPROXY"))
	cache := filepath.ToSlash(filepath.Join(strings.TrimSpace(output(t, "go", "env", "GOMODCACHE")), "cache", "download"))
	programs := t.TempDir()
	output(t, "go", "build", "-o", filepath.Join(programs, "retrial"), "github.com/retrial-dev/retrial")
	return &reader{t, t.TempDir(), append(os.Environ(),
		"PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"), "RETRIAL="+root,
		"GOPROXY=file://"+cache+","+proxy, "GOSUMDB=off", "GOWORK=off", "GOFLAGS="), string(text)}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s %v: %v\n%s", name, args, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

// shell runs a line, and gives its exit status and stdout.
func (r *reader) shell(line string) (int, string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = r.dir, r.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	r.t.Logf("$ %s\n%s%s", line, out, stderr.String())
	return cmd.ProcessState.ExitCode(), string(out)
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		r.t.Fatal(err)
	}
}

// Who follows the README from an empty folder gets what it shows.
func TestReadme(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the level that it reaches in the end needs namespaces")
	}
	r := newReader(t)
	var files []string
	var statuses []int
	shown, compared, unit := "", false, ""
	for _, block := range fence.FindAllStringSubmatch(r.text, -1) {
		before, language, code := block[1], block[2], block[3]
		name := named.FindStringSubmatch(before)
		switch {
		case name != nil:
			r.write(name[1], code)
			files = append(files, name[1])
		case strings.HasPrefix(code, "$ "):
			for line := range strings.Lines(code) {
				status, out := r.shell(strings.TrimPrefix(line, "$ "))
				statuses, shown = append(statuses, status), out
			}
		case language == "":
			if compared = true; !strings.HasSuffix(shown, code) {
				t.Errorf("it shows\n%s\nand what is printed is\n%s", code, shown)
			}
		default:
			unit = code
		}
	}
	if want := []string{"main.go", "trial/retrial.yaml", "trial/fixtures/decisions.jsonl"}; !slices.Equal(files, want) {
		t.Errorf("it has the files %v, want %v", files, want)
	}
	if want := []int{0, 0, 0, 0, 0, 1}; !slices.Equal(statuses, want) || !compared {
		t.Fatalf("its commands end with %v, want %v; output compared: %v", statuses, want, compared)
	}
	run, conformance := other.FindStringSubmatch(r.text), last.FindStringSubmatch(r.text)
	if run == nil || conformance == nil {
		t.Fatal("it lacks the sentence about what passes")
	}
	if status, _ := r.shell(run[1]); status != 0 {
		t.Errorf("%s: status %d", run[1], status)
	}
	if status, out := r.shell(conformance[1]); status != 0 || !strings.HasSuffix(strings.TrimSpace(out), conformance[2]) {
		t.Errorf("%s: status %d, and not %q in the end:\n%s", conformance[1], status, conformance[2], out)
	}
	r.write("main_test.go", "package main\n\nimport (\n\t\"testing\"\n\n\t\"github.com/retrial-dev/retrial/clients/retrial\"\n)\n\nfunc TestUnit(t *testing.T) {\n"+unit+"}\n")
	if status, _ := r.shell("go test"); status != 0 {
		t.Error("its unit test fails")
	}
}

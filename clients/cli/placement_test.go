//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
)

const placement = "../../examples/placement/"

// hook runs the hook before a push with a program as retrial, or none. It gives its exit status and what it said.
func hook(t *testing.T, program string, env ...string) (int, string) {
	t.Helper()
	file, err := filepath.Abs(placement + "pre-push")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"sh", "env", "sed", "timeout"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("this system has no %s", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Skip(err)
		}
	}
	if program != "" {
		if err := os.WriteFile(filepath.Join(bin, "retrial"), []byte("#!/bin/sh\n"+program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), file, "origin", "ssh://host/repository")
	cmd.Env = append([]string{"PATH=" + bin}, env...)
	cmd.Stdin = strings.NewReader("refs/heads/a 1 refs/heads/a 2\n")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// S13: the hook blocks what is wrong, lets go what it could not look at and says so, and shows no key to what it runs.
func TestS13Hook(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "nobody-writes")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		name, program string
		env           []string
		status        int
		says          string
	}{
		{"all is well", `echo "$@" >&2`, []string{"RETRIAL_SET=my set"}, 0, "stubs verify my set\nfixtures lint my set\n"},
		{"a recording is stale", `test "$1" != stubs || { echo OVER_AGE; exit 5; }`, nil, 5, "OVER_AGE\npre-push: the push is blocked: exit status 5"},
		{"a fixture is malformed", `test "$1" != fixtures || exit 5`, nil, 5, "pre-push: the push is blocked"},
		{"it takes too long", `read -r never <"` + fifo + `"`, []string{"RETRIAL_HOOK_SECONDS=1"}, 0, "pre-push: NOT ALL WAS CHECKED: it took more than 1 seconds"},
		{"it takes too long, and does not end when it is told to", `trap '' TERM; read -r never <"` + fifo + `"`, []string{"RETRIAL_HOOK_SECONDS=1"}, 0, "pre-push: NOT ALL WAS CHECKED: it took more than 1 seconds"},
		{"it is killed", `kill -KILL $$`, nil, 137, "pre-push: the push is blocked: exit status 137"},
		{"its second command is killed", `test "$1" != fixtures || kill -KILL $$`, nil, 137, "pre-push: the push is blocked: exit status 137"},
		{"it ends with timeout's status", `exit 124`, nil, 124, "pre-push: the push is blocked: exit status 124"},
		{"it is not installed", "", nil, 0, "pre-push: NOTHING WAS CHECKED: retrial is not installed"},
		{"no key is in sight", `env; exit 3`, []string{"OPENAI_API_KEY=k1", "OPENAI_BASE_URL=k2", "RETRIAL_TOKEN=k3", "KEYBOARD=de"}, 3, "KEYBOARD=de"},
		{"it does not read what git says", `read -r line; echo "line: $line."`, nil, 0, "line: .\nline: .\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, said := hook(t, tt.program, tt.env...)
			if status != tt.status || !strings.Contains(said, tt.says) {
				t.Errorf("exit status %d, want %d\n%s", status, tt.status, said)
			}
			if regexp.MustCompile(`=k\d`).MatchString(said) {
				t.Errorf("a key is in sight:\n%s", said)
			}
			if tt.status == 0 && strings.Contains(said, "CHECKED") != strings.Contains(tt.says, "CHECKED") {
				t.Errorf("it says:\n%s", said)
			}
		})
	}
}

// workflow is what the tests look at of a workflow.
type workflow struct {
	On   any `yaml:"on"`
	Jobs map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Minutes     int               `yaml:"timeout-minutes"`
		Steps       []struct {
			Run string            `yaml:"run"`
			Env map[string]string `yaml:"env"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
	Permissions map[string]string `yaml:"permissions"`
}

func readWorkflow(t *testing.T, name string) (w workflow, src string) {
	t.Helper()
	b, err := os.ReadFile(placement + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for job, j := range w.Jobs {
		if j.Minutes == 0 {
			t.Errorf("%s: the job %s may take for ever", name, job)
		}
	}
	if w.Permissions == nil {
		t.Errorf("%s has the permissions that the repository gives", name)
	}
	return w, string(b)
}

// S7: whatever has a key does not run on a pull request, and what runs there has none.
func TestS7Workflows(t *testing.T) {
	w, src := readWorkflow(t, "pull-request.yaml")
	on, _ := w.On.(map[string]any)
	_, asked := on["workflow_dispatch"]
	_, onPull := on["pull_request"] // and not pull_request_target, that has the repository's secrets
	if !asked || !onPull || len(on) != 2 || strings.Contains(src, "secrets.") || strings.Contains(src, "stubs record") || strings.Contains(src, "write") {
		t.Errorf("on a pull request there is more than reading:\n%s", src)
	}
	w, src = readWorkflow(t, "nightly.yaml")
	if !strings.Contains(src, "gh workflow run pull-request.yaml --ref ") {
		t.Error("the pull request of the nightly run has no checks")
	}
	on, _ = w.On.(map[string]any)
	if _, scheduled := on["schedule"]; !scheduled || len(on) != 2 || strings.Contains(src, "pull_request") || len(w.Permissions) != 0 {
		t.Errorf("the nightly run runs on %v, with %v", w.On, w.Permissions)
	}
	for name, j := range w.Jobs {
		key, writes := false, false
		for _, s := range j.Steps {
			for _, v := range s.Env {
				key = key || strings.Contains(v, "secrets.")
			}
		}
		for _, p := range j.Permissions {
			writes = writes || p == "write"
		}
		if key == writes {
			t.Errorf("the job %s has a key: %v, and may write: %v", name, key, writes)
		}
	}
}

// commands finds the command lines of retrial in a script.
func commands(script string) (out [][]string) {
	for line := range strings.Lines(script) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.HasPrefix(strings.TrimSpace(line), "for need ") || strings.Contains(line, "command -v") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:^|[;&|']|\s)retrial ([^;&|\n]*)`).FindAllStringSubmatch(line, -1) {
			if words := strings.Fields(m[1]); words[0] != "is" { // a sentence of the hook
				out = append(out, words)
			}
		}
	}
	return out
}

// Every command and flag that the templates and the page name is one.
func TestPlacementNamesWhatThereIs(t *testing.T) {
	scripts := map[string]string{}
	for _, name := range []string{"pull-request.yaml", "nightly.yaml"} {
		w, _ := readWorkflow(t, name)
		for _, j := range w.Jobs {
			for _, s := range j.Steps {
				scripts[name] += s.Run + "\n"
			}
		}
	}
	for _, name := range []string{"pre-push", "README.md"} {
		b, err := os.ReadFile(placement + name)
		if err != nil {
			t.Fatal(err)
		}
		scripts[name] = string(b)
	}
	blocks := ""
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(scripts["README.md"], -1) {
		blocks += m[1]
	}
	for _, m := range regexp.MustCompile("`(retrial [a-z ]+)`").FindAllStringSubmatch(scripts["README.md"], -1) {
		blocks += m[1] + "\n"
	}
	scripts["README.md"] = blocks
	for name, script := range scripts {
		found := commands(script)
		if len(found) == 0 {
			t.Errorf("%s names no command", name)
		}
		for _, words := range found {
			checkCommand(t, name, words)
		}
	}
}

func checkCommand(t *testing.T, file string, words []string) {
	t.Helper()
	root := newRoot(io.Discard, io.Discard)
	cmd, _, err := root.Find(words)
	if err != nil || cmd.HasSubCommands() {
		t.Errorf("%s: `retrial %s` is no command: %v", file, strings.Join(words, " "), err)
		return
	}
	for _, word := range words {
		if name, isFlag := strings.CutPrefix(word, "--"); isFlag {
			if name, _, _ = strings.Cut(name, "="); cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				t.Errorf("%s: `retrial %s` has no flag --%s", file, strings.Join(words, " "), name)
			}
		}
	}
}

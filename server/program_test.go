//go:build linux

package server_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server"
)

// A decision on a release says which program ran, where the server started it; one on no release, and of a checker that somebody
// else runs, does not.
func TestDecisionNamesTheProgram(t *testing.T) {
	b := newBench(t, func(b *bench) map[string]server.CheckerConfig {
		return map[string]server.CheckerConfig{"launched": b.command("launched", "right")}
	})
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("sha256:%x", sha256.Sum256(self))
	request := &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(b.good), Candidate: named("launched")}
	for _, release := range []string{"v1", "v2", ""} {
		r := b.replay(t, release, proto.CloneOf(request))
		if r.err != nil {
			t.Fatal(r.err)
		}
		if release == "" {
			want = ""
		}
		if got := r.decision.GetCandidate().GetProgramDigest(); got != want || r.decision.GetBaseline().GetProgramDigest() != "" {
			t.Errorf("release %q: %v, %v; want %q", release, r.decision.GetBaseline(), r.decision.GetCandidate(), want)
		}
	}
}

// A level that was reached is that of what reached it: another program, and one that describes itself otherwise, is not started for a run.
func TestRequiredLevelIsOfOneProgram(t *testing.T) {
	dir := t.TempDir()
	program, mode := filepath.Join(dir, "checker"), filepath.Join(dir, "mode")
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file+".next", []byte(text), 0o700), os.Rename(file+".next", file)); err != nil {
			t.Fatal(err)
		}
	}
	write(program, string(self))
	write(mode, "good")
	config := server.Config{Checkers: map[string]server.CheckerConfig{
		"next": {Command: []string{"sh", "-c", `exec "$0" sdk "$(cat mode)"`, program}, Dir: dir, Sandbox: "off", Env: []string{"GORACE=atexit_sleep_ms=0"}, RequireLevel: "contract"},
	}}
	store, err := fixturestore.Open(t.TempDir()+"/retrial.db", fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkers := server.NewCheckers(config)
	s, err := server.New(config, server.Parts{Store: store, Checkers: checkers, Log: zap.NewNop(), Conformance: conforms})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Require(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ program, mode, says string }{
		{"", "good", ""},
		{"x", "good", "its program is sha256:"},
		{"", "undeclared", "describes itself otherwise"},
		{"", "good", ""}, // what was put back is what was seen
	} {
		write(program, string(self)+tt.program)
		write(mode, tt.mode)
		_, err := checkers.DescribeChecker(t.Context(), &registryv1.DescribeCheckerRequest{Name: "next"})
		if (err == nil) != (tt.says == "") || err != nil && (fixture.CodeOf(err) != fixture.CodePrecondition || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("program+%q in mode %s: %v, want %q", tt.program, tt.mode, err, tt.says)
		}
	}
	if err := errors.Join(s.Stop(), store.Close()); err != nil {
		t.Error(err)
	}
}

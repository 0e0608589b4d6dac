//go:build linux

package server_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
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

package main

import (
	"testing"

	coreruleset "github.com/corazawaf/coraza-coreruleset/v4"

	"github.com/retrial-dev/retrial/examples/waf/checker"
	"github.com/retrial-dev/retrial/examples/waf/checker/checkertest"
)

// The later rules flip 212 decisions: 189 from no_match to match, 23 from match to no_match. Three are not what upstream
// expects.
func TestReplay(t *testing.T) {
	c, err := checker.New(version, coreruleset.FS)
	if err != nil {
		t.Fatal(err)
	}
	want := checkertest.Result{Rows: 4535, Confirmed: 4323, ToMatch: 189, ToNoMatch: 23, Unexpected: 3}
	if got := checkertest.Replay(t, c, "../fixtures/crs.jsonl"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestVersion(t *testing.T) { checkertest.Version(t, version, coreruleset.FS) }

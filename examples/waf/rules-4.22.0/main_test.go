package main

import (
	"testing"

	coreruleset "github.com/corazawaf/coraza-coreruleset/v4"

	"github.com/retrial-dev/retrial/examples/waf/checker"
	"github.com/retrial-dev/retrial/examples/waf/checker/checkertest"
)

// The rules that the decisions were recorded by confirm every one (R22), and 213 of them are not what upstream expects.
func TestReplay(t *testing.T) {
	c, err := checker.New(version, coreruleset.FS)
	if err != nil {
		t.Fatal(err)
	}
	want := checkertest.Result{Rows: 4535, Confirmed: 4535, Unexpected: 213}
	if got := checkertest.Replay(t, c, "../fixtures/crs.jsonl"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestVersion(t *testing.T) { checkertest.Version(t, version, coreruleset.FS) }

package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retrial-dev/retrial/replayer/gate"
)

func waivable(n int) (flips []gate.WaivedFlip) {
	for i := range n {
		flips = append(flips, gate.WaivedFlip{FixtureID: fmt.Sprint("f-", i), Verdict: "dropped", ReasonCode: "stale"})
	}
	return flips
}

func TestCheckWaiver(t *testing.T) {
	flips := waivable(3)
	for _, tt := range []struct {
		name    string
		b       gate.Blocked
		waived  []gate.WaivedFlip
		mention string // empty where it is let out
	}{
		{"exactly", gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.Flip}, Flips: flips, Whole: true}, flips, ""},
		{"over a bound", gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.BoundExceeded}, Flips: flips, Whole: true}, flips, ""},
		{"a pass", gate.Blocked{Ruling: gate.Pass, Flips: flips, Whole: true}, flips, "no block"},
		{"unconfirmed", gate.Blocked{Ruling: gate.BaselineUnconfirmed, Flips: flips, Whole: true}, flips, "no block"},
		{"no ruling", gate.Blocked{Flips: flips, Whole: true}, flips, "no block"},
		{"only the first were recorded", gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.Flip}, Flips: flips}, flips, "more flips"},
		{"outputs", gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.Flip}, Flips: flips, Whole: true, Outputs: true}, flips, "output"},
		{"nothing", gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.Flip}, Whole: true}, nil, "more flips"},
	} {
		err := gate.CheckWaiver(tt.b, tt.waived)
		if (err == nil) != (tt.mention == "") || err != nil && !strings.Contains(err.Error(), tt.mention) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// Nothing but flips can be waived, whatever else there is.
func TestOnlyFlipsCanBeWaived(t *testing.T) {
	flips := waivable(2)
	for _, code := range gate.Codes() {
		err := gate.CheckWaiver(gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.Flip, code}, Flips: flips, Whole: true}, flips)
		if may := code == gate.Flip || code == gate.BoundExceeded; (err == nil) != may {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// A waiver lets out exactly the flips that it names: one more or one less, in any order, and it lets out nothing.
func TestWaiverIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flips := waivable(rapid.IntRange(1, 20).Draw(t, "flips"))
		waived := rapid.Permutation(flips).Draw(t, "order")
		b := gate.Blocked{Ruling: gate.Block, Causes: []gate.Code{gate.Flip}, Flips: flips, Whole: true}
		if err := gate.CheckWaiver(b, waived); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, len(waived)-1).Draw(t, "at")
		changed := slices.Clone(waived)
		changed[at].ReasonCode += "x"
		for name, list := range map[string][]gate.WaivedFlip{
			"one less": slices.Delete(slices.Clone(waived), at, at+1), "one more": append(slices.Clone(waived), gate.WaivedFlip{FixtureID: "other"}),
			"one twice": append(slices.Clone(waived), waived[at]), "one changed": changed,
		} {
			if gate.CheckWaiver(b, list) == nil {
				t.Fatalf("%s is let out", name)
			}
		}
	})
}

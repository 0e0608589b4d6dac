package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// WaivedFlip names one flip by what came out of it.
type WaivedFlip struct {
	FixtureID, Verdict, ReasonCode string
}

// String gives the flip as a message names it.
func (w WaivedFlip) String() string {
	return fmt.Sprintf("%s -> %s", w.FixtureID, fixture.Outcome{Verdict: w.Verdict, ReasonCode: w.ReasonCode})
}

func (w WaivedFlip) compare(v WaivedFlip) int {
	return cmp.Or(strings.Compare(w.FixtureID, v.FixtureID), strings.Compare(w.Verdict, v.Verdict), strings.Compare(w.ReasonCode, v.ReasonCode))
}

// Blocked is what a waiver would have to cover.
type Blocked struct {
	Ruling Ruling
	// Causes are the codes of the ruling's causes.
	Causes []Code
	// Flips are all that gate and that no allowlist entry covers.
	Flips []WaivedFlip
	// Whole says that Flips is all of them, and not only the first that were recorded.
	Whole bool
	// Outputs says that some flips change the output document, of which a name says nothing.
	Outputs bool
}

// CheckWaiver says why a waiver over these flips lets nothing out; nil if it does. A person can answer for decisions that come
// out differently, and for nothing else: what was not shown, nobody can waive.
func CheckWaiver(b Blocked, waived []WaivedFlip) error {
	if b.Ruling != Block {
		return errors.New("the decision is no block: there is nothing to waive")
	}
	for _, c := range b.Causes {
		if c != Flip && c != BoundExceeded {
			return fmt.Errorf("it is blocked by %s as well: only flips can be waived", c)
		}
	}
	if b.Outputs {
		return errors.New("some flips change the output document, and a waiver cannot say which output it is about")
	}
	if !b.Whole || len(b.Flips) == 0 {
		return errors.New("there are more flips than the decision names: what nobody has looked at cannot be waived")
	}
	want, got := slices.SortedFunc(slices.Values(b.Flips), WaivedFlip.compare), slices.SortedFunc(slices.Values(waived), WaivedFlip.compare)
	var missing, extra []string
	for _, f := range want {
		if !slices.Contains(got, f) {
			missing = append(missing, f.String())
		}
	}
	for i, f := range got {
		if !slices.Contains(want, f) || i > 0 && got[i-1] == f {
			extra = append(extra, f.String())
		}
	}
	if len(missing)+len(extra) == 0 {
		return nil
	}
	const most = 10
	return fmt.Errorf("it must name exactly the flips that block: %d are missing (%s), %d do not block (%s)",
		len(missing), strings.Join(missing[:min(most, len(missing))], ", "), len(extra), strings.Join(extra[:min(most, len(extra))], ", "))
}

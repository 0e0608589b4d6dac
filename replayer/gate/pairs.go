package gate

import (
	"cmp"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Pairs gives the flips by pair of outcomes, most frequent first, then in ascending order of the outcomes.
func (t *Tally) Pairs() []Pair {
	out := make([]Pair, 0, len(t.pairs))
	for k, n := range t.pairs {
		out = append(out, Pair{fixture.Outcome{Verdict: k.old[0], ReasonCode: k.old[1]}, fixture.Outcome{Verdict: k.new[0], ReasonCode: k.new[1]}, k.class, n})
	}
	slices.SortFunc(out, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Old.Verdict, b.Old.Verdict), cmp.Compare(a.Old.ReasonCode, b.Old.ReasonCode),
			cmp.Compare(a.New.Verdict, b.New.Verdict), cmp.Compare(a.New.ReasonCode, b.New.ReasonCode))
	})
	return out
}

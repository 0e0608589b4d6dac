package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Ruling is what the gate decided. The zero value is no pass.
type Ruling int

// The rulings.
const (
	// NoRuling is the zero value.
	NoRuling Ruling = iota
	// Pass: the release may go out.
	Pass
	// Block: it may not.
	Block
	// BaselineUnconfirmed: the released checker does not reproduce its own past (R22).
	BaselineUnconfirmed
)

// Evidence counts what a run did. It is compared once, by Decide.
type Evidence struct {
	// Expected is how many hermetic fixtures were selected.
	Expected uint64
	// Confirmed is how many the baseline reproduced.
	Confirmed uint64
	// Excused is how many it did not reproduce that a freeze in force excuses.
	Excused uint64
	// Evaluated is how many the candidate answered with an outcome.
	Evaluated uint64
	// Probed is how many the candidate answered alike when asked again, or unlike with a finding.
	Probed uint64
}

// Reproduced says whether the baseline reproduced every fixture that no freeze excuses, and one at least. It reads the counts of the
// baseline alone, and so may be asked while a candidate is still being counted.
func (e *Evidence) Reproduced() bool {
	return e.Confirmed > 0 && e.Confirmed+e.Excused == e.Expected
}

// Cause is one reason for a ruling.
type Cause struct {
	Code Code
	// Count is how many findings make it up.
	Count uint64
	// Message is the cause in words.
	Message string
}

// Decision is a ruling with its causes.
type Decision struct {
	Ruling Ruling
	// Causes has at least one member unless the ruling is Pass. In the order of table.
	Causes []Cause
	// Summary is the last line of the report.
	Summary string
}

// Tally counts findings in bounded memory: it is all that a ruling needs of them. The zero value is ready to use.
type Tally struct {
	blocking map[Code]uint64
	baseline uint64 // blocking findings about the baseline
	flips    map[fixture.Class]uint64
	covered  uint64
	pairs    map[pairKey]uint64
	total    uint64
}

type pairKey struct {
	old, new [2]string
	class    fixture.Class
}

// Pair counts flips between the same two outcomes.
type Pair struct {
	Old, New fixture.Outcome
	Class    fixture.Class
	Count    uint64
}

// maxPairs bounds the pairs that a tally keeps apart.
const maxPairs = 1000

// Weigh gives a finding its severity under the policy. It is the one place that does.
func (p Policy) Weigh(f Finding, list *Allowlist) Finding {
	f.Severity = lookup(f.Code).severity
	switch {
	case f.Group == fixture.Derived:
		f.Severity = Info
	case f.Code == StubsBypassed && f.Role == Candidate:
		f.Severity = Warning // a candidate may have given up its model calls
	case f.Code == StubUnused && p.BlockUnusedStubs:
		f.Severity = Blocking
	case f.Code == Flip && p.Kind == Bounded:
		if p.Bounds[f.Class] > 0 {
			f.Severity = Tolerated
		}
	case f.Code == Flip && p.Kind == Listed:
		if e, ok := list.Covers(f); ok {
			f.Severity, f.AllowedBy = Tolerated, e.Owner
		}
	}
	return f
}

// Add counts a finding that Weigh has weighed.
func (t *Tally) Add(f Finding) {
	t.total++
	if f.Severity == Blocking {
		if t.blocking == nil {
			t.blocking = map[Code]uint64{}
		}
		t.blocking[f.Code]++
		if f.Role == Baseline {
			t.baseline++
		}
	}
	if f.Code != Flip || f.Group == fixture.Derived {
		return
	}
	if t.flips == nil {
		t.flips, t.pairs = map[fixture.Class]uint64{}, map[pairKey]uint64{}
	}
	t.flips[f.Class]++
	if f.AllowedBy != "" {
		t.covered++
	}
	key := pairKey{[2]string{f.Old.Verdict, f.Old.ReasonCode}, [2]string{f.New.Verdict, f.New.ReasonCode}, f.Class}
	if _, known := t.pairs[key]; known || len(t.pairs) < maxPairs {
		t.pairs[key]++
	}
}

// Retract takes back a flip that Add has counted. It is for one case alone: the fixture has turned out to answer
// differently when it is asked again, which is not a flip (R24). The caller files that finding, which blocks; what a
// retracted flip exceeded or used stays so.
func (t *Tally) Retract(f Finding) {
	key := pairKey{[2]string{f.Old.Verdict, f.Old.ReasonCode}, [2]string{f.New.Verdict, f.New.ReasonCode}, f.Class}
	if t.flips[f.Class] == 0 {
		return
	}
	t.flips[f.Class]--
	switch t.pairs[key] {
	case 0: // behind maxPairs it was never counted
	case 1:
		delete(t.pairs, key)
	default:
		t.pairs[key]--
	}
	if f.Severity == Blocking && t.blocking[Flip] > 0 {
		if t.blocking[Flip]--; t.blocking[Flip] == 0 {
			delete(t.blocking, Flip)
		}
	}
}

// Total counts all findings.
func (t *Tally) Total() uint64 { return t.total }

// Flips counts the hermetic flips of a class.
func (t *Tally) Flips(c fixture.Class) uint64 { return t.flips[c] }

// Flipped counts the hermetic flips of all classes, tolerated or not.
func (t *Tally) Flipped() (n uint64) {
	for _, c := range t.flips {
		n += c
	}
	return n
}

// Decide rules (R26, R29). It is a pure function of what was counted.
func Decide(t *Tally, e Evidence, p Policy) Decision {
	counts := map[Code]uint64{}
	for code, n := range t.blocking {
		counts[code] = n
	}
	var details []Cause
	stopped := counts[RunCancelled]+counts[RunTimeout] > 0
	if e.Expected == 0 && !stopped {
		counts[NoFixtures] = 1 // a run that was stopped may not have come as far as to count
	}
	over := exceeded(t, p)
	if len(over) > 0 {
		// One class over its bound means that the whole of the change is to be looked at.
		counts[BoundExceeded] = uint64(len(over))
		counts[Flip] = t.Flipped()
		details = over
	}
	unconfirmed := t.baseline > 0 || !e.Reproduced() && !stopped
	if !unconfirmed && (e.Evaluated != e.Expected || e.Probed != e.Expected || !e.Reproduced()) {
		counts[Incomplete] = 1
	}
	causes := causesOf(counts, e, details)
	switch {
	case e.Expected > 0 && unconfirmed:
		return Decision{BaselineUnconfirmed, withUnconfirmed(causes, e), fmt.Sprintf("baseline unconfirmed: %d of %d fixtures confirmed; the candidate was not ruled on", e.Confirmed, e.Expected)}
	case len(causes) > 0:
		return Decision{Block, causes, summary(causes)}
	default:
		return Decision{Pass, nil, passed(t, e)}
	}
}

// exceeded gives a cause for each class with more flips than its bound.
func exceeded(t *Tally, p Policy) []Cause {
	if p.Kind != Bounded {
		return nil
	}
	var out []Cause
	for _, class := range fixture.Classes() {
		if n, bound := t.flips[class], p.Bounds[class]; n > uint64(bound) {
			out = append(out, Cause{BoundExceeded, n, fmt.Sprintf("%d %s flips are over the bound of %d", n, class, bound)})
		}
	}
	return out
}

func causesOf(counts map[Code]uint64, e Evidence, over []Cause) []Cause {
	var out []Cause
	known := 0
	for _, r := range table {
		n := counts[r.code]
		if n == 0 {
			continue
		}
		known++
		switch {
		case r.code == BoundExceeded && len(over) > 0:
			out = append(out, over...)
		case r.code == Incomplete:
			out = append(out, Cause{r.code, n, fmt.Sprintf("%s: %d of %d, and %d asked again", phrase(r, n), e.Evaluated, e.Expected, e.Probed)})
		default:
			out = append(out, Cause{r.code, n, phrase(r, n)})
		}
	}
	if known == len(counts) {
		return out
	}
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		if !slices.ContainsFunc(table, func(r rule) bool { return r.code == code }) {
			out = append(out, Cause{code, counts[code], phrase(lookup(code), counts[code])})
		}
	}
	return out
}

func withUnconfirmed(causes []Cause, e Evidence) []Cause {
	if len(causes) > 0 {
		return causes
	}
	return []Cause{{Incomplete, 1, fmt.Sprintf("the baseline confirmed %d of %d fixtures", e.Confirmed, e.Expected)}}
}

func phrase(r rule, n uint64) string {
	words := r.many
	if n == 1 {
		words = r.one
	}
	if strings.Contains(words, "%d") {
		return fmt.Sprintf(words, n)
	}
	return words
}

// summary gives the last line of a blocked run (R28). Where fixtures flipped, that comes first.
func summary(causes []Cause) string {
	var first, rest []string
	for _, c := range causes {
		switch {
		case c.Code == Flip:
			first = append(first, c.Message)
		case c.Code == BoundExceeded, c.Code == Incomplete && len(causes) > 1:
		default:
			rest = append(rest, c.Message)
		}
	}
	return "release blocked: " + strings.Join(append(first, rest...), "; ")
}

func passed(t *Tally, e Evidence) string {
	s := agreed(t, e)
	if e.Excused > 0 {
		s += fmt.Sprintf("; the baseline did not reproduce %d frozen", e.Excused)
	}
	return s
}

func agreed(t *Tally, e Evidence) string {
	n := t.Flipped()
	switch {
	case n == 0:
		return fmt.Sprintf("release passed: %d of %d fixtures agree", e.Evaluated, e.Expected)
	case t.covered == n:
		return fmt.Sprintf("release passed: %d of %d fixtures agree, %d flipped as the allowlist says", e.Evaluated-n, e.Expected, n)
	default:
		return fmt.Sprintf("release passed: %d of %d fixtures agree, %d flipped within the bounds", e.Evaluated-n, e.Expected, n)
	}
}

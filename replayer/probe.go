package replayer

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// probe asks the candidate everything again: blocks and the cases within them in another order, in batches of other
// sizes, under fresh case ids. A different answer is a bug of the checker and never a flip (R24).
func (r *run) probe() error {
	if r.evidence.Evaluated == 0 {
		return nil
	}
	step := newStep(PhaseProbe, r.evidence.Expected, &r.docket)
	var found []probed
	p := &pass{checker: r.t.Candidate, role: gate.Candidate, feed: r.shuffled(r.ctx), salt: r.salt(3)}
	p.batch = func(n int) int { return 1 + int(mix(r.t.Seed+uint64(n))%(batchCases-1)) }
	judge := r.judge(gate.Candidate)
	p.handle = func(c *Case, a *Answer) error {
		ordinal := r.evidence.Probed
		r.evidence.Probed++
		step.answered()
		print, now := errorPrint, fixture.Outcome{}
		if outcome, f := judge(c, a); f == nil {
			print, now = r.answers.printOf(outcome), outcome
		}
		if first := r.answers.prints[c.Position]; first != print && len(found) < maxProbed {
			found = append(found, probed{c.Position, ordinal, print, r.nondeterministic(*c, now, print == errorPrint)})
		}
		return nil
	}
	err := r.ask(r.ctx, p, fixture.Hermetic, func(f gate.Finding) error { r.docket.file(f); return nil })
	slices.SortFunc(found, func(a, b probed) int { return cmp.Compare(a.position, b.position) })
	for _, p := range found {
		r.docket.file(p.f)
	}
	if err == nil && len(found) > 0 {
		err = r.blameHandles(found)
	}
	return err
}

// maxProbed bounds the fixtures that are named as answering differently.
const maxProbed = 10_000

type probed struct {
	position, ordinal uint64 // in the version, and in the probe
	print             print
	f                 gate.Finding
}

// nondeterministic says that a case was answered differently. Where its first answer was filed as a flip, that is taken
// back.
func (r *run) nondeterministic(c Case, now fixture.Outcome, failed bool) gate.Finding {
	f := finding(gate.Nondeterministic, gate.Candidate, c)
	f.New = excerpt(now)
	was, is := "an error", now.String()
	if before, known := r.answers.outcome(c.Position); known {
		was = before.String()
		f.Old = before
		if r.answers.prints[c.Position] != printOf(c.Fixture.Expected) {
			r.docket.retract(r.flip(c, before))
		}
	} else if r.answers.prints[c.Position] != errorPrint {
		was = "something else"
	}
	if failed {
		is = "an error"
	}
	f.Message = fmt.Sprintf("asked again, the candidate answers %s; before it was %s", is, was)
	return f
}

// shuffled feeds all selected hermetic cases in an order that the seed gives.
func (r *run) shuffled(ctx context.Context) feed {
	return func(ask func(*Case) error) error {
		order := permutation(r.t.Source.Blocks(), r.t.Seed)
		return ahead(ctx, r.t.Source, order, func(i int, all []Case) error {
			cases := slices.DeleteFunc(all, func(c Case) bool { return c.Fixture.Group != fixture.Hermetic || !r.selected(c.Fixture.ID) })
			for _, j := range permutation(len(cases), r.t.Seed+uint64(i)) {
				if err := ask(&cases[j]); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// permutation gives the numbers from 0 to n-1 in an order that the seed gives (Fisher, Yates).
func permutation(n int, seed uint64) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	for i := n - 1; i > 0; i-- {
		seed = mix(seed + scramble)
		j := int(seed % uint64(i+1))
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// print stands for an answer in eight bytes.
type print uint64

// errorPrint stands for an answer that was no outcome.
const errorPrint print = 0

func printOf(o fixture.Outcome) print {
	var b []byte
	for _, part := range []string{o.Verdict, o.ReasonCode, string(o.Output)} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	d := fixture.DigestOf(b)
	return print(binary.LittleEndian.Uint64(d[:]) | 1)
}

// maxRemembered bounds the distinct outcomes that a memory can give back.
const maxRemembered = 10_000

// memory keeps what the candidate answered, for the probe: eight bytes a fixture, and an excerpt of each distinct outcome.
type memory struct {
	prints   []print // by position
	outcomes map[print]fixture.Outcome
	known    outcomes
	printed  []print // of known
}

func newMemory(total uint64) memory {
	return memory{prints: make([]print, total), outcomes: map[print]fixture.Outcome{}}
}

func (m *memory) remember(position uint64, p print) { m.prints[position] = p }

func (m *memory) rememberOutcome(position uint64, o fixture.Outcome) {
	p := m.printOf(o)
	m.prints[position] = p
	if _, known := m.outcomes[p]; !known && len(m.outcomes) < maxRemembered {
		m.outcomes[p] = excerpt(o)
	}
	if m.known.add(o) {
		m.printed = append(m.printed, p)
	}
}

// printOf is printOf, from memory where it can be.
func (m *memory) printOf(o fixture.Outcome) print {
	if i := m.known.find(o); i >= 0 {
		return m.printed[i]
	}
	return printOf(o)
}

func (m *memory) outcome(position uint64) (fixture.Outcome, bool) {
	o, ok := m.outcomes[m.prints[position]]
	return o, ok
}

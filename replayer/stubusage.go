package replayer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// maxUnused bounds the fixtures whose unused stubs are named.
const maxUnused = 10_000

// stubUsage finds the stubs that nobody asked for (R19). Safe for concurrent use.
type stubUsage struct {
	// model says whether a checker was given a stub by the model endpoint, of which its answers say nothing. One request can
	// stand for several fixtures, so that it is asked again at the end.
	model     func(role gate.Role, fixtureID, call string) bool
	mu        sync.Mutex
	stubbed   uint64             // selected fixtures with stubs
	askedOld  uint64             // of them, those of which the baseline asked for at least one
	askedNew  uint64             // and the candidate
	first     string             // the first of them
	overflow  bool               // not all that were unused could be kept
	unusedOld map[uint64]unasked // by position
	unusedNew map[uint64]unasked
}

type unasked struct {
	f     gate.Finding
	calls []string
}

func (u *stubUsage) has(c Case) {
	if len(c.Stubs) > 0 {
		if u.stubbed++; u.first == "" {
			u.first = c.Fixture.ID
		}
	}
}

func (u *stubUsage) baseline(c *Case, a *Answer) { u.note(&u.unusedOld, c, a, gate.Baseline) }

func (u *stubUsage) candidate(c *Case, a *Answer) { u.note(&u.unusedNew, c, a, gate.Candidate) }

func (u *stubUsage) note(unused *map[uint64]unasked, c *Case, a *Answer, role gate.Role) {
	if len(c.Stubs) == 0 {
		return
	}
	var calls []string
	for _, s := range c.Stubs {
		if !slices.Contains(a.StubsUsed, s.Call) && !u.model(role, c.Fixture.ID, s.Call) {
			calls = append(calls, s.Call)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(calls) < len(c.Stubs) {
		if role == gate.Baseline {
			u.askedOld++
		} else {
			u.askedNew++
		}
	}
	switch {
	case len(calls) == 0:
	case len(*unused) == maxUnused:
		u.overflow = true
	default:
		if *unused == nil {
			*unused = map[uint64]unasked{}
		}
		(*unused)[c.Position] = unasked{finding(gate.StubUnused, "", *c), calls}
	}
}

// findings gives, in order of fixtures, the stubs that neither checker asked for. whole says that the run tried the
// whole set: then a baseline that asked for none at all is not pinned by them.
func (u *stubUsage) findings(whole bool, model ModelCalls) []gate.Finding {
	var out []gate.Finding
	askedOld, askedNew := u.askedOld > 0, u.askedNew > 0
	if model != nil {
		askedOld, askedNew = askedOld || model.AskedAny(gate.Baseline), askedNew || model.AskedAny(gate.Candidate)
	}
	if u.overflow {
		out = append(out, gate.Finding{Code: gate.StubUnused,
			Message: fmt.Sprintf("a checker did not ask for the stubs of more than %d fixtures; not all could be compared", maxUnused)})
	}
	if whole && u.stubbed > 0 && askedOld && !askedNew {
		out = append(out, gate.Finding{Code: gate.StubsBypassed, Role: gate.Candidate, Subject: u.first,
			Message: fmt.Sprintf("%d fixtures have stubs, and the candidate asked for none of them: if it calls a model, the call is not pinned", u.stubbed)})
	}
	if whole && u.stubbed > 0 && !askedOld {
		out = append(out, gate.Finding{Code: gate.StubsBypassed, Subject: u.first,
			Message: fmt.Sprintf("%d fixtures have stubs and the baseline asked for none of them: if it calls a model, the call is not pinned", u.stubbed)})
	}
	for _, position := range slices.Sorted(maps.Keys(u.unusedOld)) {
		old, both := u.unusedOld[position], u.unusedNew[position]
		calls := slices.DeleteFunc(slices.Clone(old.calls), func(call string) bool {
			return !slices.Contains(both.calls, call) || u.model(gate.Baseline, old.f.Subject, call) || u.model(gate.Candidate, old.f.Subject, call)
		})
		if len(calls) > 0 {
			f := old.f
			f.Message = fmt.Sprintf("neither checker asked for the stub %s", strings.Join(calls, ", "))
			out = append(out, f)
		}
	}
	return out
}

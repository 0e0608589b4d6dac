package replayer_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// modelCalls is an endpoint in memory.
type modelCalls struct {
	mu      sync.Mutex
	cases   map[gate.Role]func(uint64) (string, bool)
	asked   map[string]bool
	refused map[gate.Role][]replayer.Refusal
	lost    []string // cases that were under way and not found
}

func newModelCalls() *modelCalls {
	return &modelCalls{cases: map[gate.Role]func(uint64) (string, bool){}, asked: map[string]bool{}, refused: map[gate.Role][]replayer.Refusal{}}
}

func (m *modelCalls) Begin(role gate.Role, fixtureOf func(uint64) (string, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cases[role] = fixtureOf
}

func (m *modelCalls) Asked(role gate.Role, fixtureID, call string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[string(role)+fixtureID+call]
}

func (m *modelCalls) AskedAny(role gate.Role) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.asked {
		if key[:len(role)] == string(role) {
			return true
		}
	}
	return false
}

func (m *modelCalls) Refused(role gate.Role) []replayer.Refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.refused[role]
	delete(m.refused, role)
	return out
}

// asks is a checker that is right, and first asks the model for every stub of the case whose fixture asks says.
func (m *modelCalls) asks(name string, role gate.Role, asks func(fixtureID string) bool) *checker {
	c := honest(name)
	c.decide = func(r replayer.Request) replayer.Answer {
		m.mu.Lock()
		find := m.cases[role]
		m.mu.Unlock()
		id, ok := find(r.CaseID) // outside the lock, as an endpoint does
		m.mu.Lock()
		if !ok || id != r.Fixture.ID {
			m.lost = append(m.lost, r.Fixture.ID)
		}
		for _, s := range r.Stubs {
			if asks(id) {
				m.asked[string(role)+id+s.Call] = true
			}
		}
		m.mu.Unlock()
		a := faithful(r)
		a.StubsUsed = nil // it asked by itself, and its SDK knows nothing of it
		return a
	}
	return c
}

func always(string) bool { return true }
func never(string) bool  { return false }

// stubbed is a set of which each fixture has one stub.
func stubbed(t *testing.T, n int) *set {
	s := newSet(t, 0, nil)
	for i, c := range newSet(t, n, nil).cases {
		c.Stubs = []replayer.Stub{{Call: "classify", Value: []byte(`"fact"`)}}
		digest := fixture.DigestOf([]byte(fmt.Sprint(i)))
		c.StubDigest = &digest
		s.add(t, c)
	}
	return s
}

// R19: what a checker asks a model by itself counts as asked for, for the checker that asked; and a case is found by its id in
// every pass.
func TestR19ModelCallsAreUses(t *testing.T) {
	s := stubbed(t, 250)
	for _, tt := range []struct {
		name                string
		baseline, candidate func(string) bool
		want                map[gate.Code][]string
	}{
		{"both ask", always, always, nil},
		{"the baseline alone", always, never, map[gate.Code][]string{gate.StubsBypassed: {"f-00000"}}},
		{"nobody asks for one", func(id string) bool { return id != "f-00007" }, func(id string) bool { return id != "f-00007" }, map[gate.Code][]string{gate.StubUnused: {"f-00007"}}},
		{"one of them does", func(id string) bool { return id != "f-00007" }, always, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newModelCalls()
			tr := trial(s, m.asks("old", gate.Baseline, tt.baseline), m.asks("new", gate.Candidate, tt.candidate))
			tr.ModelCalls = m
			_, e := run(t, tr)
			for _, code := range []gate.Code{gate.StubsBypassed, gate.StubUnused} {
				if got := e.subjects(code); !slices.Equal(got, tt.want[code]) {
					t.Errorf("%s: got %q, want %q", code, got, tt.want[code])
				}
			}
			if len(m.lost) > 0 {
				t.Errorf("cases under way were not found: %q", m.lost)
			}
		})
	}
}

// One request can stand for fixtures whose answers have been handed on before it was made: it still counts for them.
func TestModelCallsCountWheneverTheyWereMade(t *testing.T) {
	m := newModelCalls()
	s := stubbed(t, 20)
	shared := func(role gate.Role) *checker {
		return m.asks("c", role, func(id string) bool {
			if id == "f-00019" {
				for _, c := range s.cases {
					m.asked[string(role)+c.Fixture.ID+"classify"] = true
				}
			}
			return false
		})
	}
	tr := trial(s, shared(gate.Baseline), shared(gate.Candidate))
	tr.ModelCalls = m
	if r, e := run(t, tr); r.Ruling != gate.Pass || len(e.subjects(gate.StubUnused)) > 0 {
		t.Errorf("got %s, unused %q", r.Summary, e.subjects(gate.StubUnused))
	}
}

// R19: what a checker asked and nobody recorded blocks, whatever it answered; of the baseline it leaves the run unconfirmed.
func TestR19RefusalBlocks(t *testing.T) {
	for _, tt := range []struct {
		role    gate.Role
		refused replayer.Refusal
		subject string
		want    gate.Ruling
	}{
		{gate.Candidate, replayer.Refusal{FixtureID: "f-00001", Message: "no"}, "f-00001", gate.Block},
		{gate.Candidate, replayer.Refusal{Message: "no"}, "new", gate.Block},
		{gate.Baseline, replayer.Refusal{Message: "no"}, "old", gate.BaselineUnconfirmed},
	} {
		m := newModelCalls()
		m.refused[tt.role] = []replayer.Refusal{tt.refused}
		tr := trial(newSet(t, 5, nil), honest("old"), honest("new"))
		tr.ModelCalls = m
		r, e := run(t, tr)
		if got := e.subjects(gate.StubMissing); r.Ruling != tt.want || !slices.Equal(got, []string{tt.subject}) {
			t.Errorf("%s: got %s, %q", tt.role, r.Summary, got)
		}
	}
	// One that comes behind the last answer is found at the end.
	m := newModelCalls()
	tr := trial(newSet(t, 5, nil), honest("old"), honest("new"))
	tr.ModelCalls = &late{modelCalls: m, at: 3}
	if r, e := run(t, tr); r.Ruling != gate.Block || len(e.subjects(gate.StubMissing)) != 1 {
		t.Errorf("got %s", r.Summary)
	}
	// That fixtures are tried which do not gate takes nothing from it, be it found before or with them.
	for _, at := range []int{3, 4} {
		set := newSet(t, 5, func(i int, doc string) string {
			if i == 4 {
				doc = strings.Replace(doc, `"source_row_id"`, `"group":"derived","source_row_id"`, 1)
			}
			return doc
		})
		tr := trial(set, honest("old"), honest("new"))
		tr.IncludeDerived, tr.ModelCalls = true, &late{modelCalls: newModelCalls(), at: at}
		if r, _ := run(t, tr); r.Ruling != gate.Block {
			t.Errorf("found at question %d: %s", at, r.Summary)
		}
	}
}

// late tells of something that was asked when it is asked that many times what the candidate was refused.
type late struct {
	*modelCalls
	passes, at int
}

func (l *late) Refused(role gate.Role) []replayer.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if role == gate.Candidate {
		if l.passes++; l.passes == l.at {
			return []replayer.Refusal{{Message: "late"}}
		}
	}
	return nil
}

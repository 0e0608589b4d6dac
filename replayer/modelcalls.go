package replayer

import (
	"cmp"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// ModelCalls knows what the checkers of a run asked a model by themselves, where something answers in its place from the
// recordings. Safe for concurrent use.
type ModelCalls interface {
	// Begin says that a pass of a checker begins. fixtureOf gives the id of the fixture of a case that is under way in it, until the
	// next pass of that checker begins.
	Begin(role gate.Role, fixtureOf func(caseID uint64) (string, bool))
	// Asked says whether a checker was given the stub of a fixture's call as an answer, and AskedAny whether any stub.
	Asked(role gate.Role, fixtureID, call string) bool
	AskedAny(role gate.Role) bool
	// Refused gives what a checker asked that nobody recorded, since the last call, in an order that does not depend on when.
	Refused(role gate.Role) []Refusal
}

// Refusal is something that a checker asked a model and that nobody recorded.
type Refusal struct {
	// FixtureID is empty where the checker did not say for which case it asked.
	FixtureID string
	// Message says what and why. It is bounded, and without control characters.
	Message string
}

// fileRefusals says what a checker asked a model and was not answered, whatever it made of that: it may have caught the error and
// decided by a default. Then a baseline has confirmed nothing, and errRuled comes back.
func (r *run) fileRefusals(role gate.Role, c Checker, group fixture.Group, file func(gate.Finding) error) error {
	if r.t.ModelCalls == nil {
		return nil
	}
	refused := r.t.ModelCalls.Refused(role)
	for _, one := range refused {
		f := gate.Finding{Code: gate.StubMissing, Role: role, Subject: cmp.Or(one.FixtureID, c.Description().Name), Group: group,
			Message: fmt.Sprintf("the %s asked the model endpoint for what it cannot give: %s", role, one.Message)}
		to := file
		if group == fixture.Derived && one.FixtureID == "" { // it can have been asked for a fixture that gates
			f.Group, to = fixture.Hermetic, func(f gate.Finding) error { r.docket.file(f); return nil }
		}
		if err := to(f); err != nil {
			return err
		}
	}
	if role == gate.Baseline && len(refused) > 0 {
		return errRuled
	}
	return nil
}

// fileLate says what was asked behind the last answer.
func (r *run) fileLate() {
	file := func(f gate.Finding) error { r.docket.file(f); return nil }
	_ = r.fileRefusals(gate.Baseline, r.t.Baseline, fixture.Hermetic, file) // it gives no error of its own but errRuled, and the run is over
	_ = r.fileRefusals(gate.Candidate, r.t.Candidate, fixture.Hermetic, file)
}

// askedModel says whether a checker was given a stub as the answer of a model.
func (r *run) askedModel(role gate.Role, fixtureID, call string) bool {
	return r.t.ModelCalls != nil && r.t.ModelCalls.Asked(role, fixtureID, call)
}

// begin says which pass it is whose cases are under way.
func (r *run) begin(p *pass) {
	if r.t.ModelCalls != nil {
		r.t.ModelCalls.Begin(p.role, p.fixtureOf)
	}
}

// fixtureOf gives the fixture of a case that has been asked and not handed on.
func (p *pass) fixtureOf(caseID uint64) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.counter(caseID)
	if i < p.base || i >= p.next {
		return "", false
	}
	return p.slots[i%windowCases].c.Fixture.ID, true
}

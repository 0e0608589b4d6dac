package setdir

import (
	"encoding/json"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// Call is one model call of a fixture.
type Call struct{ FixtureID, Name string }

// Held is what a set has, for whoever wants to add recordings to it. What may be wrong with its recordings is not looked at.
type Held struct {
	Config Config
	// Fixtures are the ids of the set's fixtures.
	Fixtures map[string]bool
	// Calls are those that have a stub document. Those of the manifest stand there.
	Calls map[Call]bool
}

// ReadHeld reads what a set has. CodeInvalid for fixtures and stub documents that are malformed.
func ReadHeld(dir string) (*Held, error) {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{Dir: dir, Config: c, stubs: map[string][]*stub.Stub{}}
	if err := s.readBeside(); err != nil {
		return nil, err
	}
	p := &problems{}
	s.readFixtures(p)
	s.readStubs(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	h := &Held{Config: c, Fixtures: map[string]bool{}, Calls: map[Call]bool{}}
	for _, e := range s.entries {
		h.Fixtures[e.id] = true
	}
	for _, stubs := range s.stubs {
		for _, st := range stubs {
			h.Calls[Call{st.FixtureID, st.Call}] = true
		}
	}
	return h, nil
}

// Paths gives the files of a declaration, with slashes and relative to the set's directory.
func (d Declaration) Paths() (body, prompt string) {
	return stubsDir + "/" + d.Body, promptsDir + "/" + d.Prompt
}

// Stub gives the stub that a declaration makes of a canonical value and its prompt. What it accepts, VerifyRecordings accepts, but for
// what the stub's Problems say.
func (d Declaration) Stub(value []byte, prompt string) (*stub.Stub, error) {
	if err := d.complete(); err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "", d.ID, err)
	}
	r := d.recording()
	r["prompt"] = prompt
	doc, err := json.Marshal(map[string]any{"fixture_id": d.FixtureID, "call": d.Call, "value": json.RawMessage(value), "recording": r})
	if err != nil {
		return nil, err
	}
	return stub.Decode(doc)
}

// Linked names the first link on the way from a set's directory to a path with slashes below it, or nothing: what leads elsewhere is
// no file of the set.
func Linked(dir, path string) string { return linked(dir, path) }

package server

import (
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// freezes are the freezes of a commit, by their fixtures.
type freezes map[string]gate.Freeze

// frozen gives the freezes of a commit. One that its parent does not have rests on a fixture as the parent has it: a change freezes
// nothing that it edits or adds (L8).
func (f *fixtures) frozen(before *parent, set Set) (freezes, error) {
	out := freezes{}
	for _, z := range set.Freezes {
		out[z.FixtureID] = z
	}
	if len(out) == 0 || before == nil {
		return out, nil
	}
	known := map[string]gate.Freeze{}
	for _, z := range before.set.Freezes {
		known[z.FixtureID] = z
	}
	for _, z := range set.Freezes {
		if known[z.FixtureID] == z {
			continue
		}
		item, err := f.store.Fixture(before.Version, z.FixtureID)
		if err != nil && fixture.CodeOf(err) != fixture.CodeNotFound {
			return nil, err
		}
		if err != nil || z.Evidence.Fixture != "sha256:"+item.Fixture.Digest().String() {
			return nil, refusedFreeze(z.FixtureID, fmt.Errorf("its evidence is not about the fixture of version %d: a change freezes nothing that it edits or adds", before.Number))
		}
	}
	return out, nil
}

// check refuses a fixture that is another one than its freeze is about.
func (f freezes) check(x *fixture.Fixture) error {
	z, ok := f[x.ID]
	switch {
	case ok && z.Evidence.Fixture != "sha256:"+x.Digest().String():
		return refusedFreeze(x.ID, errors.New("its evidence is about another fixture: a change freezes nothing that it edits"))
	case ok && x.Group == fixture.Derived:
		return refusedFreeze(x.ID, errors.New("the fixture is derived, and gates nothing"))
	}
	return nil
}

func refusedFreeze(id string, err error) error {
	return &fixture.Error{Code: fixture.CodeInvalid, Op: "freeze", Subject: id, Field: "freezes", Err: err}
}

package server

import (
	"fmt"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server/modelserver"
)

// endpoints are the model endpoints of a run's checkers, one each, so that what one asks is never taken for the other's: a
// replayer.ModelCalls. A checker that has none asked nothing.
type endpoints map[gate.Role]*modelserver.Endpoint

// modelCalls binds the endpoints of both checkers to the recordings of a version; nil where neither has one.
func (h hosts) modelCalls(blocks *fixturestore.Blocks) (replayer.ModelCalls, error) {
	all := endpoints{}
	for role, r := range map[gate.Role]*reached{gate.Baseline: h.baseline, gate.Candidate: h.candidate} {
		if r.host != nil {
			if e, ok := r.host.Model().(*modelserver.Endpoint); ok {
				all[role] = e
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	table, err := tableOf(blocks)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		e.Bind(table)
	}
	return all, nil
}

// tableOf reads all recordings of a version that have their prompts.
func tableOf(blocks *fixturestore.Blocks) (*modelserver.Table, error) {
	t := modelserver.NewTable()
	for i := range blocks.Len() {
		err := blocks.ReadBlock(i, func(e fixturestore.Entry) error {
			stubs, err := stubsOf(e.Fixture, e.Stubs)
			if err != nil {
				return err
			}
			for _, s := range stubs {
				if err := t.Add(s); err != nil {
					return fixture.NewError(fixture.CodePrecondition, "answer from", s.RecordingID(), err)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Begin implements replayer.ModelCalls.
func (m endpoints) Begin(role gate.Role, fixtureOf func(uint64) (string, bool)) {
	if e := m[role]; e != nil {
		e.Cases(fixtureOf)
	}
}

// Asked implements replayer.ModelCalls.
func (m endpoints) Asked(role gate.Role, fixtureID, call string) bool {
	e := m[role]
	return e != nil && e.Asked(fixtureID, call)
}

// AskedAny implements replayer.ModelCalls.
func (m endpoints) AskedAny(role gate.Role) bool {
	e := m[role]
	return e != nil && e.AskedAny()
}

// Refused implements replayer.ModelCalls.
func (m endpoints) Refused(role gate.Role) (out []replayer.Refusal) {
	e := m[role]
	if e == nil {
		return nil
	}
	list, more := e.Refused()
	for _, r := range list {
		out = append(out, replayer.Refusal{FixtureID: r.FixtureID, Message: r.Message})
	}
	if more > 0 {
		out = append(out, replayer.Refusal{Message: fmt.Sprintf("and %d more requests", more)})
	}
	return out
}

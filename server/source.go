package server

import (
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/stub"
)

// problems gives what is wrong with the recordings of a fixture's stubs at an instant.
func problems(stubs []*stub.Stub, now time.Time) (out []replayer.Problem) {
	for _, s := range stubs {
		for _, p := range s.Problems(now) {
			code := gate.RecordingChanged
			if p.Kind.Dated() {
				code = gate.RecordingStale
			}
			out = append(out, replayer.Problem{Code: code, Message: fmt.Sprintf("the recording of %q: %s", s.Call, p)})
		}
	}
	return out
}

// source is a stored version as the replayer reads it.
type source struct{ blocks *fixturestore.Blocks }

// Blocks implements replayer.Source.
func (s *source) Blocks() int { return s.blocks.Len() }

// Block implements replayer.Source.
func (s *source) Block(i int, fn func(replayer.Case) error) error {
	return s.blocks.ReadBlock(i, func(e fixturestore.Entry) error {
		c := replayer.Case{Position: e.Position, Fixture: e.Fixture, Digest: e.Digest, StubDigest: e.StubDigest}
		if e.Stubs == nil {
			return fn(c)
		}
		stubs, err := stubsOf(e.Fixture, e.Stubs)
		if err != nil {
			return err
		}
		for _, s := range stubs {
			c.Stubs = append(c.Stubs, replayer.Stub{Call: s.Call, Value: s.Value})
			if s.Recording != nil {
				c.Recordings = func(now time.Time) []replayer.Problem { return problems(stubs, now) }
			}
		}
		return fn(c)
	})
}

// stubsOf reads the stored stubs of a fixture; nil has none.
func stubsOf(f *fixture.Fixture, stored []byte) ([]*stub.Stub, error) {
	stubs, err := stub.Split(stored)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeCorrupt, "read stubs of", f.ID, err)
	}
	return stubs, nil
}

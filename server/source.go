package server

import (
	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

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
		stubs, err := stub.Split(e.Stubs)
		if err != nil {
			return fixture.NewError(fixture.CodeCorrupt, "read stubs of", e.Fixture.ID, err)
		}
		for _, s := range stubs {
			c.Stubs = append(c.Stubs, replayer.Stub{Call: s.Call, Value: s.Value})
			if r := s.Recording; r != nil {
				at, _ := r.ExpiresAt() // zero where it never expires
				c.Recordings = append(c.Recordings, replayer.Recording{Call: s.Call, Owner: r.Owner, RecordedAt: r.RecordedAt, ExpiresAt: at})
			}
		}
		return fn(c)
	})
}

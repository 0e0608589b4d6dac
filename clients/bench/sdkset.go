package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// promotionSet is what every SDK's checker is asked.
type promotionSet struct{ requests []replayer.Request }

// readPromotion gives n fixtures: those of examples/promotion in turn, each time under other ids, with their stubs.
func readPromotion(root string, n int) (*promotionSet, error) {
	dir := filepath.Join(root, "examples", "promotion")
	fixtures, err := filepath.Glob(filepath.Join(dir, "fixtures", "*.json"))
	stubFiles, stubErr := filepath.Glob(filepath.Join(dir, "stubs", "*.jsonl"))
	if err := errors.Join(err, stubErr); err != nil {
		return nil, err
	}
	stubs := map[string][]replayer.Stub{}
	for _, path := range stubFiles {
		if err := readStubs(path, stubs); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var docs []replayer.Request
	for _, path := range fixtures {
		b, err := os.ReadFile(path)
		if err == nil {
			err = fixture.Elements(b, func(_ int, doc []byte) error {
				f, err := fixture.Decode(doc)
				if err == nil {
					docs = append(docs, replayer.Request{Fixture: f, Stubs: stubs[f.ID]})
				}
				return err
			})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("there is no fixture in %s", dir)
	}
	s := &promotionSet{}
	for i := range n {
		r := docs[i%len(docs)]
		doc := bytes.Replace(r.Fixture.Canonical(), fmt.Appendf(nil, `"fixture_id":%q`, r.Fixture.ID), fmt.Appendf(nil, `"fixture_id":"%s-%d"`, r.Fixture.ID, i/len(docs)), 1)
		if r.Fixture, err = fixture.Decode(doc); err != nil {
			return nil, err
		}
		r.CaseID = caseID(i)
		s.requests = append(s.requests, r)
	}
	return s, nil
}

// readStubs adds the stubs of a file, one a line, to those of their fixtures.
func readStubs(path string, to map[string][]replayer.Stub) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		s, err := stub.Decode(line)
		if err != nil {
			return err
		}
		to[s.FixtureID] = append(to[s.FixtureID], replayer.Stub{Call: s.Call, Value: s.Value})
	}
	return nil
}

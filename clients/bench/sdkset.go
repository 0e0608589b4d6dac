package main

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// promotionSet is what every SDK's checker is asked.
type promotionSet struct{ requests []replayer.Request }

// readPromotion gives n fixtures: those of examples/promotion in turn, each time under other ids, with their stubs.
func readPromotion(root string, n int) (*promotionSet, error) {
	dir := filepath.Join(root, "examples", "promotion")
	set, err := setdir.Load(dir)
	if err != nil {
		return nil, err
	}
	var docs []replayer.Request
	for e, err := range set.Entries() {
		if err != nil {
			return nil, err
		}
		r := replayer.Request{}
		if r.Fixture, err = fixture.Decode(e.Fixture); err != nil {
			return nil, err
		}
		for _, doc := range e.Stubs {
			s, err := stub.Decode(doc)
			if err != nil {
				return nil, err
			}
			r.Stubs = append(r.Stubs, replayer.Stub{Call: s.Call, Value: s.Value})
		}
		docs = append(docs, r)
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

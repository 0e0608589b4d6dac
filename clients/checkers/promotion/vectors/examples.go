package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// examples gives the fixtures of examples/promotion with their stubs, by file and position.
func examples(root string) ([]*Vector, error) {
	dir := filepath.Join(root, "examples", "promotion")
	stubs, err := exampleStubs(filepath.Join(dir, "stubs", rules.PreferenceOrFact+".jsonl"))
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "fixtures", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no fixtures below %s: %w", dir, err)
	}
	var out []*Vector
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := fixture.Elements(src, func(_ int, doc []byte) error {
			f, err := fixture.Decode(doc)
			if err != nil {
				return err
			}
			v := &Vector{Name: "example " + f.ID, Input: f.AppendInput(nil), Stubs: []Stub{}}
			if value, ok := stubs[f.ID]; ok {
				v.Stubs = []Stub{{rules.PreferenceOrFact, value}}
			}
			out = append(out, v)
			return nil
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return out, nil
}

func exampleStubs(file string) (map[string]json.RawMessage, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for line := range strings.Lines(string(src)) {
		s, err := stub.Decode([]byte(line))
		if err != nil {
			return nil, err
		}
		out[s.FixtureID] = json.RawMessage(s.Value)
	}
	return out, nil
}

// Command generate writes the fixtures and the stubs of the promotion example. Run it from the root of the repository:
//
//	go run ./examples/promotion/generate
//
// The recorded outcomes are those of the tables in promoted.go and dropped.go: they are what was decided, and no checker
// is asked for them here. All other members follow from the claim's text and its place in its table, so that the same
// tables give the same bytes, and an edit changes the fixtures that it is about and no others.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() { os.Exit(run()) }

func run() int {
	out := flag.String("out", "examples/promotion", "directory of the set: files are written to fixtures/ and stubs/ in it")
	flag.Parse()
	if err := write(*out, append(promoted(), dropped()...)); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		return 1
	}
	return 0
}

// write writes fixtures/<reason code>.json, one array a bucket, and stubs/<call>.jsonl, one stub a line.
func write(dir string, buckets []bucket) error {
	for _, d := range []string{"fixtures", "stubs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	var stubs bytes.Buffer
	seen := map[string]string{}
	for i, b := range buckets {
		fixtures := b.fixtures(i)
		for _, f := range fixtures {
			for _, id := range []string{f.SourceRowID, f.SourceEventID, f.ClaimHash} {
				if other, twice := seen[id]; twice {
					return fmt.Errorf("%s and %s share %s", other, f.FixtureID, id)
				}
				seen[id] = f.FixtureID
			}
			if b.answer != "" {
				if err := encode(&stubs, stub{f.FixtureID, "preference_or_fact", b.answer}, ""); err != nil {
					return err
				}
			}
		}
		var file bytes.Buffer
		if err := encode(&file, fixtures, "  "); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "fixtures", b.reason+".json"), file.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "stubs", "preference_or_fact.jsonl"), stubs.Bytes(), 0o644)
}

// encode appends v and a newline, with text as it is written rather than escaped for HTML.
func encode(w *bytes.Buffer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// The set that everything is measured with: a fact may be promoted until it is maxAge days old. flips of its fixtures are
// exactly that old, whatever its size, so that a candidate with one day less flips them and no others.
const (
	setName  = "bench"
	maxAge   = 30
	flips    = 17
	member   = "age_days_at_decision"
	paramAge = "max_age_days"
	promoted = "promoted"
	dropped  = "dropped"
	fresh    = "fresh"
	stale    = "stale"
	roomy    = 768 // bytes that a fixture of about 640 fits into
)

var vocabulary = fixture.Vocabulary{Verdicts: []string{promoted, dropped}, Permissive: promoted, ReasonCodes: []string{fresh, stale}}

// appendFixture appends fixture i of n as a line of its file, without the line feed.
func appendFixture(b []byte, i, n int) []byte {
	age := i * 7919 % 60
	if age >= maxAge {
		age++
	}
	if every := max(n/flips, 1); i%every == 0 && i/every < flips {
		age = maxAge
	}
	verdict, reason := promoted, fresh
	if age > maxAge {
		verdict, reason = dropped, stale
	}
	return fmt.Appendf(b, `{"fixture_id": "mem-%08d", "source_row_id": "row-%d", "verdict": %q, "reason_code": %q, "decided_at": "2026-02-14T09:12:00Z", `+
		`"scope": {"tenant_id": "tenant-%d", "user_id": "user-%d"}, `+
		`"input": {%q: %d, "claim_text": "The customer of order %d prefers deliveries after six in the evening, and said so twice in the chat about the broken lamp.", `+
		`"confidence": 0.%02d, "corroborations": ["msg-%d", "msg-%d"], "embedding_model": "text-4", "kind": "preference", "source_type": "chat", "superseded_by": null}, `+
		`"provenance": {"row": "queue/2026-02/%d", "recorded_by": "promotion worker"}}`,
		i, i, verdict, reason, i%97, i%8191, member, age, i*31, i%90+10, i*2, i*2+1, i)
}

// decode makes fixture i of n.
func decode(i, n int) (*fixture.Fixture, error) {
	return fixture.Decode(appendFixture(make([]byte, 0, roomy), i, n))
}

// writeFixtures writes a file of n fixtures.
func writeFixtures(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := range n {
		line = append(appendFixture(line[:0], i, n), '\n')
		if _, err = w.Write(line); err != nil {
			break
		}
	}
	return errors.Join(err, w.Flush(), f.Close())
}

// writeSet makes a set's directory, with this program as both checkers, and gives the path of its fixtures.
func (b *bench) writeSet(n int) (dir, fixtures string, err error) {
	dir = filepath.Join(b.dir, fmt.Sprintf("set-%d", n))
	if err := os.MkdirAll(filepath.Join(dir, "fixtures"), 0o700); err != nil {
		return "", "", err
	}
	config := fmt.Sprintf("set: %s\nschema: 1\nverdicts: [%s, %s]\npermissive: %s\nreason_codes: [%s, %s]\n", setName, promoted, dropped, promoted, fresh, stale) +
		fmt.Sprintf("baseline:\n  command: [%q, %s]\n", b.self, roleChecker) +
		fmt.Sprintf("candidate:\n  command: [%q, %s]\n  parameters: {%s: %d}\n", b.self, roleChecker, paramAge, maxAge-1)
	if err := os.WriteFile(filepath.Join(dir, "retrial.yaml"), []byte(config), 0o600); err != nil {
		return "", "", err
	}
	fixtures = filepath.Join(dir, "fixtures", "all.jsonl")
	return dir, fixtures, writeFixtures(fixtures, n)
}

package trials

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// realData names the environment variable with the folder of the complete files.
const realData = "RETRIAL_REALDATA"

// All rows, of which the two examples have a part: that part is what their READMEs say, and no flip is left out.

func TestCompleteCedar(t *testing.T) {
	dir := complete(t)
	rows := read(t, filepath.Join(dir, "cedar", "cedar.recorded-v1.2.1.jsonl.gz"))
	plain := read(t, filepath.Join(dir, "cedar", "cedar.jsonl.gz"))
	// The recorded file lacks the requests that 1.2.1 could not read. The example has them, with that as their outcome.
	for id, row := range read(t, "../cedar/fixtures/requests.jsonl") {
		if _, recorded := rows[id]; !recorded {
			if row.Verdict != "error" || string(row.Input) != string(plain[id].Input) {
				t.Errorf("%s is neither a recorded row nor one that could not be read", id)
			}
			rows[id] = row
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(plain))) {
		t.Error("these are not the rows of the plain file")
	}
	d := tryRows(t, "cedar", rows)
	want{"2774", map[string]string{"permissive": "4", "restrictive": "7", "lateral": "8", "reason": "11"},
		"release blocked: 30 fixtures flipped"}.check(t, d)
	if got := verdicts(t, d); got["allow to deny"] != 7 || got["reason"] != 11 {
		t.Errorf("got flips of verdicts %v, want 7 from allow to deny and 11 of the reason alone", got)
	}
	selected(t, "../cedar/fixtures/requests.jsonl", rows, d, func(i int, r row) bool {
		return i%10 == 0 || r.Verdict == "error" || strings.HasPrefix(r.FixtureID, "cedar-hand-")
	})
}

func TestCompletePodSecurity(t *testing.T) {
	rows := read(t, filepath.Join(complete(t), "pod-security", "psa.recorded-v0.27.0.jsonl.gz"))
	d := tryRows(t, "pod-security", rows)
	want{"1788", map[string]string{"permissive": "16", "restrictive": "30", "reason": "8"},
		"release blocked: 54 fixtures flipped"}.check(t, d)
	if got := verdicts(t, d); got["admitted to denied"] != 30 || got["denied to admitted"] != 16 {
		t.Errorf("got flips of verdicts %v, want 46: 30 to denied, and 16 to admitted", got)
	}
	selected(t, "../pod-security/fixtures/pods.jsonl", rows, d, func(i int, _ row) bool { return i%6 == 0 })
}

type row struct {
	FixtureID string          `json:"fixture_id"`
	Verdict   string          `json:"verdict"`
	Input     json.RawMessage `json:"input"`
	text      string
}

func complete(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(realData)
	if dir == "" {
		t.Skipf("%s does not name the folder with the complete files, of which the examples have a part", realData)
	}
	return dir
}

// read gives the rows of a JSON Lines file, which may be gzipped, by their ids.
func read(t *testing.T, path string) map[string]row {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var text io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	all, err := io.ReadAll(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	rows := map[string]row{}
	for line := range strings.Lines(string(all)) {
		r := row{text: line}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: row %d: %v", path, len(rows)+1, err)
		}
		rows[r.FixtureID] = r
	}
	return rows
}

// tryRows runs an example with other rows than its own, by the checkers that are built for it as its README says.
func tryRows(t *testing.T, name string, rows map[string]row) decision {
	t.Helper()
	followReadme(t, name)
	dir, err := filepath.Abs(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "retrial.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(config)) {
		if !strings.HasPrefix(line, "checksum:") { // it is that of the example's rows
			kept.WriteString(strings.Replace(line, "[./bin/", fmt.Sprintf("[%s/bin/", dir), 1))
		}
	}
	set := t.TempDir()
	var fixtures strings.Builder
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		fixtures.WriteString(rows[id].text)
	}
	if err := os.Mkdir(filepath.Join(set, "fixtures"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"retrial.yaml": kept.String(), "fixtures/all.jsonl": fixtures.String()} {
		if err := os.WriteFile(filepath.Join(set, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return try(t, set)
}

// verdicts counts the flips from one verdict to another, and those of the reason alone.
func verdicts(t *testing.T, d decision) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for _, f := range d.FlipsByOutcome {
		n, err := f.Count.Int64()
		if err != nil {
			t.Fatal(err)
		}
		if f.OldVerdict == f.NewVerdict {
			counts["reason"] += n
		} else {
			counts[f.OldVerdict+" to "+f.NewVerdict] += n
		}
	}
	return counts
}

// selected fails the test unless an example has exactly the rows that are chosen in the order of ids, and those that flip.
func selected(t *testing.T, path string, rows map[string]row, d decision, chosen func(int, row) bool) {
	t.Helper()
	flipped := map[string]bool{}
	for _, f := range d.Findings {
		flipped[f.Subject] = flipped[f.Subject] || f.Code == "FLIP"
	}
	want := map[string]string{}
	for i, id := range slices.Sorted(maps.Keys(rows)) {
		if flipped[id] || chosen(i, rows[id]) {
			want[id] = rows[id].text
		}
	}
	got := map[string]string{}
	for id, r := range read(t, path) {
		got[id] = r.text
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s has %d rows, and is not the selection of %d that its README describes", path, len(got), len(want))
	}
}

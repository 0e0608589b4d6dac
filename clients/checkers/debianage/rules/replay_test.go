package rules

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// example holds the rows of the set examples/debian-migration.
const example = "../../../../examples/debian-migration/fixtures/uploads.jsonl"

// realData names the environment variable with the folder of the complete files.
const realData = "RETRIAL_REALDATA"

// The example: the defaults confirm every row, the soft freeze flips 46, all of them toward dropped (R22, R23).
func TestExample(t *testing.T) {
	rows := readRows(t, example)
	if len(rows) != 299 {
		t.Fatalf("%d rows, want 299", len(rows))
	}
	confirm(t, rows)
	flips := softFreezeFlips(t, rows)
	for urgency, want := range map[string]int{low: 0, medium: 35 + 3, high: 5, critical: 2, emergency: 1} {
		if got := flips[urgency]; got != want {
			t.Errorf("%d flips of urgency %s, want %d", got, urgency, want)
		}
	}
}

// The complete file: 2,933 of 2,933 confirmed, 427 flips; and the rows of the example are those that its README says.
func TestCompleteFile(t *testing.T) {
	dir := os.Getenv(realData)
	if dir == "" {
		t.Skipf("%s does not name a folder with debian-age/debian_age.jsonl.gz, the complete file of which the example has a tenth", realData)
	}
	rows := readRows(t, filepath.Join(dir, "debian-age", "debian_age.jsonl.gz"))
	if len(rows) != 2933 {
		t.Fatalf("%d rows, want 2,933", len(rows))
	}
	confirm(t, rows)
	total := 0
	for _, n := range softFreezeFlips(t, rows) {
		total += n
	}
	if total != 427 {
		t.Errorf("%d flips, want 427", total)
	}
	if !slices.Equal(selection(rows), texts(readRows(t, example))) {
		t.Error("the example is not the selection that its README describes")
	}
}

// selection gives every tenth row in the order of ids, and the rare ones that show a rule of their own.
func selection(rows []row) []string {
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.fixture.ID, b.fixture.ID) })
	rows = slices.Clone(rows)
	n := 0
	return texts(slices.DeleteFunc(rows, func(r row) bool {
		n++
		urgency := r.member("urgency")
		rare := urgency == critical || urgency == emergency || urgency == high && r.member("is_new") == "true"
		return n%10 != 0 && !rare
	}))
}

func confirm(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got := r.decide(t, nil); !got.Equal(r.fixture.Expected) {
			t.Errorf("%s: decided %s/%s, was %s/%s", r.fixture.ID, got.Verdict, got.ReasonCode, r.fixture.Expected.Verdict, r.fixture.Expected.ReasonCode)
		}
	}
}

// softFreezeFlips counts the rows that come out differently, by urgency. Each must go from promoted to dropped.
func softFreezeFlips(t *testing.T, rows []row) map[string]int {
	t.Helper()
	flips := map[string]int{}
	for _, r := range rows {
		got, was := r.decide(t, softFreeze), r.fixture.Expected
		if got.Equal(was) {
			continue
		}
		flips[r.member("urgency")]++
		if was.Verdict != Promoted || got.Verdict != Dropped {
			t.Errorf("%s went from %s to %s", r.fixture.ID, was.Verdict, got.Verdict)
		}
	}
	return flips
}

// row is one line of a file of fixtures.
type row struct {
	text    string
	fixture *fixture.Fixture
}

// member gives a member of the input, a string without its quotes.
func (r row) member(name string) string { return strings.Trim(string(r.fixture.Shown(name)), `"`) }

func (r row) decide(t *testing.T, parameters map[string]string) fixture.Outcome {
	t.Helper()
	got, err := check(t, string(r.fixture.AppendInput(nil)), parameters)
	if err != nil {
		t.Fatalf("%s: %v", r.fixture.ID, err)
	}
	return fixture.Outcome{Verdict: got.Verdict, ReasonCode: got.ReasonCode}
}

func texts(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.text
	}
	return out
}

func readRows(t *testing.T, path string) (rows []row) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f, err := fixture.Decode(lines.Bytes())
		if err != nil {
			t.Fatalf("%s:%d: %v", path, len(rows)+1, err)
		}
		rows = append(rows, row{lines.Text(), f})
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

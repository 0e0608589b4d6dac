package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxCell bounds one cell, in bytes: what others wrote must not fill the screen.
const maxCell = 2 << 10

// table prints aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table { return &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = fixture.Printable(c, maxCell)
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

func (t *table) flush() { _ = t.w.Flush() } // a writer that fails has failed before, and says so at the next line

// maxBuffered is how many rows wait for the widths of their columns. Behind it, rows are printed as they come.
const maxBuffered = 2000

// findingTable prints flips, or mismatches of the baseline: recorded and new outcome side by side (R28).
type findingTable struct {
	w       io.Writer
	paint   paint
	rows    []findingRow
	widths  []int
	printed bool
	code    string // of its findings
}

type findingRow struct {
	id    string
	cells []string
	class string
}

func newFindingTable(w io.Writer, p paint, code string) *findingTable {
	return &findingTable{w: w, paint: p, code: code}
}

func (t *findingTable) add(f *gatev1.Finding) error {
	now := "NOW"
	class := f.GetFlipClass()
	if f.GetCode() == "BASELINE_MISMATCH" {
		now, class = "BASELINE SAYS", "mismatch"
	}
	switch {
	case f.GetAllowedBy() != "":
		class += ", allowed by " + f.GetAllowedBy()
	case f.GetGroup() == "derived":
		class += ", derived"
	}
	row := findingRow{f.GetSubject(), []string{f.GetSubject(), f.GetSourceRowId(), outcome(f.GetOld()), outcome(f.GetNew()), class}, f.GetFlipClass()}
	head := []string{"FIXTURE", "ROW", "RECORDED", now, "CLASS"}
	for _, in := range f.GetInputs() {
		head = append(head, in.GetPath())
		row.cells = append(row.cells, unquote(in.GetValue()))
	}
	for i, c := range row.cells {
		row.cells[i] = fixture.Printable(c, maxCell)
	}
	if len(t.rows) == 0 && !t.printed {
		t.rows = append(t.rows, findingRow{cells: head})
	}
	t.rows = append(t.rows, row)
	if t.printed || len(t.rows) > maxBuffered {
		return t.flush(nil)
	}
	return nil
}

// flush prints the rows that wait, without those of dead fixtures.
func (t *findingTable) flush(dead map[string]bool) error {
	if t == nil {
		return nil
	}
	live := t.rows[:0]
	for _, r := range t.rows {
		if !dead[r.id] {
			live = append(live, r)
		}
	}
	if !t.printed {
		if len(live) < 2 { // the head alone
			return nil
		}
		t.measure(live)
		fmt.Fprintln(t.w)
	}
	var b bytes.Buffer
	for _, r := range live {
		t.print(&b, r)
	}
	t.rows, t.printed = nil, true
	_, err := t.w.Write(b.Bytes())
	return err
}

func (t *findingTable) measure(rows []findingRow) {
	for _, r := range rows {
		for i, c := range r.cells {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
		}
	}
}

func (t *findingTable) print(b *bytes.Buffer, r findingRow) {
	for i, c := range r.cells {
		pad := 0
		if i < len(r.cells)-1 && i < len(t.widths) {
			pad = max(0, t.widths[i]-utf8.RuneCountInString(c)) + 2
		}
		switch {
		case r.id == "":
			c = t.paint.bold(c)
		case i == 3 && r.class == "permissive":
			c = t.paint.red(c)
		case i == 3:
			c = t.paint.yellow(c)
		}
		b.WriteString(c)
		b.WriteString(strings.Repeat(" ", pad))
	}
	b.WriteByte('\n')
}

// outcome gives an outcome as one cell; of an output document, its beginning.
func outcome(o *gatev1.Outcome) string {
	s := pair(o.GetVerdict(), o.GetReasonCode())
	if out := string(o.GetOutput()); out != "" {
		const most = 40
		if len(out) > most {
			out = strings.ToValidUTF8(out[:most], "") + "…"
		}
		s += " " + out
	}
	return s
}

// unquote shows a JSON string without its quotes, where nothing in it needs them.
func unquote(value string) string {
	var s string
	if json.Unmarshal([]byte(value), &s) == nil && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7F }) {
		return s
	}
	return value
}

// compact removes what protojson strews in on purpose, so that output is the same for the same message.
func compact(b []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}

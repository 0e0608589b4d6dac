package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// series is what one thing measured, a value a round.
type series []float64

func (s series) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// over gives the ratio to o, round by round: what slowed down a whole round cancels out.
func (s series) over(o series) series {
	var out series
	for i := range min(len(s), len(o)) {
		if o[i] > 0 {
			out = append(out, s[i]/o[i])
		}
	}
	return out
}

func (s series) text(digits int) string {
	if len(s) == 0 {
		return "-"
	}
	if len(s) == 1 {
		return fmt.Sprintf("%.*f", digits, s[0])
	}
	return fmt.Sprintf("%.*f (%.*f..%.*f)", digits, s.median(), digits, slices.Min(s), digits, slices.Max(s))
}

// report collects what is printed at the end.
type report struct {
	sections []*section
	ratios   []ratio
}

type section struct {
	title, note string
	rows        [][]string
}

type ratio struct {
	what   string
	values series
	want   string // such as ">= 0.7"; empty where nothing is promised
}

// section begins a table of absolute numbers: its columns, and what exactly was measured.
func (r *report) section(title, note string, columns ...string) *section {
	s := &section{title: title, note: note, rows: [][]string{columns}}
	r.sections = append(r.sections, s)
	return s
}

func (s *section) row(cells ...string) { s.rows = append(s.rows, cells) }

func (r *report) ratio(what string, values series, want string) {
	if len(values) > 0 {
		r.ratios = append(r.ratios, ratio{what, values, want})
	}
}

func (r *report) print(w io.Writer) {
	for _, s := range r.sections {
		fmt.Fprintf(w, "\n%s\n", s.title)
		table(w, s.rows)
		if s.note != "" {
			fmt.Fprintf(w, "%s\n", s.note)
		}
	}
	fmt.Fprintf(w, "\nRatios, each of two things measured in turn in the same round: median (min..max)\n")
	rows := [][]string{{"WHAT", "RATIO", "WANTED", ""}}
	for _, x := range r.ratios {
		rows = append(rows, []string{x.what, x.values.text(2), cmp.Or(x.want, "-"), verdict(x)})
	}
	table(w, rows)
}

// verdict holds a ratio's median against what is wanted.
func verdict(x ratio) string {
	var op string
	var bound float64
	if n, _ := fmt.Sscanf(x.want, "%s %f", &op, &bound); n != 2 {
		return ""
	}
	if m := x.values.median(); op == ">=" && m >= bound || op == "<=" && m <= bound {
		return "met"
	}
	return "MISSED"
}

func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "  %s\n", strings.Join(r, "\t"))
	}
	_ = t.Flush() // a report that cannot be printed has nobody to be told
}

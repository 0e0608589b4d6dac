package recorder

import (
	"cmp"
	"slices"

	"github.com/retrial-dev/retrial/stub"
)

// Spread says how an answer varies when nothing but the instant changes, so that a comparison and a budget can be set from data.
type Spread struct {
	ID string `json:"id"`
	// Compare is how the recording is compared.
	Compare string `json:"compare"`
	Answers int    `json:"answers"`
	// Rows has one for each field of a rubric, in their order, and else a single one.
	Rows []SpreadRow `json:"spread"`
}

// SpreadRow is the spread of a whole answer or of one field.
type SpreadRow struct {
	// Field is a path of the rubric; empty for the whole answer.
	Field string `json:"field,omitempty"`
	// Distinct counts the answers that differ, to the letter; under a schema all of them keep it.
	Distinct int `json:"distinct"`
	// Most is how many gave the most frequent answer, Share the part that they are of all, from 0 to 1.
	Most  int     `json:"most_frequent"`
	Share float64 `json:"share"`
	// AsRecorded is how many gave what is recorded, as it is compared; nil where nothing is recorded.
	AsRecorded *int `json:"as_recorded,omitempty"`
}

// Spread reports on answers to one question; at least one. recorded is the value on record, or nil.
func (c *Comparison) Spread(id string, answers []Answer, recorded []byte) Spread {
	out := Spread{ID: id, Compare: c.kind, Answers: len(answers)}
	if c.kind == stub.Rubric {
		for _, f := range c.fields {
			out.Rows = append(out.Rows, spreadOf(f, answers, func(v []byte) string {
				at, _ := field(v, f)
				return string(at)
			}, recorded, func(was, is []byte) bool {
				a, ok := field(was, f)
				b, _ := field(is, f)
				return ok && string(a) == string(b)
			}))
		}
		return out
	}
	out.Rows = []SpreadRow{spreadOf("", answers, func(v []byte) string { return string(v) }, recorded, c.Same)}
	return out
}

func spreadOf(name string, answers []Answer, part func(value []byte) string, recorded []byte, same func(was, is []byte) bool) SpreadRow {
	counts, as := map[string]int{}, 0
	for _, a := range answers {
		counts[part(a.Value)]++
		if recorded != nil && same(recorded, a.Value) {
			as++
		}
	}
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	row := SpreadRow{Field: name, Distinct: len(counts), Most: slices.MaxFunc(all, cmp.Compare[int])}
	row.Share = float64(row.Most) / float64(len(answers))
	if recorded != nil {
		row.AsRecorded = &as
	}
	return row
}

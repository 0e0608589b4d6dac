package main

import (
	"slices"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// What is measured is worth nothing if the two sides do not do the same: the recorded outcomes are the baseline's, and
// the candidate flips as many as part b waits for.
func TestFixturesAreTheCheckersOwn(t *testing.T) {
	for _, n := range []int{17, 200, 2000, 100_000} {
		flipped := 0
		for i := range n {
			f, err := decode(i, n)
			if err != nil {
				t.Fatal(err)
			}
			if old := decide(t, f.AppendInput(nil), "30"); old.Verdict != f.Expected.Verdict || old.ReasonCode != f.Expected.ReasonCode {
				t.Fatalf("%d of %d: the baseline answers %+v, recorded is %+v", i, n, old, f.Expected)
			}
			if decide(t, f.AppendInput(nil), "29").Verdict != f.Expected.Verdict {
				flipped++
			}
		}
		if flipped != flips {
			t.Errorf("%d fixtures: %d flip, want %d", n, flipped, flips)
		}
	}
}

func decide(t *testing.T, input []byte, age string) retrial.Outcome {
	t.Helper()
	c, err := retrial.NewCase(checker{}, input, nil, map[string]string{paramAge: age})
	if err != nil {
		t.Fatal(err)
	}
	o, err := checker{}.Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSeries(t *testing.T) {
	if m := (series{3, 1, 2}).median(); m != 2 {
		t.Errorf("odd: %g", m)
	}
	if m := (series{4, 1, 2, 3}).median(); m != 2.5 {
		t.Errorf("even: %g", m)
	}
	if got := (series{2, 9}).over(series{4, 3}); !slices.Equal(got, series{0.5, 3}) {
		t.Errorf("ratios are taken round by round: %v", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		want string
		v    float64
		out  string
	}{{">= 0.7", 0.7, "met"}, {">= 0.7", 0.69, "MISSED"}, {"<= 1", 1, "met"}, {"<= 1", 1.01, "MISSED"}, {"", 1, ""}} {
		if got := verdict(ratio{"", series{c.v}, c.want}); got != c.out {
			t.Errorf("%g %s: %q", c.v, c.want, got)
		}
	}
}

package rules_test

import (
	"testing"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
)

func BenchmarkCheck(b *testing.B) {
	fixtures, stubs := loadFixtures(b), loadStubs(b)
	var cases []*retrial.Case
	for _, f := range fixtures {
		recorded := map[string]string{}
		if s := stubs[f.ID]; s != nil {
			recorded[rules.PreferenceOrFact] = string(s.Value)
		}
		c, err := retrial.NewCase(rules.Checker{}, f.AppendInput(nil), recorded, nil)
		if err != nil {
			b.Fatal(err)
		}
		cases = append(cases, c)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := (rules.Checker{}).Check(b.Context(), cases[i%len(cases)]); err != nil {
			b.Fatal(err)
		}
	}
}

package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

func readSet(t *testing.T, n int) *promotionSet {
	t.Helper()
	s, err := readPromotion(filepath.Join("..", ".."), n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The checkers are asked the set of the example, as often as it takes, and no fixture twice.
func TestPromotionSet(t *testing.T) {
	s := readSet(t, 450)
	ids, stubs := map[string]bool{}, 0
	for i, r := range s.requests {
		ids[r.Fixture.ID] = true
		stubs += len(r.Stubs)
		if got := caseIndex(r.CaseID); got != uint64(i) {
			t.Fatalf("case %d comes back as %d", i, got)
		}
		if first := s.requests[i%200]; r.Fixture.SourceRowID != first.Fixture.SourceRowID || len(r.Stubs) != len(first.Stubs) {
			t.Errorf("%d is not %d again", i, i%200)
		}
	}
	if len(s.requests) != 450 || len(ids) != 450 || stubs < 200 {
		t.Errorf("%d fixtures of %d ids with %d stubs", len(s.requests), len(ids), stubs)
	}
}

func TestAnswersAreHeldAgainstWhatIsRecorded(t *testing.T) {
	s := readSet(t, 200)
	right := s.requests[7].Fixture.Expected
	for _, tt := range []struct {
		name string
		give replayer.Answer
		want string // "" for none
	}{
		{"as recorded", replayer.Answer{CaseID: caseID(7), Outcome: right}, ""},
		{"another verdict", replayer.Answer{CaseID: caseID(7), Outcome: fixture.Outcome{Verdict: "x", ReasonCode: right.ReasonCode}}, "it answers x/"},
		{"another reason", replayer.Answer{CaseID: caseID(7), Outcome: fixture.Outcome{Verdict: right.Verdict, ReasonCode: "x"}}, "/x"},
		{"an error", replayer.Answer{CaseID: caseID(7), Err: &replayer.CaseError{Message: "broken"}}, "broken"},
		{"a case behind the last", replayer.Answer{CaseID: caseID(200), Outcome: right}, "nobody asked"},
		{"no id of ours", replayer.Answer{CaseID: 7, Outcome: right}, "nobody asked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := s.check(&tt.give)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What is missing is named; it is an error if all were to be measured, or if there is nothing to compare with.
func TestMissingSDKs(t *testing.T) {
	there, gone := sdk{language: languageGo}, errors.New("gone")
	for _, tt := range []struct {
		name   string
		sdks   []sdk
		strict bool
		fails  bool
	}{
		{"all there", []sdk{there, {language: "Rust"}}, true, false},
		{"one missing", []sdk{there, {language: "Rust", missing: gone}}, false, false},
		{"one missing where all were to be there", []sdk{there, {language: "Rust", missing: gone}}, true, true},
		{"Go missing", []sdk{{language: languageGo, missing: gone}}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := (&found{sdks: tt.sdks}).lacking(tt.strict); (err != nil) != tt.fails || err != nil && !strings.Contains(err.Error(), "gone") {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, s := range sources {
		if got := s.find(t.TempDir()); got.missing == nil || !strings.Contains(got.missing.Error(), s.files[0]) {
			t.Errorf("%s: in an empty folder: %v", s.language, got.missing)
		}
	}
}

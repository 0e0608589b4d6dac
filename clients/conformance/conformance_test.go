//go:build linux

package conformance_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/clients/conformance"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// patience is how long a case may take, and together how many checkers are put through the suite at a time: they mostly wait.
const patience, together = slowdown * 6 * time.Second, 3 + 9/slowdown

func target(mode string) conformance.Target {
	t := conformance.Target{Command: checkerhost.Command{Argv: []string{os.Args[0], "broken", mode}, Env: []string{"GORACE=atexit_sleep_ms=0"}}, Patience: patience}
	for n := range 40 {
		s := conformance.Sample{Name: fmt.Sprint(n), Input: fmt.Appendf(nil, `{"N":%d}`, n)}
		if n%2 == 0 {
			s.Stubs = []*checkerv1.Stub{{Call: "kind", Value: []byte(`"x"`)}}
		}
		t.Samples = append(t.Samples, s)
	}
	return t
}

func run(t *testing.T, mode string) *conformance.Report {
	t.Helper()
	report, err := conformance.Run(t.Context(), target(mode))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// hermetic are the cases that ask in a process without a network.
const hermetic = "no-network no-sockets no-children no-open-files no-files other-files"

// Every checker that is broken in one way is caught by the cases made for it, and by no other; one that is not broken passes all.
func TestBrokenCheckersAreCaught(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	places := make(chan struct{}, together)
	for mode, want := range map[string]string{
		"nothing":            "",
		"word-twice":         "describe-words",
		"slow-describe":      "describe-quick",
		"no-build":           "declared-build",
		"few-words":          "declared-some declared-verdicts",
		"open-reasons":       "",
		"reads-lazily":       "other-files",
		"by-day":             "other-clock",
		"silent-stubs":       "declared-stubs",
		"parameter-ignored":  "declared-parameters",
		"other-default":      "declared-defaults",
		"undeclared-verdict": "declared-verdicts",
		"undeclared-reason":  "declared-reasons",
		"twice-when-many":    "batch-of-2048",
		"loses-when-many":    "batch-of-2048",
		"waits-for-close":    "answers-before-close one-at-a-time half-read cancel cancel-often",
		"ids-53":             "ids-large",
		"remembers-ids":      "declared-parameters ids-reused stub-missing",
		"small-inputs":       "input-1-mib",
		"dies-on-empty":      "input-empty",
		"takes-arrays":       "input-array",
		"no-message":         "input-no-json input-empty input-array input-text",
		"default-stub":       "stub-missing",
		"all-stubs-used":     "stub-beside",
		"leaks-stubs":        "stub-other-case",
		"open-optional":      "open-missing",
		"any-parameter":      "open-unknown-parameter",
		"any-type":           "open-wrong-type",
		"dies-on-cancel":     "cancel cancel-often deadline half-read",
		"by-position":        "order-independent streams-side-by-side again-shuffled again-one-by-one again-at-once",
		"by-id":              "ids-reused again-other-ids again-in-one-stream",
		"by-zone":            "other-time-zone",
		"by-locale":          "other-locale",
		"by-seed":            "other-hash-seed other-hash-seed-fixed",
		"by-processors":      "one-processor",
		"by-variable":        "other-variables",
		"by-network":         hermetic,
		"prints":             "stdout-handshake",
		"ignores-sigterm":    "stop stop-under-way listen",
		"fails-on-sigterm":   "stop stop-under-way",
		"dies-on-interrupt":  "interrupt",
		"by-hand-fine":       "by-hand",
		"by-hand-waits":      "by-hand",
		"never-listens":      "listen",
		"opens-socket":       "no-sockets",
		"has-child":          "no-children",
		"leaves-daemon":      "no-children nothing-left",
		"leaves-file":        "no-files",
		"writes-file":        "no-open-files no-files",
	} {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			begun := time.Now()
			report, err := conformance.Run(t.Context(), target(mode))
			t.Logf("%s took %s", mode, time.Since(begun).Round(time.Millisecond))
			if err != nil {
				t.Errorf("%s: %v", mode, err)
				return
			}
			var got, unseen, absent []string
			for _, r := range report.Results {
				switch r.Status {
				case conformance.Failed:
					got = append(got, r.Case)
				case conformance.Unobserved:
					unseen = append(unseen, r.Case+": "+r.Message)
				case conformance.Inapplicable:
					absent = append(absent, r.Case)
				}
			}
			expected := strings.Fields(want)
			slices.Sort(got)
			slices.Sort(expected)
			if !slices.Equal(got, expected) {
				var table bytes.Buffer
				_ = report.WriteTable(&table, false)
				t.Errorf("%s: caught by %q, want %q\n%s", mode, got, expected, &table)
			}
			if want == "" && (len(unseen) > 0 || report.Reached != conformance.Hermetic) {
				t.Errorf("not observed: %q; reached %q", unseen, report.Reached)
			}
			if open := slices.Equal(absent, []string{"declared-reasons"}); open != (mode == "open-reasons") || !open && len(absent) > 0 {
				t.Errorf("%s: not applicable: %q", mode, absent)
			}
		})
	}
	wg.Wait()
}

// What cannot be seen is told, and no level is reached by it; what a checker does not have counts neither way.
func TestNotObserved(t *testing.T) {
	t.Parallel()
	byScript := target("nothing")
	byScript.Command.Argv = []string{"/bin/sh", "-c", "exec " + os.Args[0] + " broken nothing"}
	noStubs := target("nothing")
	noStubs.Samples = noStubs.Samples[1:2]
	foreign := target("nothing")
	foreign.Samples[7].Input = []byte(`{}`)
	for name, c := range map[string]struct {
		target  conformance.Target
		want    []string
		reached conformance.Level
	}{
		"a script around it":             {byScript, []string{"other-clock"}, conformance.Declared},
		"stubs that nobody uses":         {target("unused-stubs"), []string{"stub-missing"}, ""},
		"a sample that it cannot decide": {foreign, []string{"declared-decides"}, conformance.Contract},
		"samples without any stubs":      {noStubs, []string{"stub-missing", "stub-other-case"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := conformance.Run(t.Context(), c.target)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range report.Results {
				if r.Status == conformance.Unobserved {
					got = append(got, r.Case)
				}
			}
			if !slices.Equal(got, c.want) || report.Reached != c.reached {
				t.Errorf("not observed: %q, want %q; reached %q, want %q", got, c.want, report.Reached, c.reached)
			}
		})
	}
}

// A connection that is there is asked as far as one goes: nothing is started, and it stays its owner's.
func TestOverAConnection(t *testing.T) {
	t.Parallel()
	own := target("nothing")
	h, err := checkerhost.Launch(t.Context(), own.Command)
	if err != nil {
		t.Fatal(err)
	}
	own.Host, own.Command, own.UpTo = h, checkerhost.Command{}, conformance.Determinism
	report, err := conformance.Run(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	if report.Reached != conformance.Determinism || report.Count(conformance.Determinism, conformance.Inapplicable) == 0 {
		t.Errorf("reached %q: %+v", report.Reached, report.Results)
	}
	for _, r := range report.Results {
		if r.Level == conformance.Behaviour || r.Level == conformance.Hermetic {
			t.Errorf("%s was run, beyond the last level", r.Case)
		}
	}
	if _, err := h.Checker(nil); err != nil {
		t.Errorf("the connection: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// The level is the highest of which every case, and every case before it, has passed.
func TestLevelReached(t *testing.T) {
	t.Parallel()
	report := run(t, "by-zone")
	if report.Reached != conformance.Declared || !report.AtLeast(conformance.Contract) || report.AtLeast(conformance.Determinism) {
		t.Errorf("reached %q", report.Reached)
	}
	var table, doc bytes.Buffer
	if err := report.WriteTable(&table, false); err != nil || !strings.HasSuffix(table.String(), "broken 1: level reached: declared\n") {
		t.Errorf("%v\n%s", err, &table)
	}
	if err := report.WriteJSON(&doc); err != nil || !json.Valid(doc.Bytes()) {
		t.Errorf("%v\n%s", err, &doc)
	}
}

// CI that reads JUnit's form is green exactly where the level that it demands is reached: a case in which nothing was seen fails.
func TestJUnitFailsWhereTheLevelIsNotReached(t *testing.T) {
	result := func(level conformance.Level, s conformance.Status) conformance.Result {
		return conformance.Result{Case: string(level) + "-" + string(s), Level: level, Status: s, Message: "m"}
	}
	var passed []conformance.Result
	for _, l := range conformance.Levels() {
		passed = append(passed, result(l, conformance.Passed), result(l, conformance.Inapplicable))
	}
	with := func(level conformance.Level, s conformance.Status) []conformance.Result {
		return append(slices.Clone(passed), result(level, s))
	}
	for _, none := range []conformance.Level{"", "Hermetic"} {
		report := conformance.Report{Reached: conformance.Hermetic, Results: passed}
		if err := report.WriteJUnit(&bytes.Buffer{}, none); err == nil || report.AtLeast(none) {
			t.Errorf("the level %q: %v, reached %v", none, err, report.AtLeast(none))
		}
	}
	for name, tt := range map[string]struct {
		results  []conformance.Result
		failures map[conformance.Level]int // by demanded level
	}{
		"all":        {passed, map[conformance.Level]int{conformance.Contract: 0, conformance.Hermetic: 0}},
		"failed":     {with(conformance.Declared, conformance.Failed), map[conformance.Level]int{conformance.Contract: 0, conformance.Declared: 1, conformance.Hermetic: 1}},
		"unobserved": {with(conformance.Behaviour, conformance.Unobserved), map[conformance.Level]int{conformance.Determinism: 0, conformance.Behaviour: 1, conformance.Hermetic: 1}},
		"not asked":  {passed[:8], map[conformance.Level]int{conformance.Behaviour: 0, conformance.Hermetic: 1}},
		"nothing":    {nil, map[conformance.Level]int{conformance.Contract: 1, conformance.Hermetic: 5}},
	} {
		for demanded, want := range tt.failures {
			report := conformance.Report{Checker: "c", Results: tt.results}
			var doc bytes.Buffer
			if err := report.WriteJUnit(&doc, demanded); err != nil {
				t.Fatal(err)
			}
			var suites struct {
				Suite []struct {
					Name     string `xml:"name,attr"`
					Tests    int    `xml:"tests,attr"`
					Failures int    `xml:"failures,attr"`
					Skipped  int    `xml:"skipped,attr"`
					Cases    []struct {
						Failure *struct{} `xml:"failure"`
						Skipped *struct{} `xml:"skipped"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(doc.Bytes(), &suites); err != nil || len(suites.Suite) != len(conformance.Levels()) {
				t.Fatalf("%s: %v\n%s", name, err, &doc)
			}
			got := 0
			for _, s := range suites.Suite {
				got += s.Failures
				failed, skipped := 0, 0
				for _, c := range s.Cases {
					if c.Failure != nil {
						failed++
					}
					if c.Skipped != nil {
						skipped++
					}
				}
				if s.Failures != failed || s.Skipped != skipped || s.Tests != len(s.Cases) {
					t.Errorf("%s: the counts of %s are not those of its cases:\n%s", name, s.Name, &doc)
				}
			}
			if got != want {
				t.Errorf("%s, demanded %s: %d failures, want %d\n%s", name, demanded, got, want, &doc)
			}
		}
	}
}

// There are as many cases as are promised, each with a name of its own.
func TestCasesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, level := range conformance.Levels() {
		names := conformance.Cases()[level]
		if len(names) < 5 {
			t.Errorf("level %s has %d cases", level, len(names))
		}
		for _, n := range names {
			if seen[n] {
				t.Errorf("%s stands there twice", n)
			}
			seen[n] = true
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d cases", len(seen))
	}
}

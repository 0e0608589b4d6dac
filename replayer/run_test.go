package replayer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

func wantRuling(t *testing.T, r *replayer.Report, want gate.Ruling, codes ...gate.Code) {
	t.Helper()
	if r.Ruling != want {
		t.Errorf("ruling %d, want %d: %s", r.Ruling, want, r.Summary)
	}
	for _, code := range codes {
		if !slices.ContainsFunc(r.Causes, func(c gate.Cause) bool { return c.Code == code }) {
			t.Errorf("the causes %+v lack %s", r.Causes, code)
		}
	}
}

// R22, R23: the baseline confirms every fixture, and the candidate that is its equal passes. Every case is asked once in
// each phase.
func TestEqualCandidatePasses(t *testing.T) {
	for _, n := range []int{1, 2, 99, 100, 101, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSet(t, n, nil)
			baseline, candidate := honest("old"), honest("new")
			r, e := run(t, trial(s, baseline, candidate))
			wantRuling(t, r, gate.Pass)
			total := uint64(n)
			if r.Evidence != (gate.Evidence{Expected: total, Confirmed: total, Evaluated: total, Probed: total}) {
				t.Errorf("evidence %+v", r.Evidence)
			}
			if len(baseline.asked) != n || len(candidate.asked) != 2*n || candidate.streams != 2 {
				t.Errorf("asked %d and %d times over %d streams", len(baseline.asked), len(candidate.asked), candidate.streams)
			}
			if e.order[0] != "started" || e.started.Hermetic != total {
				t.Errorf("events begin with %q, %+v", e.order[0], e.started)
			}
		})
	}
}

// R23, R25: flips are told in the order of fixtures, with old and new, class, row and the members to show, and none before
// the baseline has confirmed everything.
func TestR23FlipsInOrderBehindTheConfirmation(t *testing.T) {
	s := newSet(t, 3000, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		switch {
		case strings.HasSuffix(r.Fixture.ID, "01"):
			a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}
		case strings.HasSuffix(r.Fixture.ID, "50"):
			a.Outcome.ReasonCode = "other"
		}
		return a
	}
	tr := trial(s, honest("old"), candidate)
	tr.Show = []string{"i", "nope"}
	r, e := run(t, tr)
	wantRuling(t, r, gate.Block, gate.Flip)
	flips := e.subjects(gate.Flip)
	if !slices.IsSorted(flips) || uint64(len(flips)) != r.Tally.Flipped() || len(flips) == 0 {
		t.Errorf("%d flips, %d counted", len(flips), r.Tally.Flipped())
	}
	confirmed := slices.Index(e.order, "progress 1 3000/3000")
	first := slices.IndexFunc(e.order, func(s string) bool { return strings.HasPrefix(s, "finding FLIP") })
	if confirmed < 0 || first < confirmed {
		t.Errorf("the first flip stands at %d, the end of the confirmation at %d", first, confirmed)
	}
	i := slices.IndexFunc(e.findings, func(f gate.Finding) bool { return f.Subject == "f-00050" })
	f := e.findings[i]
	if f.SourceRowID != "row-50" || f.Class != fixture.ClassReason || f.Old.String() != "promoted/large" || f.New.String() != "promoted/other" || f.Inputs[0].Value != "50" || f.Inputs[1].Value != "" {
		t.Errorf("got %+v", f)
	}
}

// R22: a baseline that does not reproduce its past stops the run; each mismatch is named, and nothing of the candidate is
// told.
func TestR22UnconfirmedBaselineStops(t *testing.T) {
	s := newSet(t, 1000, nil)
	baseline := honest("old")
	baseline.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.ID == "f-00500" || r.Fixture.ID == "f-00999" {
			a.Outcome.ReasonCode = "other"
		}
		return a
	}
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "all"}
		return a
	}
	r, e := run(t, trial(s, baseline, candidate))
	wantRuling(t, r, gate.BaselineUnconfirmed, gate.BaselineMismatch)
	if got := e.subjects(gate.BaselineMismatch); !slices.Equal(got, []string{"f-00500", "f-00999"}) {
		t.Errorf("mismatches %v", got)
	}
	if got := e.subjects(gate.Flip); len(got) != 0 || r.Evidence.Evaluated != 0 {
		t.Errorf("%d flips are told, %+v", len(got), r.Evidence)
	}
	if r.Evidence.Confirmed != 998 {
		t.Errorf("evidence %+v", r.Evidence)
	}
	t.Run("keep going", func(t *testing.T) {
		tr := trial(s, baseline, candidate)
		tr.KeepGoing = true
		r, e := run(t, tr)
		wantRuling(t, r, gate.BaselineUnconfirmed)
		if len(e.subjects(gate.Flip)) != 1000 {
			t.Errorf("%d flips", len(e.subjects(gate.Flip)))
		}
	})
}

// More flips than are held back while the baseline is not confirmed: none is lost, and the order stays.
func TestCandidateWaitsForTheBaseline(t *testing.T) {
	s := newSet(t, 10_000, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome.ReasonCode = "other"
		return a
	}
	r, e := run(t, trial(s, honest("old"), candidate))
	if flips := e.subjects(gate.Flip); len(flips) != 10_000 || !slices.IsSorted(flips) || r.Tally.Flipped() != 10_000 || len(r.Findings) != replayer.MaxFindings {
		t.Errorf("%d flips told, %d counted, %d kept", len(flips), r.Tally.Flipped(), len(r.Findings))
	}
}

// R24: an answer that changes when it is asked for again is a bug and no flip.
func TestR24Nondeterministic(t *testing.T) {
	s := newSet(t, 500, nil)
	other := fixture.Outcome{Verdict: "dropped", ReasonCode: "other"}
	var seen uint64
	for _, tt := range []struct {
		name   string
		decide func(stream int, r replayer.Request, a *replayer.Answer)
		want   []string
	}{
		{"first as recorded, then otherwise", func(n int, r replayer.Request, a *replayer.Answer) {
			if n == 2 && r.Fixture.ID == "f-00042" {
				a.Outcome = other
			}
		}, []string{"f-00042"}},
		{"first otherwise, then as recorded", func(n int, r replayer.Request, a *replayer.Answer) {
			if n == 1 && r.Fixture.ID == "f-00042" {
				a.Outcome = other
			}
		}, []string{"f-00042"}},
		{"an error once", func(n int, r replayer.Request, a *replayer.Answer) {
			if n == 2 && r.Fixture.ID == "f-00042" {
				a.Err = &replayer.CaseError{Message: "x"}
			}
		}, []string{"f-00042"}},
		{"by the case id", func(_ int, r replayer.Request, a *replayer.Answer) {
			if r.CaseID%2 == 0 {
				a.Outcome = other
			}
		}, nil},
		{"by the case id, over one", func(_ int, r replayer.Request, a *replayer.Answer) {
			if r.Fixture.ID != "f-00042" {
				return
			}
			if seen == 0 {
				seen = r.CaseID
			}
			if r.CaseID == seen {
				a.Outcome = other
			}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			byID := strings.Contains(tt.name, "by the case id")
			c := honest("new")
			c.answers = func(n int, batch []replayer.Request) ([]replayer.Answer, error) {
				var out []replayer.Answer
				for _, r := range batch {
					a := faithful(r)
					tt.decide(n, r, &a)
					out = append(out, a)
				}
				return out, nil
			}
			r, e := run(t, trial(s, honest("old"), c))
			wantRuling(t, r, gate.Block, gate.Nondeterministic)
			got := e.subjects(gate.Nondeterministic)
			if last := len(got) - 1; byID != (got[last] == "new") {
				t.Errorf("blamed for its look at the case id: %v", got)
			} else if byID {
				got = got[:last]
			}
			if !slices.IsSorted(got) || tt.want != nil && !slices.Equal(got, tt.want) || len(got) == 0 {
				t.Errorf("got %v", got)
			}
			if tt.want != nil && r.Tally.Flipped() != 0 {
				t.Errorf("%d flips are counted", r.Tally.Flipped())
			}
		})
	}
}

// R25, R29: every way to break the contract is found, named, and no pass.
func TestR25BrokenAnswers(t *testing.T) {
	s := newSet(t, 300, nil)
	at := func(r replayer.Request) bool { return r.Fixture.ID == "f-00137" }
	for _, tt := range []struct {
		name    string
		answers func(r replayer.Request, a replayer.Answer) []replayer.Answer
		code    gate.Code
		says    string
	}{
		{"an unknown verdict", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Outcome.Verdict = "perhaps"
			return []replayer.Answer{a}
		}, gate.CheckerError, `"perhaps" is not one of the declared`},
		{"no verdict", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Outcome.Verdict = ""
			return []replayer.Answer{a}
		}, gate.CheckerError, `verdict ""`},
		{"no reason", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Outcome.ReasonCode = ""
			return []replayer.Answer{a}
		}, gate.CheckerError, "no reason code"},
		{"a reason of 5 MB", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Outcome.ReasonCode = strings.Repeat("x", 5<<20)
			return []replayer.Answer{a}
		}, gate.CheckerError, "5242880 bytes long"},
		{"a control character", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Outcome.ReasonCode = "\x1b[31m"
			return []replayer.Answer{a}
		}, gate.CheckerError, "control character"},
		{"an output that is no JSON", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Outcome.Output = []byte("{")
			return []replayer.Answer{a}
		}, gate.CheckerError, "no JSON document"},
		{"an error", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Err = &replayer.CaseError{Message: "out of\ncheese\x07"}
			return []replayer.Answer{a}
		}, gate.CheckerError, "could not decide: out of cheese\uFFFD"},
		{"R19 a missing stub", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.Err = &replayer.CaseError{StubMissing: "classify"}
			return []replayer.Answer{a}
		}, gate.StubMissing, `the stub "classify", which nobody recorded`},
		{"a stub that the case does not carry", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			a.StubsUsed = []string{"classify"}
			return []replayer.Answer{a}
		}, gate.CheckerError, "a stub that the case does not carry"},
		{"no answer", func(replayer.Request, replayer.Answer) []replayer.Answer { return nil }, gate.AnswerMissing, "without an answer"},
		{"two answers", func(_ replayer.Request, a replayer.Answer) []replayer.Answer { return []replayer.Answer{a, a} }, gate.CheckerProtocol, "twice"},
		{"an unknown case", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			b := a
			b.CaseID = 12345
			return []replayer.Answer{a, b}
		}, gate.CheckerProtocol, "case 12345, which it was never asked"},
		{"case 0", func(_ replayer.Request, a replayer.Answer) []replayer.Answer {
			b := a
			b.CaseID = 0
			return []replayer.Answer{a, b}
		}, gate.CheckerProtocol, "case 0, which it was never asked"},
	} {
		for _, role := range []gate.Role{gate.Baseline, gate.Candidate} {
			t.Run(tt.name+"/"+string(role), func(t *testing.T) {
				c := honest("broken")
				c.answers = func(_ int, batch []replayer.Request) ([]replayer.Answer, error) {
					var out []replayer.Answer
					for _, r := range batch {
						a := faithful(r)
						if at(r) {
							out = append(out, tt.answers(r, a)...)
						} else {
							out = append(out, a)
						}
					}
					return out, nil
				}
				tr, want := trial(s, honest("old"), c), gate.Block
				if role == gate.Baseline {
					tr, want = trial(s, c, honest("new")), gate.BaselineUnconfirmed
				}
				r, e := run(t, tr)
				wantRuling(t, r, want, tt.code)
				i := slices.IndexFunc(e.findings, func(f gate.Finding) bool { return f.Code == tt.code })
				if i < 0 {
					t.Fatalf("findings %+v", e.findings)
				}
				f := e.findings[i]
				if !strings.Contains(f.Message, tt.says) || f.Role != role {
					t.Errorf("got %+v, want %q", f, tt.says)
				}
				if !strings.Contains(f.Subject+f.Message, "f-00137") && tt.code != gate.CheckerProtocol {
					t.Errorf("%+v does not name the fixture", f)
				}
			})
		}
	}
}

// R29: a checker that crashes, hangs or ends its stream early blocks, and what it left unanswered is named.
func TestR29FaultyStreams(t *testing.T) {
	s := newSet(t, 3000, nil)
	crash := honest("new")
	crash.answers = func(_ int, batch []replayer.Request) ([]replayer.Answer, error) {
		if slices.ContainsFunc(batch, func(r replayer.Request) bool { return r.Fixture.ID == "f-00137" }) {
			return nil, &replayer.Fault{Code: gate.CheckerFailed, Message: "it ended: exit status 3"}
		}
		var out []replayer.Answer
		for _, r := range batch {
			out = append(out, faithful(r))
		}
		return out, nil
	}
	hang := honest("new")
	hang.hang = true
	for _, tt := range []struct {
		name    string
		c       *checker
		code    gate.Code
		message []string
	}{
		{"a crash", crash, gate.CheckerFailed, []string{`candidate "new": it ended: exit status 3`, "cases in flight, the first of them fixture"}},
		{"a hang", hang, gate.CheckerTimeout, []string{`candidate "new": no answer for 1s`, `fixture "f-00000"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := trial(s, honest("old"), tt.c)
			tr.CaseTimeout = time.Second
			r, e := run(t, tr)
			wantRuling(t, r, gate.Block, tt.code)
			i := slices.IndexFunc(e.findings, func(f gate.Finding) bool { return f.Code == tt.code })
			for _, want := range tt.message {
				if i < 0 || !strings.Contains(e.findings[i].Message, want) {
					t.Errorf("%+v does not say %q", e.findings, want)
				}
			}
		})
	}
}

// A sink that stands still is not the checker's fault.
func TestSlowClientIsNoHang(t *testing.T) {
	s := newSet(t, 50, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome.ReasonCode = "other"
		return a
	}
	tr := trial(s, honest("old"), candidate)
	tr.CaseTimeout = time.Second
	stalled := false
	e := &events{onEvent: func(kind string) error {
		if strings.HasPrefix(kind, "finding FLIP") && !stalled {
			stalled = true
			<-time.After(1300 * time.Millisecond)
		}
		return nil
	}}
	r, err := replayer.Run(context.Background(), tr, e)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.subjects(gate.CheckerTimeout); len(got) != 0 || r.Tally.Flipped() != 50 {
		t.Errorf("timeouts %v, %d flips", got, r.Tally.Flipped())
	}
}

// R29: a cancelled run, one over its time, and one whose client is gone block, wherever it happens: up to the last event,
// with a candidate that would pass.
func TestR29CancelledAnywhere(t *testing.T) {
	s := newSet(t, 400, nil)
	_, all := run(t, trial(s, honest("old"), honest("new")))
	for at := range all.order {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		e := &events{onEvent: func(string) error {
			if n++; n == at+1 {
				cancel()
			}
			return nil
		}}
		r, err := replayer.Run(ctx, trial(s, honest("old"), honest("new")), e)
		cancel()
		if err != nil || r.Ruling == gate.Pass || r.Ruling == gate.NoRuling {
			t.Errorf("cancelled at event %d of %d, %q: %+v, %v", at, len(all.order), all.order[at], r, err)
		}
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := replayer.Run(ctx, trial(s, honest("old"), honest("new")), &events{})
		if err != nil {
			t.Fatal(err)
		}
		wantRuling(t, r, gate.Block, gate.RunCancelled)
	})
	t.Run("the client is gone", func(t *testing.T) {
		e := &events{onEvent: func(string) error { return errors.New("broken pipe") }}
		r, err := replayer.Run(context.Background(), trial(s, honest("old"), honest("new")), e)
		if err != nil {
			t.Fatal(err)
		}
		wantRuling(t, r, gate.Block, gate.RunCancelled)
	})
	t.Run("over its time", func(t *testing.T) {
		hang := honest("new")
		hang.hang = true
		tr := trial(s, honest("old"), hang)
		tr.RunTimeout = 30 * time.Millisecond
		r, _ := run(t, tr)
		wantRuling(t, r, gate.Block, gate.RunTimeout)
	})
}

// R29: an empty selection blocks.
func TestR29NothingSelected(t *testing.T) {
	s := newSet(t, 10, nil)
	tr := trial(s, honest("old"), honest("new"))
	tr.Selected = func(string) bool { return false }
	r, _ := run(t, tr)
	wantRuling(t, r, gate.Block, gate.NoFixtures)
	t.Run("only derived ones", func(t *testing.T) {
		s := newSet(t, 10, func(_ int, doc string) string { return strings.Replace(doc, `{`, `{"group":"derived",`, 1) })
		tr := trial(s, honest("old"), honest("new"))
		tr.IncludeDerived = true
		r, _ := run(t, tr)
		wantRuling(t, r, gate.Block, gate.NoFixtures)
	})
}

// R16: a version whose content has another checksum is not tried at all.
func TestR16ChecksumIsVerified(t *testing.T) {
	s := newSet(t, 10, nil)
	tr := trial(s, honest("old"), honest("new"))
	s.cases = s.cases[:9] // a removal behind the store's back
	_, err := replayer.Run(context.Background(), tr, &events{})
	if fixture.CodeOf(err) != fixture.CodeCorrupt || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
}

// R17: derived fixtures are tried when asked for, reported, and never gate.
func TestR17DerivedNeverGates(t *testing.T) {
	s := newSet(t, 300, func(i int, doc string) string {
		if i%10 == 0 {
			return strings.Replace(doc, `{`, `{"group":"derived",`, 1)
		}
		return doc
	})
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.Group == fixture.Derived {
			a.Outcome.ReasonCode = "recomputed"
		}
		return a
	}
	r, e := run(t, trial(s, honest("old"), candidate))
	wantRuling(t, r, gate.Pass)
	if n := len(e.subjects(gate.Flip)); n != 0 || r.Evidence.Expected != 270 {
		t.Errorf("%d flips unasked for, %+v", n, r.Evidence)
	}
	tr := trial(s, honest("old"), candidate)
	tr.IncludeDerived = true
	r, e = run(t, tr)
	wantRuling(t, r, gate.Pass)
	if n := len(e.subjects(gate.Flip)); n != 30 || r.Tally.Flipped() != 0 {
		t.Errorf("%d flips told, %d counted", n, r.Tally.Flipped())
	}
}

// R19: stubs go with their case; one that neither checker asks for is told, and a baseline that asks for none of them is
// not pinned.
func TestR19StubUsage(t *testing.T) {
	stubbed := func() *set {
		s := &set{sum: fixture.NewChecksum(vocabulary)}
		for _, c := range newSet(t, 10, nil).cases {
			d := fixture.DigestOf([]byte("stubs"))
			c.StubDigest, c.Stubs = &d, []replayer.Stub{{Call: "classify", Value: []byte(`"fact"`)}, {Call: "rank", Value: []byte(`1`)}}
			s.add(t, c)
		}
		return s
	}
	using := func(calls ...string) *checker {
		c := honest("c")
		c.decide = func(r replayer.Request) replayer.Answer {
			a := faithful(r)
			a.StubsUsed = calls
			return a
		}
		return c
	}
	r, e := run(t, trial(stubbed(), using("classify"), using("rank")))
	wantRuling(t, r, gate.Pass)
	if n := len(e.subjects(gate.StubUnused)); n != 0 {
		t.Errorf("%d stubs are said to be unused, and each was asked for by one checker", n)
	}
	r, e = run(t, trial(stubbed(), using("classify"), using("classify")))
	wantRuling(t, r, gate.Pass)
	if got := e.subjects(gate.StubUnused); len(got) != 10 || !slices.IsSorted(got) || !strings.Contains(e.findings[len(e.findings)-1].Message, "rank") {
		t.Errorf("got %v", got)
	}
	r, _ = run(t, trial(stubbed(), using(), using("classify", "rank")))
	wantRuling(t, r, gate.Block, gate.StubsBypassed)
	r, e = run(t, trial(stubbed(), using("classify", "rank"), using()))
	wantRuling(t, r, gate.Pass)
	if got := e.subjects(gate.StubsBypassed); len(got) != 1 {
		t.Errorf("a candidate that asks for no stub is not told of: %v", e.findings)
	}
}

// R27: an expired entry and one that covers nothing block; one that covers its flip lets it pass.
func TestR27AllowlistInARun(t *testing.T) {
	s := newSet(t, 10, nil)
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if r.Fixture.ID == "f-00001" {
			a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}
		}
		return a
	}
	tr := trial(s, honest("old"), candidate)
	entry := gate.Entry{FixtureID: "f-00001", Old: fixture.Outcome{Verdict: "promoted", ReasonCode: "large"}, New: fixture.Outcome{Verdict: "dropped", ReasonCode: "small"},
		Reason: "r", Owner: "o", ExpiresAt: tr.Now.Add(time.Hour)}
	tr.Policy = gate.Policy{Kind: gate.Listed}
	for _, tt := range []struct {
		name   string
		change func(e *gate.Entry)
		want   gate.Ruling
		codes  []gate.Code
	}{
		{"in force", func(*gate.Entry) {}, gate.Pass, nil},
		{"expired", func(e *gate.Entry) { e.ExpiresAt = tr.Now }, gate.Block, []gate.Code{gate.AllowlistExpired, gate.Flip}},
		{"for another fixture", func(e *gate.Entry) { e.FixtureID = "f-00002" }, gate.Block, []gate.Code{gate.AllowlistUnused, gate.Flip}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := entry
			tt.change(&e)
			tr.Allowlist = []gate.Entry{e}
			r, _ := run(t, tr)
			wantRuling(t, r, tt.want, tt.codes...)
		})
	}
}

// R27: an entry covers no flip whose output documents differ, even where they do so behind all that a finding carries of them.
func TestR27OutputsDifferBehindTheirBeginnings(t *testing.T) {
	long := strings.Repeat("x", 2000)
	output := func(last string) string { return fmt.Sprintf(`"%s%s"`, long, last) }
	s := newSet(t, 10, func(_ int, doc string) string {
		return strings.TrimSuffix(doc, "}") + `,"output":` + output("1") + "}"
	})
	answer := func(last string) func(replayer.Request) replayer.Answer {
		return func(r replayer.Request) replayer.Answer {
			a := faithful(r)
			a.Outcome.Output = []byte(output("1"))
			if r.Fixture.ID == "f-00001" {
				a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "small", Output: []byte(output(last))}
			}
			return a
		}
	}
	for last, want := range map[string]gate.Ruling{"1": gate.Pass, "2": gate.Block} {
		baseline, candidate := honest("old"), honest("new")
		baseline.decide = func(r replayer.Request) replayer.Answer {
			a := faithful(r)
			a.Outcome.Output = []byte(output("1"))
			return a
		}
		candidate.decide = answer(last)
		tr := trial(s, baseline, candidate)
		tr.Policy = gate.Policy{Kind: gate.Listed}
		tr.Allowlist = []gate.Entry{{FixtureID: "f-00001", Old: fixture.Outcome{Verdict: "promoted", ReasonCode: "large"},
			New: fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}, Reason: "r", Owner: "o", ExpiresAt: tr.Now.Add(time.Hour)}}
		r, _ := run(t, tr)
		wantRuling(t, r, want)
	}
}

// R35: a reason code that the set has never seen, and one that is declared and not covered, are told. R9: so is a set of
// one verdict. A baseline of another configuration than the set's blocks.
func TestR35Suspicions(t *testing.T) {
	s := newSet(t, 30, func(_ int, doc string) string { return strings.Replace(doc, `"promoted"`, `"dropped"`, 1) })
	candidate := honest("new")
	candidate.decide = func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		a.Outcome = fixture.Outcome{Verdict: "dropped", ReasonCode: "brand_new"}
		return a
	}
	baseline := honest("old")
	baseline.desc = replayer.Description{ReasonCodes: []string{"small", "rare"}, ConfigurationVersion: "7"}
	tr := trial(s, baseline, candidate)
	tr.QueueConfiguration = "6"
	r, _ := run(t, tr)
	wantRuling(t, r, gate.BaselineUnconfirmed, gate.ConfigurationMismatch)
	tr.QueueConfiguration, tr.KeepGoing = "7", true
	_, e := run(t, tr)
	for code, want := range map[gate.Code][]string{gate.ReasonUnseen: {"brand_new"}, gate.ReasonUncovered: {"rare"}, gate.OneVerdict: {"dropped"}, gate.ConfigurationMismatch: nil} {
		if got := e.subjects(code); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", code, got, want)
		}
	}
}

// A recording that is over its age blocks, at the run's instant and not at the machine's.
func TestStaleRecordingBlocks(t *testing.T) {
	s := newSet(t, 10, nil)
	tr := trial(s, honest("old"), honest("new"))
	expires := tr.Now
	s.cases[3].Recordings = func(now time.Time) []replayer.Problem {
		if !fixture.Expired(expires, now) {
			return nil
		}
		return []replayer.Problem{{Code: gate.RecordingStale, Message: "old"}}
	}
	r, e := run(t, tr)
	wantRuling(t, r, gate.Block, gate.RecordingStale)
	if got := e.subjects(gate.RecordingStale); !slices.Equal(got, []string{"f-00003"}) {
		t.Errorf("got %v", got)
	}
	expires = tr.Now.Add(1)
	r, _ = run(t, tr)
	wantRuling(t, r, gate.Pass)
	s.cases[3].Recordings = func(time.Time) []replayer.Problem {
		return []replayer.Problem{{Code: gate.RecordingChanged, Message: "edited"}}
	}
	r, _ = run(t, tr)
	wantRuling(t, r, gate.Block, gate.RecordingChanged)
}

// R4: neither the machine's clock nor the seed of the probe changes a ruling or a finding. Answers may come in any order
// and any batching.
func TestR4SameFindingsHoweverAnswered(t *testing.T) {
	s := newSet(t, 700, nil)
	flips := func(r replayer.Request) replayer.Answer {
		a := faithful(r)
		if strings.HasSuffix(r.Fixture.ID, "7") {
			a.Outcome.ReasonCode = "other"
		}
		return a
	}
	plain := honest("new")
	plain.decide = flips
	want, wantEvents := run(t, trial(s, honest("old"), plain))
	rapid.Check(t, func(rt *rapid.T) {
		c := honest("new")
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1))
		var held []replayer.Answer
		c.answers = func(_ int, batch []replayer.Request) ([]replayer.Answer, error) {
			for _, r := range batch {
				held = append(held, flips(r))
			}
			shuffle.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
			// What is held back would never be answered behind the last batch, so that all goes out.
			out := held
			held = nil
			return out, nil
		}
		tr := trial(s, honest("old"), c)
		tr.Seed = rapid.Uint64().Draw(rt, "seed")
		e := &events{}
		got, err := replayer.Run(context.Background(), tr, e)
		if err != nil {
			rt.Fatal(err)
		}
		if got.Summary != want.Summary || got.Evidence != want.Evidence || !slices.Equal(e.subjects(gate.Flip), wantEvents.subjects(gate.Flip)) {
			rt.Fatalf("got %s, %+v", got.Summary, got.Evidence)
		}
	})
}

// The probe asks in another order and in other batches, under other case ids.
func TestProbeAsksOtherwise(t *testing.T) {
	s := newSet(t, 1000, nil)
	c := honest("new")
	ids := map[int]map[uint64]bool{1: {}, 2: {}}
	c.answers = func(n int, batch []replayer.Request) ([]replayer.Answer, error) {
		var out []replayer.Answer
		for _, r := range batch {
			ids[n][r.CaseID] = true
			out = append(out, faithful(r))
		}
		return out, nil
	}
	run(t, trial(s, honest("old"), c))
	first, again := c.asked[:1000], c.asked[1000:]
	if !slices.IsSorted(first) || slices.IsSorted(again) {
		t.Error("the order is the same")
	}
	if sorted := slices.Sorted(slices.Values(again)); !slices.Equal(sorted, first) {
		t.Error("the probe asks for other fixtures")
	}
	for id := range ids[1] {
		if ids[2][id] {
			t.Fatalf("case id %d was given twice", id)
		}
	}
	if len(ids[1]) != 1000 || len(ids[2]) != 1000 || ids[1][0] {
		t.Error("case ids are not unique")
	}
}

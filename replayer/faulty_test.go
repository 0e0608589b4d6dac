package replayer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

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

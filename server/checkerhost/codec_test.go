package checkerhost

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

func newFixture(t *testing.T, member string) *fixture.Fixture {
	t.Helper()
	f, err := fixture.Decode(fmt.Appendf(nil, `{"fixture_id":"f","source_row_id":"r","verdict":"keep","reason_code":"fresh","decided_at":"2026-02-14T09:12:00Z",%s}`, member))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What the codec writes is what a checker in any language reads with generated messages.
func TestRequestsReadAsGeneratedMessages(t *testing.T) {
	flat := newFixture(t, `"scope":{"queue":"inbox"},"text":"ä\u0000\"","n":9007199254740993`)
	nested := newFixture(t, `"scope":{"queue":"inbox"},"input":{"z":1,"a":[1.0,null]}`)
	sized := func(n int) *fixture.Fixture { return newFixture(t, fmt.Sprintf(`"text":%q`, strings.Repeat("x", n))) }
	stub := func(call string, n int) replayer.Stub {
		return replayer.Stub{Call: call, Value: fmt.Appendf(nil, "%q", strings.Repeat("v", n))}
	}
	for name, batch := range map[string]requests{
		"one case":                  {{CaseID: 1, Fixture: flat}},
		"the largest case id":       {{CaseID: ^uint64(0), Fixture: flat}},
		"input under its own name":  {{CaseID: 7, Fixture: nested}},
		"length of one byte":        {{CaseID: 7, Fixture: sized(127 - len(`{"text":""}`))}},
		"length of two bytes":       {{CaseID: 7, Fixture: sized(128 - len(`{"text":""}`))}},
		"length of three bytes":     {{CaseID: 7, Fixture: sized(1 << 14)}},
		"length of four bytes":      {{CaseID: 7, Fixture: sized(1 << 21)}},
		"a stub":                    {{CaseID: 7, Fixture: flat, Stubs: []replayer.Stub{stub("classify", 3)}}},
		"stubs, some of them large": {{CaseID: 7, Fixture: flat, Stubs: []replayer.Stub{stub("a", 0), stub("b", 1<<16), stub("ü", 200)}}},
		"many cases": {{CaseID: 1, Fixture: flat, Stubs: []replayer.Stub{stub("a", 1)}}, {CaseID: 2, Fixture: sized(4096)}, {CaseID: 3, Fixture: nested},
			{CaseID: 1 << 63, Fixture: flat, Stubs: []replayer.Stub{stub("z", 300)}}},
	} {
		t.Run(name, func(t *testing.T) {
			want := &checkerv1.CheckRequest{}
			size := 0
			for _, r := range batch {
				c := &checkerv1.Case{CaseId: r.CaseID, Input: r.Fixture.AppendInput(nil)}
				for _, s := range r.Stubs {
					c.Stubs = append(c.Stubs, &checkerv1.Stub{Call: s.Call, Value: s.Value})
				}
				want.Cases = append(want.Cases, c)
				size += 1 + protowire.SizeBytes(caseSize(&r))
			}
			buffers, err := newCodec().Marshal(batch)
			if err != nil {
				t.Fatal(err)
			}
			b := buffers.Materialize()
			buffers.Free()
			if len(b) != size {
				t.Errorf("%d bytes, and %d were foreseen", len(b), size)
			}
			got := &checkerv1.CheckRequest{}
			if err := (proto.UnmarshalOptions{}).Unmarshal(b, got); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("got  %.400s\nwant %.400s", prototext.Format(got), prototext.Format(want))
			}
		})
	}
}

// What is no batch of cases is left to the standard codec.
func TestOtherMessagesGoThroughTheStandardCodec(t *testing.T) {
	want := &checkerv1.CheckRequest{Open: &checkerv1.Open{Parameters: map[string][]byte{"limit": []byte("3")}}}
	c := newCodec()
	buffers, err := c.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &checkerv1.CheckRequest{}
	if err := c.Unmarshal(buffers, got); err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// answerOf is what a result says, read by way of the generated message.
func answerOf(r *checkerv1.Result) replayer.Answer {
	a := replayer.Answer{CaseID: r.GetCaseId(), StubsUsed: r.GetStubsUsed()}
	switch {
	case r.GetOutcome() != nil:
		a.Outcome = fixture.Outcome{Verdict: r.GetOutcome().GetVerdict(), ReasonCode: r.GetOutcome().GetReasonCode()}
		if out := r.GetOutcome().GetOutput(); len(out) > 0 {
			a.Outcome.Output = out
		}
	case r.GetError() != nil:
		a.Err = &replayer.CaseError{Message: fixture.Printable(r.GetError().GetMessage(), 500)}
		if r.GetError().GetCode() == checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING {
			if a.Err.StubMissing = fixture.Printable(r.GetError().GetCall(), 256); a.Err.StubMissing == "" {
				a.Err.StubMissing = "(unnamed)"
			}
		}
	default:
		a.Err = &replayer.CaseError{Message: "the result has neither an outcome nor an error"}
	}
	return a
}

func answersOf(m *checkerv1.CheckResponse) []replayer.Answer {
	var out []replayer.Answer
	for _, r := range m.GetResults() {
		out = append(out, answerOf(r))
	}
	return out
}

func readAnswers(t *testing.T, b []byte) []replayer.Answer {
	t.Helper()
	var in answers
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &in); err != nil {
		t.Fatal(err)
	}
	return in.list
}

func outcomeOf(verdict, reason, output string) *checkerv1.Result_Outcome {
	return &checkerv1.Result_Outcome{Outcome: &checkerv1.Outcome{Verdict: verdict, ReasonCode: reason, Output: []byte(output)}}
}

func errorOf(code checkerv1.CaseErrorCode, message, call string) *checkerv1.Result_Error {
	return &checkerv1.Result_Error{Error: &checkerv1.CaseError{Code: code, Message: message, Call: call}}
}

// What a checker in any language writes with generated messages is what the codec reads.
func TestAnswersReadAsTheyWereWritten(t *testing.T) {
	for name, results := range map[string][]*checkerv1.Result{
		"no results":            nil,
		"an outcome":            {{CaseId: 1, Answer: outcomeOf("keep", "fresh", "")}},
		"an outcome, all of it": {{CaseId: ^uint64(0), Answer: outcomeOf("keep", "fresh", `{"a":1}`), StubsUsed: []string{"a", "b"}}},
		"an empty outcome":      {{CaseId: 3, Answer: outcomeOf("", "", "")}},
		"an error":              {{CaseId: 4, Answer: errorOf(checkerv1.CaseErrorCode_CASE_ERROR_CODE_INTERNAL, "out of\nmemory", "")}},
		"an empty error":        {{CaseId: 5, Answer: errorOf(0, "", "")}},
		"an unknown error code": {{CaseId: 5, Answer: errorOf(77, "odd", "call")}},
		"a missing stub":        {{CaseId: 6, Answer: errorOf(checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, "no stub", "classify")}},
		"a missing stub that is not named": {
			{CaseId: 7, Answer: errorOf(checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, "no stub", "")}},
		"a call beside another error": {{CaseId: 8, Answer: errorOf(checkerv1.CaseErrorCode_CASE_ERROR_CODE_INVALID_INPUT, "no number", "classify")}},
		"neither":                     {{CaseId: 9}},
		"no case id":                  {{Answer: outcomeOf("keep", "", "")}},
		"a result of no bytes":        {{}},
		"several": {{CaseId: 1, Answer: outcomeOf("keep", "fresh", "")}, {CaseId: 2, Answer: errorOf(1, "x", "")}, {CaseId: 3, Answer: outcomeOf("drop", "old", `"o"`)},
			{CaseId: 4, Answer: outcomeOf("keep", "fresh", "")}},
	} {
		t.Run(name, func(t *testing.T) { checkAnswers(t, &checkerv1.CheckResponse{Results: results}) })
	}
}

func checkAnswers(t *testing.T, m *checkerv1.CheckResponse) {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := readAnswers(t, b), answersOf(m); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// As above, over messages at random.
func TestAnyAnswersReadAsTheyWereWritten(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	word := func() string {
		return []string{"", "keep", "drop", "überfällig", strings.Repeat("w", random.IntN(600)), "a\x00b", "\u202e"}[random.IntN(7)]
	}
	for range 2000 {
		m := &checkerv1.CheckResponse{}
		for range random.IntN(20) {
			r := &checkerv1.Result{CaseId: random.Uint64() >> random.IntN(64)}
			switch random.IntN(5) {
			case 0:
				r.Answer = errorOf(checkerv1.CaseErrorCode(random.IntN(5)), word(), word())
			case 1:
			default:
				r.Answer = outcomeOf(word(), word(), word())
			}
			for range random.IntN(3) {
				r.StubsUsed = append(r.StubsUsed, word())
			}
			m.Results = append(m.Results, r)
		}
		checkAnswers(t, m)
	}
}

// R25: a small message cannot unfold into a large list: no more results than can be unanswered, no more stubs than a case
// can carry.
func TestAnswersAreBounded(t *testing.T) {
	used := strings.Repeat("\x22\x00", 100_000) // stubs_used, each empty
	result := protowire.AppendString([]byte{0x0A}, used)
	for name, b := range map[string][]byte{
		"results":    []byte(strings.Repeat("\x0a\x00", 100_000)),
		"stubs used": result,
	} {
		t.Run(name, func(t *testing.T) {
			var in answers
			if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &in); err == nil {
				t.Errorf("%d bytes became %d answers and no error", len(b), len(in.list))
			}
			if len(in.list) > 4096 {
				t.Errorf("%d bytes became %d answers", len(b), len(in.list))
			}
		})
	}
}

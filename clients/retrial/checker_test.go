package retrial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/testing/protocmp"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// odd answers by what the input says.
type odd struct{}

func (odd) Describe() Description {
	return Description{Name: "odd", Version: "1", Verdicts: []string{"a"}, CallsStubs: true, Parameters: []Parameter{
		{Name: "limit", Default: 3, Description: "a limit"}, {Name: "ratio", Default: 0.5}, {Name: "strict", Default: false}, {Name: "word", Default: "w"},
	}}
}

func (odd) Check(_ context.Context, c *Case) (Outcome, error) {
	what, _ := c.Value("what")
	switch string(what) {
	case `"panic"`:
		panic("out of cheese")
	case `"error"`:
		return Outcome{}, errors.New("cannot say")
	case `"input"`:
		var v struct{ What int }
		return Outcome{}, c.Decode(&v)
	case `"swallow"`:
		_, _ = c.Stub("missing")
		return Outcome{Verdict: "a"}, nil
	case `"none"`:
		return Outcome{}, nil
	case `"stub"`:
		var v string
		err := c.DecodeStub("classify", &v)
		return Outcome{Verdict: "a", ReasonCode: v, Output: []byte(`{"x":1}`)}, err
	case `"handle"`:
		return Outcome{Verdict: c.Handle()}, nil
	case `"unknown parameter"`:
		return Outcome{Verdict: c.String("nope")}, nil
	}
	return Outcome{Verdict: "a", ReasonCode: fmt.Sprintf("%d %g %t %s", c.Int("limit"), c.Float("ratio"), c.Bool("strict"), c.String("word"))}, nil
}

// client speaks to a checker with the standard codec and the generated messages: the SDK's own codec must be the same on
// the wire.
func client(t *testing.T) checkerv1.CheckerServiceClient {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(serverOptions()...)
	checkerv1.RegisterCheckerServiceServer(s, &service{checker: odd{}})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := conn.Close()
		s.Stop()
		if err := errors.Join(err, <-done); err != nil {
			t.Error(err)
		}
	})
	return checkerv1.NewCheckerServiceClient(conn)
}

// ask opens a stream, sends the requests and collects all results by case.
func ask(t *testing.T, requests ...*checkerv1.CheckRequest) (map[uint64]*checkerv1.Result, error) {
	t.Helper()
	stream, err := client(t).Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if err := stream.Send(r); err != nil && err != io.EOF { //nolint:errorlint // gRPC gives it bare
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	out := map[uint64]*checkerv1.Result{}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		for _, r := range res.GetResults() {
			if out[r.GetCaseId()] != nil {
				t.Errorf("case %d was answered twice", r.GetCaseId())
			}
			out[r.GetCaseId()] = r
		}
	}
}

func opened(parameters map[string][]byte) *checkerv1.CheckRequest {
	return &checkerv1.CheckRequest{Open: &checkerv1.Open{Parameters: parameters}}
}

func asked(id uint64, what string, stubs ...*checkerv1.Stub) *checkerv1.Case {
	return &checkerv1.Case{CaseId: id, Input: []byte(`{"what":"` + what + `"}`), Stubs: stubs}
}

// The handle of a case is its id in decimal, whatever its size, and that of the case alone.
func TestHandle(t *testing.T) {
	ids := []uint64{1, 127, 128, 1 << 53, 1<<63 + 9, 1<<64 - 1}
	batch := &checkerv1.CheckRequest{}
	for _, id := range ids {
		batch.Cases = append(batch.Cases, asked(id, "handle"))
	}
	got, err := ask(t, opened(nil), batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if v := got[id].GetOutcome().GetVerdict(); v != fmt.Sprint(id) {
			t.Errorf("case %d has the handle %q", id, v)
		}
	}
}

// Each case gets its own answer: a panic, an error or a missing stub ends that case and no other. R19: a stub that is not
// there is never answered by a default, even if the checker swallows the error.
func TestR19EachCaseIsAnsweredForItself(t *testing.T) {
	classify := &checkerv1.Stub{Call: "classify", Value: []byte(`"fact"`)}
	got, err := ask(t, opened(map[string][]byte{"limit": []byte("7")}),
		&checkerv1.CheckRequest{Cases: []*checkerv1.Case{asked(1, "plain"), asked(2, "panic"), asked(3, "error"), asked(4, "input"), asked(5, "swallow", classify)}},
		&checkerv1.CheckRequest{Cases: []*checkerv1.Case{asked(6, "none"), asked(7, "stub", classify), asked(8, "stub"), asked(9, "unknown parameter")}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]*checkerv1.Result{
		1: {CaseId: 1, Answer: &checkerv1.Result_Outcome{Outcome: &checkerv1.Outcome{Verdict: "a", ReasonCode: "7 0.5 false w"}}},
		7: {CaseId: 7, Answer: &checkerv1.Result_Outcome{Outcome: &checkerv1.Outcome{Verdict: "a", ReasonCode: "fact", Output: []byte(`{"x":1}`)}}, StubsUsed: []string{"classify"}},
	}
	for id, w := range want {
		if diff := cmp.Diff(w, got[id], protocmp.Transform()); diff != "" {
			t.Errorf("case %d: %s", id, diff)
		}
	}
	for id, w := range map[uint64]struct {
		code checkerv1.CaseErrorCode
		says string
	}{
		2: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_INTERNAL, "panic: out of cheese"},
		3: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_INTERNAL, "cannot say"},
		4: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_INVALID_INPUT, "input: "},
		5: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, `"missing"`},
		6: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_INTERNAL, "no verdict"},
		8: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, `"classify"`},
		9: {checkerv1.CaseErrorCode_CASE_ERROR_CODE_INTERNAL, `declares no parameter "nope"`},
	} {
		if e := got[id].GetError(); e.GetCode() != w.code || !strings.Contains(e.GetMessage(), w.says) {
			t.Errorf("case %d: got %v, want %s, %q", id, got[id], w.code, w.says)
		}
	}
	if call := got[8].GetError().GetCall(); call != "classify" {
		t.Errorf("the missing call is %q", call)
	}
}

func TestCheckRefusesBadStreams(t *testing.T) {
	one := &checkerv1.CheckRequest{Cases: []*checkerv1.Case{asked(1, "plain")}}
	for name, requests := range map[string][]*checkerv1.CheckRequest{
		"no opening":             {one},
		"two openings":           {opened(nil), opened(nil)},
		"an opening with cases":  {{Open: &checkerv1.Open{}, Cases: one.Cases}},
		"an empty request":       {opened(nil), {}},
		"an unknown parameter":   {opened(map[string][]byte{"nope": []byte("1")})},
		"a parameter of no type": {opened(map[string][]byte{"limit": []byte(`"x"`)})},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ask(t, requests...); status.Code(err) != codes.InvalidArgument {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	got, err := client(t).Describe(context.Background(), &checkerv1.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetName() != "odd" || got.GetContractVersion() != 1 || !got.GetCallsStubs() || len(got.GetParameters()) != 4 {
		t.Errorf("got %v", got)
	}
	if p := got.GetParameters()[0]; p.GetType() != checkerv1.ParameterType_PARAMETER_TYPE_INTEGER || string(p.GetDefaultJson()) != "3" || p.GetDescription() != "a limit" {
		t.Errorf("got %v", p)
	}
	for name, d := range map[string]Description{"no name": {Version: "1"}, "no version": {Name: "x"}, "no default": {Name: "x", Version: "1", Parameters: []Parameter{{Name: "p"}}}} {
		if check(d) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// What is missing, null or of another type is said by name, and never taken for a zero.
func TestMember(t *testing.T) {
	c, err := NewCase(odd{}, []byte(`{"age":7,"Age":8,"none":null,"scope":{"user":"u"},"big":9007199254740993}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Member[int](c, "age"); err != nil || v != 7 {
		t.Errorf("got %d, %v", v, err)
	}
	if v, err := Member[string](c, "scope", "user"); err != nil || v != "u" {
		t.Errorf("got %q, %v", v, err)
	}
	if v, err := Member[*int](c, "none"); err != nil || v != nil {
		t.Errorf("got %v, %v", v, err)
	}
	if v, err := Member[int64](c, "big"); err != nil || v != 9007199254740993 {
		t.Errorf("got %d, %v", v, err)
	}
	for name, tt := range map[string]struct {
		err  error
		says string
	}{
		"missing":      {second(Member[int](c, "AGE")), `member "AGE" is missing: expected int`},
		"missing deep": {second(Member[int](c, "scope", "x")), `member "scope.x" is missing`},
		"null":         {second(Member[int](c, "none")), `member "none" is null: expected int`},
		"another type": {second(Member[bool](c, "age")), `member "age" is 7: expected bool`},
	} {
		var input *InputError
		if !errors.As(tt.err, &input) || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("%s: got %v", name, tt.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestNewCase(t *testing.T) {
	c, err := NewCase(odd{}, []byte(`{"what": "stub"}`), map[string]string{"classify": `"fact"`}, map[string]string{"limit": "9"})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := (odd{}).Check(context.Background(), c); err != nil || o.ReasonCode != "fact" || c.Int("limit") != 9 {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := NewCase(odd{}, []byte(`{`), nil, nil); err == nil {
		t.Error("an input that is no JSON was accepted")
	}
	if _, err := NewCase(odd{}, []byte(`{}`), nil, map[string]string{"nope": "1"}); err == nil {
		t.Error("an unknown parameter was accepted")
	}
}

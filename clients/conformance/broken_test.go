//go:build linux

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// TestMain lets the test binary be a checker that is broken in one way: `BINARY broken MODE`.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "broken" {
		os.Exit(serveBroken(os.Args[2]))
	}
	os.Exit(m.Run())
}

// broken implements the contract by hand, and breaks it in its mode. Its rule: "keep" below the limit and "drop" from there on;
// an even "n" needs the stub "kind".
type broken struct {
	checkerv1.UnimplementedCheckerServiceServer
	mode      string
	described atomic.Int64

	mu     sync.Mutex
	cached map[uint64]*checkerv1.Result
}

func (b *broken) Describe(context.Context, *checkerv1.DescribeRequest) (*checkerv1.DescribeResponse, error) {
	d := &checkerv1.DescribeResponse{Name: "broken", Version: "1", BuildDigest: "sha256:x", ContractVersion: 1, CallsStubs: true,
		Verdicts: []string{"keep", "drop"}, ReasonCodes: []string{"new", "old", "asked"},
		Parameters: []*checkerv1.Parameter{{Name: "limit", Type: checkerv1.ParameterType_PARAMETER_TYPE_INTEGER, DefaultJson: []byte("10")}}}
	switch b.mode {
	case "word-twice":
		d.ReasonCodes = append(d.ReasonCodes, "new")
	case "no-build":
		d.BuildDigest = ""
	case "silent-stubs":
		d.CallsStubs = false
	case "few-words":
		d.Verdicts = d.Verdicts[:1]
	case "open-reasons":
		d.ReasonCodes = nil
	case "parameter-ignored":
		d.Parameters = append(d.Parameters, &checkerv1.Parameter{Name: "unused", Type: checkerv1.ParameterType_PARAMETER_TYPE_INTEGER, DefaultJson: []byte("1")})
	case "slow-describe":
		if n := b.described.Add(1); n > 20 && n < 28 { // about where it is timed, three times
			time.Sleep(1100 * time.Millisecond)
		}
	}
	return d, nil
}

func (b *broken) Check(stream grpc.BidiStreamingServer[checkerv1.CheckRequest, checkerv1.CheckResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	limit, err := b.limit(first)
	if err != nil {
		return err
	}
	s := &brokenStream{b: b, limit: limit, stubs: map[string]string{}}
	var late []*checkerv1.CheckResponse
	if len(first.GetCases()) > 0 {
		if err := stream.Send(s.answer(first.GetCases())); err != nil {
			return err
		}
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			for _, res := range late {
				if err := stream.Send(res); err != nil {
					return err
				}
			}
			return nil
		}
		if err != nil {
			if b.mode == "dies-on-cancel" {
				os.Exit(3)
			}
			return err
		}
		res := s.answer(req.GetCases())
		if b.mode == "waits-for-close" {
			late = append(late, res)
			continue
		}
		if err := stream.Send(res); err != nil {
			return err
		}
	}
}

func (b *broken) limit(first *checkerv1.CheckRequest) (int, error) {
	if first.GetOpen() == nil && b.mode != "open-optional" {
		return 0, status.Error(codes.InvalidArgument, "no open")
	}
	limit := 10
	if b.mode == "other-default" {
		limit = 12
	}
	for name, value := range first.GetOpen().GetParameters() {
		n, err := strconv.Atoi(string(value))
		switch {
		case name == "limit" && err == nil:
			limit = n
		case name == "limit" && b.mode != "any-type", name != "limit" && name != "unused" && b.mode != "any-parameter":
			return 0, status.Errorf(codes.InvalidArgument, "parameter %s = %s", name, value)
		}
	}
	return limit, nil
}

// brokenStream is one stream of cases.
type brokenStream struct {
	b     *broken
	limit int
	stubs map[string]string
}

func (s *brokenStream) answer(cases []*checkerv1.Case) *checkerv1.CheckResponse {
	res := &checkerv1.CheckResponse{}
	for i, c := range cases {
		r := s.one(i, c)
		r.CaseId = c.GetCaseId()
		if s.b.mode == "ids-53" {
			r.CaseId &= 1<<53 - 1
		}
		res.Results = append(res.Results, r)
	}
	if n := len(cases); n >= 2048 && s.b.mode == "twice-when-many" {
		res.Results = append(res.Results, res.Results[0])
	} else if n >= 2048 && s.b.mode == "loses-when-many" {
		res.Results = res.Results[1:]
	}
	return res
}

func failed(code checkerv1.CaseErrorCode, call, message string) *checkerv1.Result {
	return &checkerv1.Result{Answer: &checkerv1.Result_Error{Error: &checkerv1.CaseError{Code: code, Call: call, Message: message}}}
}

func (s *brokenStream) one(i int, c *checkerv1.Case) *checkerv1.Result {
	mode := s.b.mode
	var in struct{ N *int }
	err := json.Unmarshal(c.GetInput(), &in)
	switch {
	case mode == "dies-on-empty" && len(c.GetInput()) == 0:
		os.Exit(3)
	case mode == "small-inputs" && len(c.GetInput()) > 1<<19:
		os.Exit(3)
	case mode == "takes-arrays" && string(c.GetInput()) == "[]":
		return outcome("keep", "new")
	case mode == "no-message" && err != nil:
		return failed(checkerv1.CaseErrorCode_CASE_ERROR_CODE_INVALID_INPUT, "", "")
	}
	if err != nil || in.N == nil {
		return failed(checkerv1.CaseErrorCode_CASE_ERROR_CODE_INVALID_INPUT, "", "no n")
	}
	r := s.decide(i, *in.N, c)
	if mode == "remembers-ids" {
		s.b.mu.Lock()
		defer s.b.mu.Unlock()
		if old := s.b.cached[c.GetCaseId()]; old != nil {
			return old
		}
		s.b.cached[c.GetCaseId()] = r
	}
	return r
}

func outcome(verdict, reason string, used ...string) *checkerv1.Result {
	return &checkerv1.Result{Answer: &checkerv1.Result_Outcome{Outcome: &checkerv1.Outcome{Verdict: verdict, ReasonCode: reason}}, StubsUsed: used}
}

func (s *brokenStream) decide(i, n int, c *checkerv1.Case) *checkerv1.Result {
	mode := s.b.mode
	var used []string
	if n%2 == 0 && mode != "unused-stubs" {
		value, ok := "", false
		for _, st := range c.GetStubs() {
			if st.GetCall() == "kind" {
				value, ok = string(st.GetValue()), true
			}
		}
		if mode == "leaks-stubs" {
			if ok {
				s.stubs["kind"] = value
			}
			value, ok = s.stubs["kind"], s.stubs["kind"] != ""
		}
		if !ok && mode != "default-stub" {
			return failed(checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, "kind", "no stub")
		}
		if used = []string{"kind"}; value != `"x"` {
			return outcome("keep", "asked", used...)
		}
	}
	if mode == "all-stubs-used" {
		used = nil
		for _, st := range c.GetStubs() {
			used = append(used, st.GetCall())
		}
	}
	verdict, reason := "keep", "new"
	if n >= s.limit {
		verdict, reason = "drop", "old"
	}
	set := func(name string) bool { return os.Getenv(name) != "" }
	switch {
	case mode == "undeclared-verdict" && s.limit == 0:
		verdict = "maybe"
	case mode == "undeclared-reason" && s.limit == 0:
		reason = "odd"
	case mode == "by-position" && i == 0, mode == "by-id" && c.GetCaseId()%2 == 0,
		mode == "by-zone" && os.Getenv("TZ") != "UTC", mode == "by-locale" && set("LC_ALL"), mode == "by-seed" && set("PYTHONHASHSEED"),
		mode == "by-processors" && set("GOMAXPROCS"), mode == "by-variable" && set("DEBUG"), mode == "by-network" && !loopback(),
		mode == "reads-lazily" && !readable("/etc/passwd"), mode == "by-day" && time.Now().Unix()/86400/400%2 == 0: // 400 days are the next one
		reason = "asked"
	}
	return outcome(verdict, reason, used...)
}

func readable(file string) bool {
	_, err := os.ReadFile(file)
	return err == nil
}

// loopback says whether there is a network.
func loopback() bool {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	return err == nil && conn.Close() == nil
}

// serveBroken serves as a host wants it, but for what its mode breaks.
func serveBroken(mode string) int {
	address, cookie := os.Getenv("RETRIAL_LISTEN"), os.Getenv("RETRIAL_CHECKER") != ""
	switch {
	case cookie:
		address = filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "c")
	case address != "" && mode != "never-listens":
		address = strings.TrimPrefix(address, "unix:")
	case mode == "by-hand-fine":
		return 0
	case mode == "by-hand-waits":
		time.Sleep(time.Hour)
	default:
		fmt.Fprintln(os.Stderr, "a checker")
		return 2
	}
	l, err := net.Listen("unix", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := around(mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(32 << 20))
	checkerv1.RegisterCheckerServiceServer(s, &broken{mode: mode, cached: map[uint64]*checkerv1.Result{}})
	if mode != "dies-on-interrupt" {
		signal.Ignore(os.Interrupt)
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		for range told {
			switch mode {
			case "ignores-sigterm":
			case "fails-on-sigterm":
				os.Exit(7)
			case "dies-on-cancel":
				os.Exit(0)
			default:
				time.AfterFunc(time.Second, s.Stop)
				s.GracefulStop()
			}
		}
	}()
	if cookie {
		fmt.Printf("1|1|unix|%s|grpc|\n", address)
	}
	if mode == "prints" {
		fmt.Println("ready")
	}
	if err := s.Serve(l); err != nil {
		return 1
	}
	return 0
}

// around does what a checker should not do beside deciding.
func around(mode string) (err error) {
	home := os.Getenv("HOME")
	switch mode {
	case "opens-socket":
		_, _ = net.Listen("tcp", "127.0.0.1:0") // where it gets none it does without
	case "leaves-file":
		_ = os.WriteFile(filepath.Join(home, "cache"), []byte("x"), 0o600) // there may be no home
	case "writes-file":
		if f, err := os.CreateTemp(home, "log"); err == nil { // there may be no home
			kept = append(kept, f)
		}
	case "has-child":
		err = exec.Command("sleep", "60").Start()
	case "leaves-daemon":
		cmd := exec.Command("setsid", "sleep", "20")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = cmd.Start()
	}
	return err
}

var kept []*os.File // open for as long as the process lives

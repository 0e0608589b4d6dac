//go:build linux

package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// TestMain lets the test binary be a checker: a host starts it again as `BINARY faulty MODE PIDFILE [ARGUMENT…]`.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "faulty" {
		os.Exit(faulty(process{mode: os.Args[2], pids: os.Args[3], args: os.Args[4:]}))
	}
	if len(os.Args) == 3 && os.Args[1] == "sdk" {
		os.Exit(retrial.Serve(sdk{mode: os.Args[2]}))
	}
	if len(os.Args) > 2 && os.Args[1] == "asks-model" {
		os.Exit(retrial.Serve(asksModel{os.Args[2]}))
	}
	os.Exit(m.Run())
}

// The sets of these tests. Fixture n of a set has the id f-NNNNN and the member "n" in its input.
const (
	plainSet     = "plain"   // without stubs
	stubbedSet   = "stubbed" // each fixture with a stub for the call "classify"
	plainCount   = 300
	stubbedCount = 40
	marked       = 137 // the fixture that most faults are about

	messageBytes = 2 << 20 // what the server takes and sends at most, so that a large decision need not be huge
)

func fixtureID(n int) string { return fmt.Sprintf("f-%05d", n) }

// right is the decision that every fixture records.
func right(n int) *checkerv1.Outcome {
	switch {
	case n%10 == 3:
		return &checkerv1.Outcome{Verdict: "drop", ReasonCode: "spam"}
	case n*7%60 > 30:
		return &checkerv1.Outcome{Verdict: "drop", ReasonCode: "old"}
	default:
		return &checkerv1.Outcome{Verdict: "keep", ReasonCode: "fresh"}
	}
}

func fixtureDocument(n int) []byte {
	o := right(n)
	return fmt.Appendf(nil, `{"fixture_id":%q,"source_row_id":"row-%d","verdict":%q,"reason_code":%q,"decided_at":"2026-02-14T09:12:00Z","scope":{"queue":"inbox"},"n":%d,"text":%q}`,
		fixtureID(n), n, o.GetVerdict(), o.GetReasonCode(), n, strings.Repeat("the frozen text of a case ", 20))
}

// bench is a real server behind a listener in memory, with both sets in its store.
type bench struct {
	conn *grpc.ClientConn
	dial func(*testing.T) *grpc.ClientConn // makes a connection of its own, for the caller to close
	good string                            // address of a checker in this process that reproduces both sets
	dir  string                            // for pid files

	server  *server.Server
	sockets string // a directory for sockets, empty when the test has ended
}

// newBench starts a server with these checkers. Once the test and all below it have ended, it holds that no process, no
// goroutine and no socket of theirs is left.
func newBench(t *testing.T, checkers func(*bench) map[string]server.CheckerConfig) *bench {
	t.Helper()
	return newBenchAt(t, nil, checkers, func(*server.Config) {})
}

// newBenchAt is newBench by a clock of the test's own, where it gives one, and with another configuration.
func newBenchAt(t *testing.T, clock server.Clock, checkers func(*bench) map[string]server.CheckerConfig, change func(*server.Config)) *bench {
	t.Helper()
	sockets, err := os.MkdirTemp("", "rt-")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: t.TempDir(), sockets: sockets}
	t.Setenv("TMPDIR", sockets)
	checkNothingLeft(t, sockets)

	c := server.Config{DialAllow: []string{"*"}, Checkers: checkers(b), Limits: server.Limits{Replays: 32, MessageBytes: messageBytes}}
	change(&c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	reached := server.NewCheckers(c)
	if clock != nil {
		reached = server.NewCheckersAt(c, clock)
	}
	store, err := fixturestore.Open(filepath.Join(b.dir, "retrial.db"), fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(c, server.Parts{Store: store, Checkers: reached, Log: zap.NewNop(), Conformance: conforms})
	if err != nil {
		t.Fatal(err)
	}
	b.server = s
	l := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	b.dial = func(t *testing.T) *grpc.ClientConn {
		t.Helper()
		conn, err := grpc.NewClient("passthrough:bench", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	b.conn = b.dial(t)
	b.good = goodChecker(t, filepath.Join(sockets, "good"))
	t.Cleanup(func() {
		for _, end := range []func() error{b.conn.Close, s.Stop, func() error { return <-served }, store.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	b.push(t, plainSet, plainCount, nil)
	b.push(t, stubbedSet, stubbedCount, func(n int) []byte {
		return fmt.Appendf(nil, `{"fixture_id":%q,"call":"classify","value":{"label":%q}}`, fixtureID(n), right(n).GetReasonCode())
	})
	return b
}

// goodChecker serves the raw contract in this process, at a unix socket.
func goodChecker(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	checkerv1.RegisterCheckerServiceServer(s, &faultyService{name: "good", behaviour: behaviours["right"]})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "unix:" + path
}

// push commits a set of n fixtures.
func (b *bench) push(t *testing.T, set string, n int, stub func(n int) []byte) {
	t.Helper()
	stream, err := fixturev1.NewFixtureServiceClient(b.conn).CommitVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep", ReasonCodes: []string{"fresh", "old", "spam"}}}
	entries := &fixturev1.CommitEntries{}
	for i := range n {
		e := &fixturev1.CommitEntry{Fixture: fixtureDocument(i)}
		if stub != nil {
			e.Stubs = [][]byte{stub(i)}
		}
		entries.Entries = append(entries.Entries, e)
	}
	for _, part := range []*fixturev1.CommitVersionRequest{
		{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: set, Author: "test", Reason: "test", Config: config}}},
		{Part: &fixturev1.CommitVersionRequest_Entries{Entries: entries}},
		{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: uint64(n)}}},
	} {
		if err := stream.Send(part); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
}

// command makes a checker of this test binary, with a pid file named for the entry that it stands under.
func (b *bench) command(entry, mode string, args ...string) server.CheckerConfig {
	return server.CheckerConfig{
		Sandbox: "off", Command: append([]string{os.Args[0], "faulty", mode, b.pids(entry)}, args...),
		Env: []string{"GORACE=atexit_sleep_ms=0"}, // a program with the race detector would take a second to exit
	}
}

func (b *bench) pids(entry string) string { return filepath.Join(b.dir, entry+".pids") }

// trial is a replay that has come to its end.
type trial struct {
	findings []*gatev1.Finding
	decision *gatev1.Decision
	err      error
}

func named(name string) *replayv1.CheckerRef {
	return &replayv1.CheckerRef{Checker: &replayv1.CheckerRef_Name{Name: name}}
}

func dialled(address string) *replayv1.CheckerRef {
	return &replayv1.CheckerRef{Checker: &replayv1.CheckerRef_Address{Address: address}}
}

// replay runs a request for a release to its end.
func (b *bench) replay(t *testing.T, release string, req *replayv1.ReplayRequest) trial {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req.Release = release
	if req.CaseTimeout == nil {
		req.CaseTimeout = durationpb.New(20 * time.Second)
	}
	r, err := retrial.StartReplay(ctx, b.conn, req)
	if err != nil {
		return trial{err: err}
	}
	var out trial
	for event := range r.Events() {
		if f := event.GetFinding(); f != nil {
			out.findings = append(out.findings, f)
		}
	}
	out.decision, out.err = r.Decision()
	if ctx.Err() != nil {
		out.err = fmt.Errorf("the replay did not end within a minute: %w", out.err)
	}
	return out
}

// standing asks the gate for the test's release.
func (b *bench) standing(t *testing.T, set, release string) *gatev1.SetStanding {
	t.Helper()
	res, err := gatev1.NewGateServiceClient(b.conn).GetGateStatus(t.Context(), &gatev1.GetGateStatusRequest{Release: release, Sets: []string{set}})
	if err != nil {
		t.Fatalf("ask the gate for %s: %v", release, err)
	}
	return res.GetSets()[0]
}

// maxSaid bounds every message about a checker, in bytes.
const maxSaid = 8 << 10

// checkSaid holds that a message is fit for a terminal, whatever the checker said.
func checkSaid(t *testing.T, message string) {
	t.Helper()
	if len(message) > maxSaid {
		t.Errorf("a message has %d bytes, over the limit of %d: %.200q…", len(message), maxSaid, message)
	}
	if !utf8.ValidString(message) {
		t.Errorf("a message is not valid UTF-8: %q", message)
	}
	if i := strings.IndexFunc(message, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	}); i >= 0 {
		t.Errorf("a message has control characters from byte %d on: %q", i, message)
	}
}

// checkSays holds that one of the messages has all of the words.
func checkSays(t *testing.T, messages []string, words []string) {
	t.Helper()
	if !slices.ContainsFunc(messages, func(m string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m, w) })
	}) {
		t.Errorf("no message says %q; there is:\n%s", words, strings.Join(messages, "\n"))
	}
}

// checkNoPass holds that nothing can read a replay as a pass (R29): neither its decision nor the gate.
func (b *bench) checkNoPass(t *testing.T, set string, r trial) {
	t.Helper()
	if retrial.Passed(r.decision) || r.decision.GetRuling() == gatev1.Ruling_RULING_PASS {
		t.Errorf("the ruling is a pass: %s", r.decision.GetSummary())
	}
	if res := b.standing(t, set, t.Name()); res.GetStatus() == gatev1.Status_STATUS_PASS {
		t.Errorf("the gate says %s for the release", res.GetStatus())
	}
}

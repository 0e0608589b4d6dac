package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/wire"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// house is a server that knows its callers, over a set "notes" of 20 fixtures, with a checker in this process: it keeps what
// is older than its parameter "limit" says.
type house struct {
	conn    *grpc.ClientConn
	clock   *clock
	tokens  map[string]string // by name; the name is the role's, but for ada, an author and approver, and ann, another author
	file    string            // of the tokens
	path    string            // of the store
	checker *limitChecker
	store   *fixturestore.Store
	config  server.Config
	stop    func()
	dial    func(context.Context) (net.Conn, error)
	log     *zap.Logger // nil logs nothing
}

// limitChecker implements the contract: "keep" below the limit, "drop" from there on. It waits for hold, where that is set.
type limitChecker struct {
	checkerv1.UnimplementedCheckerServiceServer
	mu   sync.Mutex
	hold chan struct{}
}

func (c *limitChecker) wait(ctx context.Context) {
	c.mu.Lock()
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
}

func (c *limitChecker) stopAnswers() (goOn func()) {
	hold := make(chan struct{})
	c.mu.Lock()
	c.hold = hold
	c.mu.Unlock()
	return sync.OnceFunc(func() {
		c.mu.Lock()
		c.hold = nil
		c.mu.Unlock()
		close(hold)
	})
}

func (c *limitChecker) Describe(context.Context, *checkerv1.DescribeRequest) (*checkerv1.DescribeResponse, error) {
	return &checkerv1.DescribeResponse{Name: "limit", Version: "1", BuildDigest: "sha256:limit", ContractVersion: 1,
		Parameters: []*checkerv1.Parameter{{Name: "limit", Type: checkerv1.ParameterType_PARAMETER_TYPE_INTEGER, DefaultJson: []byte("10")}}}, nil
}

func (c *limitChecker) Check(stream grpc.BidiStreamingServer[checkerv1.CheckRequest, checkerv1.CheckResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(string(first.GetOpen().GetParameters()["limit"]))
	if err != nil {
		return err
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.wait(stream.Context())
		res := &checkerv1.CheckResponse{}
		for _, one := range req.GetCases() {
			var input struct{ N int }
			if err := json.Unmarshal(one.GetInput(), &input); err != nil {
				return err
			}
			o := &checkerv1.Outcome{Verdict: "keep", ReasonCode: "new"}
			if input.N >= limit {
				o = &checkerv1.Outcome{Verdict: "drop", ReasonCode: "old"}
			}
			res.Results = append(res.Results, &checkerv1.Result{CaseId: one.GetCaseId(), Answer: &checkerv1.Result_Outcome{Outcome: o}})
		}
		if err := stream.Send(res); err != nil {
			return err
		}
	}
}

// newHouse starts one. change may alter its configuration.
func newHouse(t *testing.T, change func(*server.Config)) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{clock: &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, tokens: map[string]string{}, file: filepath.Join(dir, "tokens.yaml"),
		path: filepath.Join(dir, "retrial.db"), checker: &limitChecker{}}
	h.writeTokens(t)
	h.config = server.Config{Auth: server.AuthConfig{Tokens: h.file}, Checkers: map[string]server.CheckerConfig{"limit": {Address: h.serveChecker(t)}}}
	if change != nil {
		change(&h.config)
	}
	h.start(t)
	h.push(t, "author", 0, nil, ids(0, 20)...)
	return h
}

func (h *house) writeTokens(t *testing.T) {
	t.Helper()
	var all []server.Token
	for name, roles := range map[string][]server.Role{
		"reader": {server.Reader}, "submitter": {server.Submitter}, "author": {server.Author}, "approver": {server.Approver}, "registrar": {server.Registrar},
		"auditor": {server.Auditor}, "admin": {server.Admin}, "ada": {server.Author, server.Approver}, "other": {server.Submitter},
	} {
		secret, token, err := server.NewToken(name, roles, h.clock.now().Add(30*24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		h.tokens[name] = secret
		all = append(all, token)
	}
	if err := server.WriteTokens(h.file, all); err != nil {
		t.Fatal(err)
	}
}

func (h *house) serveChecker(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rh-") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "c"))
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	checkerv1.RegisterCheckerServiceServer(s, h.checker)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return "unix:" + l.Addr().String()
}

// start starts the server over its store. stop, which the end of the test calls too, ends it.
func (h *house) start(t *testing.T) {
	t.Helper()
	if err := h.config.Validate(); err != nil {
		t.Fatal(err)
	}
	store, key, err := server.OpenStore(h.path, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(h.config, server.Parts{Store: store, Checkers: server.NewCheckers(h.config), Key: key, Log: cmp.Or(h.log, zap.NewNop()), Now: h.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	h.store = store
	var l net.Listener
	l, h.dial = h.listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	h.conn, err = grpc.NewClient("passthrough:house", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return h.dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	h.stop = sync.OnceFunc(func() {
		for _, end := range []func() error{h.conn.Close, s.Stop, func() error { return <-served }, store.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() { h.stop() })
}

// listen gives a listener in memory, or at the address of the configuration if it has one.
func (h *house) listen(t *testing.T) (net.Listener, func(context.Context) (net.Conn, error)) {
	t.Helper()
	if h.config.Listen == "" {
		l := bufconn.Listen(1 << 20)
		return l, l.DialContext
	}
	l, err := wire.Listen(t.Context(), h.config.Listen)
	if err != nil {
		t.Fatal(err)
	}
	return l, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}
}

// as gives a context for a call by somebody.
func (h *house) as(t testing.TB, name string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+h.tokens[name])
}

func ids(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// push commits the fixtures with these numbers as the version behind parent.
func (h *house) push(t *testing.T, by string, parent uint64, change func(*fixturev1.CommitHeader), numbers ...int) *fixturev1.Version {
	t.Helper()
	v, err := h.tryPush(t, by, parent, change, numbers...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h *house) tryPush(t *testing.T, by string, parent uint64, change func(*fixturev1.CommitHeader), numbers ...int) (*fixturev1.Version, error) {
	t.Helper()
	var entries []*fixturev1.CommitEntry
	for _, n := range numbers {
		verdict, reason := "keep", "new"
		if n >= 10 {
			verdict, reason = "drop", "old"
		}
		entries = append(entries, &fixturev1.CommitEntry{Fixture: fmt.Appendf(nil,
			`{"fixture_id":"n-%02d","source_row_id":"row-%d","verdict":%q,"reason_code":%q,"decided_at":"2026-02-14T09:12:00Z","N":%d}`, n, n, verdict, reason, n)})
	}
	return h.commit(t, by, parent, change, entries)
}

// commit commits these entries as the version behind parent.
func (h *house) commit(t *testing.T, by string, parent uint64, change func(*fixturev1.CommitHeader), entries []*fixturev1.CommitEntry) (*fixturev1.Version, error) {
	t.Helper()
	header := &fixturev1.CommitHeader{Set: "notes", Parent: parent, Author: "somebody", Reason: "test", RemovalReason: "test",
		Config: &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"keep", "drop"}, Permissive: "keep"}}}
	if change != nil {
		change(header)
	}
	stream, err := fixturev1.NewFixtureServiceClient(h.conn).CommitVersion(h.as(t, by))
	if err != nil {
		return nil, err
	}
	for _, part := range []*fixturev1.CommitVersionRequest{
		{Part: &fixturev1.CommitVersionRequest_Header{Header: header}},
		{Part: &fixturev1.CommitVersionRequest_Entries{Entries: &fixturev1.CommitEntries{Entries: entries}}},
		{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: uint64(len(entries))}}},
	} {
		if err := stream.Send(part); err != nil {
			break // the answer says why
		}
	}
	res, err := stream.CloseAndRecv()
	return res.GetVersion(), err
}

// request asks for a replay of a release against a candidate with this limit: 10 agrees with the set.
func request(release string, limit int) *replayv1.ReplayRequest {
	ref := func(limit int) *replayv1.CheckerRef {
		return &replayv1.CheckerRef{Checker: &replayv1.CheckerRef_Name{Name: "limit"}, Parameters: map[string]string{"limit": strconv.Itoa(limit)}}
	}
	return &replayv1.ReplayRequest{Set: "notes", Release: release, Baseline: ref(10), Candidate: ref(limit)}
}

// run runs a replay to its decision.
func (h *house) run(t *testing.T, req *replayv1.ReplayRequest) *gatev1.Decision {
	t.Helper()
	r, err := retrial.StartReplay(h.as(t, "submitter"), h.conn, req)
	if err != nil {
		t.Fatal(err)
	}
	for range r.Events() {
	}
	d, err := r.Decision()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// status asks how a release stands.
func (h *house) status(t *testing.T, req *gatev1.GetGateStatusRequest) *gatev1.GetGateStatusResponse {
	t.Helper()
	res, err := gatev1.NewGateServiceClient(h.conn).GetGateStatus(h.as(t, "reader"), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// wantStatus holds a standing and, where it is no pass, the code of the set's first cause.
func (h *house) wantStatus(t *testing.T, release string, want gatev1.Status, code string) {
	t.Helper()
	res := h.status(t, &gatev1.GetGateStatusRequest{Release: release, Sets: []string{"notes"}})
	s := res.GetSets()[0]
	if res.GetStatus() != want || code != "" && (len(s.GetCauses()) == 0 || s.GetCauses()[0].GetCode() != code) || code == "" && len(s.GetCauses()) != 0 {
		t.Errorf("%s stands %s: %v; want %s, %s", release, res.GetStatus(), s.GetCauses(), want, code)
	}
}

func errOf[T any](_ T, err error) error { return err }

package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// What a caller began ends with its token, though it is in the middle of it.
func TestCallEndsWithItsToken(t *testing.T) {
	h := newHouse(t, nil)
	secret, token, err := server.NewToken("short", []server.Role{server.Author, server.Reader}, h.clock.now().Add(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	all, err := server.ReadTokens(h.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.WriteTokens(h.file, append(all, token)); err != nil {
		t.Fatal(err)
	}
	h.tokens["short"] = secret
	watch, err := gatev1.NewGateServiceClient(h.conn).WatchGate(h.as(t, "short"), &gatev1.WatchGateRequest{Release: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := fixturev1.NewFixtureServiceClient(h.conn).CommitVersion(h.as(t, "short"))
	if err != nil {
		t.Fatal(err)
	}
	if err := commit.Send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: "other", Author: "x", Reason: "r",
		Config: &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"a", "b"}, Permissive: "a"}}}}}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = watch.Recv()
	}
	wantStatusCode(t, err, codes.Unauthenticated, "has expired")
	<-time.After(200 * time.Millisecond) // the commit began a little later than the watch
	for _, part := range []*fixturev1.CommitVersionRequest{
		{Part: &fixturev1.CommitVersionRequest_Entries{Entries: &fixturev1.CommitEntries{Entries: []*fixturev1.CommitEntry{{Fixture: []byte(`{"fixture_id":"f","source_row_id":"r","verdict":"a","decided_at":"2026-01-01T00:00:00Z","x":1}`)}}}}},
		{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: 1}}},
	} {
		if commit.Send(part) != nil {
			break // the answer says why
		}
	}
	_, err = commit.CloseAndRecv()
	wantStatusCode(t, err, codes.Unauthenticated, "has expired")
}

// Two tokens of one name are one caller's, who is never both approver and submitter.
func TestRolesOfOneCallerAreJoined(t *testing.T) {
	h := newHouse(t, nil)
	var tokens []server.Token
	for _, r := range []server.Role{server.Approver, server.Submitter} {
		_, token, err := server.NewToken("both", []server.Role{r}, h.clock.now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	if err := server.WriteTokens(h.file, tokens); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ReadTokens(h.file); err == nil || !strings.Contains(err.Error(), "nobody is both") {
		t.Errorf("got %v", err)
	}
	if err := server.WriteTokens(h.file, tokens[:1]); err != nil {
		t.Fatal(err)
	}
	c := server.Config{TLS: server.TLSConfig{Cert: "c", Key: "k", ClientCA: "a"}, Auth: server.AuthConfig{Tokens: h.file,
		Certificates: []server.CertificateConfig{{Name: "both", Roles: []server.Role{server.Submitter}}}}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "nobody is both") {
		t.Errorf("a token and a certificate: %v", err)
	}
}

// What a run gives is bounded: it stands in the decision, which must be sent.
func TestParametersAreBounded(t *testing.T) {
	h := newHouse(t, nil)
	req := request("v1", 10)
	req.Candidate.Parameters["limit"] = "10" + strings.Repeat(" ", 5000)
	_, err := decision(h, t, "submitter", req)
	if err == nil || !strings.Contains(err.Error(), "over the limit of 4096") {
		t.Errorf("got %v", err)
	}
}

// A position behind the last is no position.
func TestWatchBehindTheEnd(t *testing.T) {
	h := newHouse(t, nil)
	d := h.run(t, request("v1", 10))
	_, err := h.watch(t, d.GetReplayId(), 3, 10)
	wantStatusCode(t, err, codes.InvalidArgument, "2 events")
}

// A stop does not wait for those who watch the gate, and does for a detached replay.
func TestStopEndsWatchersAndWaitsForReplays(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Limits.StopTimeout = time.Hour })
	stream, err := gatev1.NewGateServiceClient(h.conn).WatchGate(h.as(t, "reader"), &gatev1.WatchGateRequest{Release: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	goOn := h.checker.stopAnswers()
	req := request("v1", 10)
	req.Detach = true
	started, leave := h.begin(t, "submitter", req)
	leave()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		h.stop()
	}()
	for err == nil {
		_, err = stream.Recv()
	}
	goOn()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatal("it does not stop")
	}
	h.start(t)
	if r := h.replay(t, started.GetReplayId()); r.GetDecision().GetRuling() != gatev1.Ruling_RULING_PASS {
		t.Errorf("the replay did not come to its end: %v", r)
	}
}

// A registered instance is ended by its lease, or by an admin who has none.
func TestAdminEndsAnInstance(t *testing.T) {
	h := newHouse(t, func(c *server.Config) {
		c.AttachAllow, c.RegisterAllow = []string{"*"}, []string{"*"}
	})
	client := registryv1.NewRegistryServiceClient(h.conn)
	res, err := client.Register(h.as(t, "registrar"), &registryv1.RegisterRequest{Name: "mine", Address: h.config.Checkers["limit"].Address})
	if err != nil {
		t.Fatal(err)
	}
	end := &registryv1.DeregisterRequest{InstanceId: res.GetInstance().GetInstanceId()}
	_, err = client.Deregister(h.as(t, "registrar"), end)
	wantStatusCode(t, err, codes.PermissionDenied, "by an admin")
	if _, err := client.Deregister(h.as(t, "admin"), end); err != nil {
		t.Fatal(err)
	}
	_, err = client.Deregister(h.as(t, "admin"), end)
	wantStatusCode(t, err, codes.NotFound, "no such instance")
	_, err = client.RenewLease(h.as(t, "registrar"), &registryv1.RenewLeaseRequest{LeaseId: res.GetLeaseId()})
	if err == nil {
		t.Error("the lease goes on")
	}
}

// The watch of a replay ends with the caller's context, and says so.
func TestWatchEndsWithItsCaller(t *testing.T) {
	h := newHouse(t, nil)
	defer h.checker.stopAnswers()()
	req := request("v1", 10)
	req.Detach = true
	started, _ := h.begin(t, "submitter", req)
	ctx, cancel := context.WithCancel(h.as(t, "reader"))
	stream, err := replayv1.NewReplayServiceClient(h.conn).WatchReplay(ctx, &replayv1.WatchReplayRequest{ReplayId: started.GetReplayId()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	wantStatusCode(t, err, codes.Canceled, "")
}

//go:build linux

package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
)

// A request id goes in and comes back: as a header, in the log, and in the ErrorInfo, of unary calls and of streams.
func TestRequestIDRoundTrip(t *testing.T) {
	o := newObserved(t)
	for _, tt := range []struct {
		name, id string
		taken    bool
	}{
		{"the caller's", `ci-4711 "quoted"`, true},
		{"too long", strings.Repeat("x", 10<<10), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", tt.id)
			var header metadata.MD
			_, err := gatev1.NewGateServiceClient(o.conn).GetGateStatus(ctx, &gatev1.GetGateStatusRequest{}, grpc.Header(&header))
			o.checkID(t, header, err, tt.id, tt.taken)

			stream, err := replayv1.NewReplayServiceClient(o.conn).Replay(ctx, &replayv1.ReplayRequest{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = stream.Recv()
			header, headerErr := stream.Header()
			if headerErr != nil {
				t.Fatal(headerErr)
			}
			o.checkID(t, header, err, tt.id, tt.taken)
		})
	}
	o.stop()
	if strings.Contains(o.log.String(), strings.Repeat("x", 129)) {
		t.Error("the log has an id that was not fit")
	}
}

func (o *observed) checkID(t *testing.T, header metadata.MD, err error, id string, taken bool) {
	t.Helper()
	got := header.Get("x-request-id")
	if len(got) != 1 || got[0] == "" || (got[0] == id) != taken {
		t.Fatalf("the header is %.200q", got)
	}
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			if info.GetMetadata()["request_id"] != got[0] {
				t.Errorf("the status has %v", info)
			}
			return
		}
	}
	t.Errorf("no ErrorInfo: %v", err)
}

// No token, lease or other secret that a caller sends stands in a log, a span or a metric.
func TestSecretsAreNotObserved(t *testing.T) {
	o := newObserved(t)
	const token, lease, cookie = "tok-3f9a7c21", "lease-5b1e0d44", "cookie-77aa01fe"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token, "cookie", cookie, "x-api-key", token, "secret-bin", token)
	registry := registryv1.NewRegistryServiceClient(o.conn)
	_, renewed := registry.RenewLease(ctx, &registryv1.RenewLeaseRequest{LeaseId: lease})
	_, ended := registry.Deregister(ctx, &registryv1.DeregisterRequest{LeaseId: lease})
	if renewed == nil || ended == nil {
		t.Error("a lease that nobody gave was renewed or ended")
	}
	_, _ = gatev1.NewGateServiceClient(o.conn).GetGateStatus(ctx, &gatev1.GetGateStatusRequest{})
	_, _ = fixturev1.NewFixtureServiceClient(o.conn).ListSets(ctx, &fixturev1.ListSetsRequest{})
	if stream, err := replayv1.NewReplayServiceClient(o.conn).Replay(ctx, &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(o.good), Candidate: dialled(o.good)}); err == nil {
		for err == nil {
			_, err = stream.Recv()
		}
	}
	o.stop()
	if n := len(o.log.about(t, `"msg":"call"`)); n < 5 {
		t.Errorf("only %d calls are logged", n)
	}
	seen := o.log.String() + o.scrape()
	for _, s := range tracetest.SpanStubsFromReadOnlySpans(o.spans.Ended()) {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(b)
	}
	for _, secret := range []string{token, lease, cookie} {
		if strings.Contains(seen, secret) {
			t.Errorf("%s was written down", secret)
		}
	}
}

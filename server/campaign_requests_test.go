//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server"
)

// documented are the codes that a request alone can lead to. DATA_LOSS is not among them: nothing is damaged.
var documented = []codes.Code{codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.Aborted, codes.FailedPrecondition,
	codes.Unavailable, codes.Unauthenticated, codes.PermissionDenied, codes.ResourceExhausted, codes.Unimplemented}

// A caller's own timeout, where it says one.
const ownTimeout = "context deadline exceeded"

// ofTheLibrary is what grpc-go itself answers where it can make nothing of the bytes, by the beginning of its message.
var ofTheLibrary = []string{
	"grpc: failed to unmarshal the received message", "grpc: received unexpected payload format", "cardinality violation", "malformed grpc-timeout", "malformed binary metadata",
	"unexpected EOF", "grpc: failed to decompress", "grpc: compressed flag set", "Received a HEADERS frame with :method",
}

func (s said) ofTheLibrary() string {
	i := slices.IndexFunc(ofTheLibrary, func(begins string) bool { return strings.HasPrefix(s.text, begins) })
	if s.code != codes.Internal || i < 0 {
		return ""
	}
	return ofTheLibrary[i]
}

func (s said) admitted() bool {
	if s.reset != "" || s.code == codes.Code(99) && s.http != "200" || slices.Contains(documented, s.code) {
		return true
	}
	return s.code == codes.DeadlineExceeded && s.text == ownTimeout || s.ofTheLibrary() != ""
}

// kind is what an answer is counted as.
func (s said) kind() string {
	switch {
	case s.reset != "", s.code == codes.Code(99):
		return s.String()
	case s.code == codes.Internal:
		return "Internal, of the library: " + s.ofTheLibrary()
	}
	return s.code.String()
}

// Whatever arrives, the server answers with a code of its contract, or with one of the library's where there is
// nothing to be made of the bytes; it goes on serving, and nothing of it stays.
func TestCampaignRequests(t *testing.T) {
	if !t.Run("InOrder", testRequestsInOrder) {
		return // the mutations would begin with what is refused anyway
	}
	c := campaign.Begin(t, 10_000, 500)
	h := newRequestsHouse(t)
	all := methods(t, h)
	seen := map[string]int{}
	const batch = 250
	var first footprint
	for c.Next() {
		m := all[c.Rand.IntN(len(all))]
		if c.Round()%5 < 2 && m.desc.Name() != "WatchGate" { // which does not end where the server makes sense of it after all
			h.hostile(t, c.Rand, m, seen)
		} else {
			h.mutation(t, c.Rand, m, seen)
		}
		if c.Round()%batch == 0 {
			h.healthy(t)
			if first.goroutines == 0 {
				first = measure()
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%6d %s", seen[what], what)
	}
	h.healthy(t)
	if _, err := h.store.Verify(t.Context(), func(err error) error { t.Errorf("damage: %v", err); return nil }); err != nil {
		t.Error(err)
	}
	if first.goroutines == 0 {
		first = measure()
	}
	var last footprint
	if !eventually(func() bool {
		last = measure()
		return last.goroutines <= first.goroutines+5 && last.heap < first.heap+32<<20
	}) {
		t.Errorf("behind the first batch %+v, behind the last %+v", first, last)
	}
	t.Logf("behind the first batch %+v, behind the last %+v", first, last)
}

// footprint is what this process holds.
type footprint struct {
	goroutines int
	heap       uint64 // bytes
}

func measure() footprint {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), m.HeapAlloc}
}

func (h *house) healthy(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if res, err := healthv1.NewHealthClient(h.conn).Check(ctx, &healthv1.HealthCheckRequest{}); err != nil || res.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("the server is not healthy any more: %v, %v", res, err)
	}
	h.wantStatus(t, "blocked", gatev1.Status_STATUS_BLOCK, "FLIP")
}

// method is one that the server serves, with requests that are in order.
type method struct {
	name     string
	role     string
	desc     protoreflect.MethodDescriptor
	requests []proto.Message
}

// withoutRequest are the methods for which there is no request that the server would grant: it admits a checker that comes by
// itself only under a name, and registers one only at an address, that its configuration lets in, and the campaign's lets in
// none, so that nothing of the server's can be hung on what a mutation says. Without an instance there is no lease either.
var withoutRequest = map[string]bool{
	registryv1.RegistryService_Attach_FullMethodName:     true,
	registryv1.RegistryService_Register_FullMethodName:   true,
	registryv1.RegistryService_RenewLease_FullMethodName: true,
	registryv1.RegistryService_Deregister_FullMethodName: true,
}

// testRequestsInOrder holds that the server grants what the mutations begin with. It asks a server of its own: what is granted
// once only is still to be granted by the campaign's.
func testRequestsInOrder(t *testing.T) {
	h := newRequestsHouse(t)
	for _, m := range methods(t, h) {
		if withoutRequest[m.name] {
			continue
		}
		var payloads [][]byte
		for _, req := range m.requests {
			b, err := proto.Marshal(req)
			if err != nil {
				t.Fatal(err)
			}
			payloads = append(payloads, b)
		}
		if err := h.invoke(t, m, payloads); err != nil {
			t.Errorf("%s is refused what should be in order: %v", m.name, err)
		}
	}
}

// methods walks the contract: each method of each service that the server has.
func methods(t *testing.T, h *house) (out []method) {
	t.Helper()
	bases := requestsInOrder(t, h)
	permissions := server.Permissions()
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for j := range s.Methods().Len() {
				d := s.Methods().Get(j)
				m := method{name: fmt.Sprintf("/%s/%s", s.FullName(), d.Name()), desc: d}
				roles, served := permissions[m.name]
				if !served || !strings.HasPrefix(m.name, "/retrial.") {
					continue
				}
				m.requests = bases[d.Input().FullName()]
				switch {
				case withoutRequest[m.name] && m.requests != nil:
					t.Fatalf("%s has a request: it is no exception", m.name)
				case withoutRequest[m.name]:
					empty, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
					if err != nil {
						t.Fatal(err)
					}
					m.requests = []proto.Message{empty.New().Interface()}
				case m.requests == nil:
					t.Fatalf("%s has no request that is in order", m.name)
				}
				m.role = string(roles[0])
				out = append(out, m)
			}
		}
		return true
	})
	if len(out) < 28 {
		t.Fatalf("only %d methods", len(out))
	}
	for name := range withoutRequest {
		if !slices.ContainsFunc(out, func(m method) bool { return m.name == name }) {
			t.Fatalf("%s is an exception, and is not served", name)
		}
	}
	slices.SortFunc(out, func(a, b method) int { return strings.Compare(a.name, b.name) })
	return out
}

// hostile sends something that no client would.
func (h *house) hostile(t *testing.T, r *rand.Rand, m method, seen map[string]int) {
	t.Helper()
	name := slices.Sorted(maps.Keys(hostiles))[r.IntN(len(hostiles))]
	payload, err := proto.Marshal(m.requests[0])
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(20) == 0 {
		h.noPreface(t, r)
		return
	}
	conn, err := h.raw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n, err := hostiles[name](conn, r, m.name, h.tokens[m.role], payload)
	if err != nil {
		seen["hung up on while speaking"]++ // the server has ended the connection
		return
	}
	start := time.Now()
	for _, s := range conn.answers(n) {
		text := s.String()
		seen["raw: "+s.kind()]++
		if !s.admitted() {
			t.Errorf("%s to %s: %s", name, m.name, text)
		}
	}
	if took := time.Since(start); took > patience-time.Second {
		t.Errorf("%s to %s: no answer for %s", name, m.name, took)
	}
}

// noPreface begins as no HTTP/2 client does. The server hangs up.
func (h *house) noPreface(t *testing.T, r *rand.Rand) {
	t.Helper()
	conn, err := h.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begins := [][]byte{noise(r, 100), []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), {0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Write(begins[r.IntN(len(begins))])
	if err == nil {
		_, err = io.Copy(io.Discard, conn)
	}
	if timeout := interface{ Timeout() bool }(nil); errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the server does not hang up: %v", err)
	}
}

// mutation sends valid framing around a message that has something else in it.
func (h *house) mutation(t *testing.T, r *rand.Rand, m method, seen map[string]int) {
	t.Helper()
	var payloads [][]byte
	for _, req := range m.requests {
		b, err := mutated(r, req)
		if r.IntN(3) > 0 && len(m.requests) > 1 {
			b, err = proto.Marshal(req) // most parts of a stream are in order
		}
		if err != nil {
			t.Fatal(err)
		}
		payloads = append(payloads, b)
	}
	err := h.invoke(t, m, payloads)
	s := status.Convert(err)
	answer := said{http: "200", code: s.Code(), text: s.Message()}
	seen["mutated: "+answer.kind()]++
	if !answer.admitted() {
		t.Errorf("%s answers %x with %s", m.name, clipped(payloads), answer)
	}
}

func clipped(payloads [][]byte) (out [][]byte) {
	for _, b := range payloads {
		out = append(out, b[:min(len(b), 200)])
	}
	return out
}

package server_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/server"
)

// call calls any method with an empty request, and gives the code of its answer.
func call(ctx context.Context, conn *grpc.ClientConn, method string) codes.Code {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(&emptypb.Empty{})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err == nil || status.Code(err) == codes.Unknown { // io.EOF: the answer says why
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	return status.Code(err)
}

// Every method by every role, by nobody, and by somebody whose token has expired.
func TestEveryMethodByEveryRole(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Reflection = true })
	roles := []server.Role{server.Reader, server.Submitter, server.Author, server.Approver, server.Registrar, server.Auditor, server.Admin}
	for method, allowed := range server.Permissions() {
		public := len(allowed) == 0
		if got := call(t.Context(), h.conn, method); (got == codes.Unauthenticated) == public {
			t.Errorf("%s by nobody: %s", method, got)
		}
		for _, role := range roles {
			got := call(h.as(t, string(role)), h.conn, method)
			if may := public || slices.Contains(allowed, role); (got == codes.PermissionDenied || got == codes.Unauthenticated) == may {
				t.Errorf("%s by %s: %s", method, role, got)
			}
		}
	}
	h.clock.pass(30 * 24 * time.Hour) // to the very second
	for method, allowed := range server.Permissions() {
		if got := call(h.as(t, "admin"), h.conn, method); (got == codes.Unauthenticated) != (len(allowed) > 0) {
			t.Errorf("%s with a token that has expired: %s", method, got)
		}
	}
}

// Roles that weaken each other are not given to one caller, and the table gives nobody both.
func TestNobodyWaivesAndSubmits(t *testing.T) {
	if _, _, err := server.NewToken("x", []server.Role{server.Approver, server.Submitter}, time.Now()); err == nil || !strings.Contains(err.Error(), "nobody is both") {
		t.Errorf("got %v", err)
	}
	p := server.Permissions()
	for _, r := range p["/retrial.gate.v1.GateService/GrantWaiver"] {
		if slices.Contains(p["/retrial.replay.v1.ReplayService/Replay"], r) {
			t.Errorf("%s may both waive and submit", r)
		}
	}
}

func TestTokens(t *testing.T) {
	h := newHouse(t, nil)
	ask := func(pairs ...string) codes.Code {
		_, err := gatev1.NewGateServiceClient(h.conn).GetGateStatus(metadata.AppendToOutgoingContext(t.Context(), pairs...), &gatev1.GetGateStatusRequest{Release: "v1"})
		return status.Code(err)
	}
	good := "Bearer " + h.tokens["reader"]
	for name, tt := range map[string]struct {
		pairs []string
		want  codes.Code
	}{
		"good":           {[]string{"authorization", good}, codes.OK},
		"lower case":     {[]string{"authorization", "bearer " + h.tokens["reader"]}, codes.OK},
		"none":           {nil, codes.Unauthenticated},
		"twice":          {[]string{"authorization", good, "authorization", good}, codes.Unauthenticated},
		"two of two":     {[]string{"authorization", good, "authorization", "Bearer x"}, codes.Unauthenticated},
		"another scheme": {[]string{"authorization", "Basic " + h.tokens["reader"]}, codes.Unauthenticated},
		"no scheme":      {[]string{"authorization", h.tokens["reader"]}, codes.Unauthenticated},
		"empty":          {[]string{"authorization", ""}, codes.Unauthenticated},
		"a hash":         {[]string{"authorization", "Bearer " + strings.Repeat("0", 64)}, codes.Unauthenticated},
		"cut":            {[]string{"authorization", good[:len(good)-1]}, codes.Unauthenticated},
		"longer":         {[]string{"authorization", good + "x"}, codes.Unauthenticated},
	} {
		if got := ask(tt.pairs...); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	// What is revoked is refused at once, and a file that cannot be read admits nobody.
	tokens, err := server.ReadTokens(h.file)
	if err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(slices.Clone(tokens), func(t server.Token) bool { return t.Name == "reader" })
	if err := server.WriteTokens(h.file, left); err != nil {
		t.Fatal(err)
	}
	if got := ask("authorization", good); got != codes.Unauthenticated {
		t.Errorf("revoked: %s", got)
	}
	if err := os.WriteFile(h.file, []byte("tokens: [{name: x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask("authorization", "Bearer "+h.tokens["admin"]); got != codes.Unauthenticated {
		t.Errorf("a file that is malformed: %s", got)
	}
}

// An address that other machines reach needs both TLS and callers that are known.
func TestOpenAddressNeedsTLSAndAuth(t *testing.T) {
	for name, tt := range map[string]struct {
		c  server.Config
		ok bool
	}{
		"nothing":    {server.Config{Listen: "0.0.0.0:7433"}, false},
		"TLS alone":  {server.Config{Listen: "0.0.0.0:7433", TLS: server.TLSConfig{Cert: "c", Key: "k"}}, false},
		"insecure":   {server.Config{Listen: "0.0.0.0:7433", Insecure: true}, true},
		"loopback":   {server.Config{Listen: "127.0.0.1:7433"}, true},
		"half TLS":   {server.Config{Listen: "127.0.0.1:7433", TLS: server.TLSConfig{Cert: "c"}}, false},
		"lonely CA":  {server.Config{Listen: "127.0.0.1:7433", TLS: server.TLSConfig{ClientCA: "c"}}, false},
		"no such CA": {server.Config{Listen: "127.0.0.1:7433", Auth: server.AuthConfig{Certificates: []server.CertificateConfig{{Name: "x", Roles: []server.Role{server.Reader}}}}}, false},
	} {
		if err := tt.c.Validate(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

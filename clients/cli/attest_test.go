package cli_test

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/protobuf/encoding/protojson"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/server/attest"
	"github.com/retrial-dev/retrial/server/identity"
)

// attest KEY STATUS DECISION ENVELOPE [WAIVER]: signs a decision as a server would, with a key that is made if it is not
// there; its public half goes to KEY.pub.
func attestTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: attest KEY STATUS DECISION ENVELOPE [WAIVER]")
	}
	key, err := identity.LoadOrCreate(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pub"), identity.MarshalPublicPEM(key.Public()), 0o600))
	var d gatev1.Decision
	ts.Check(protojson.Unmarshal([]byte(ts.ReadFile(args[2])), &d))
	var waivers []*gatev1.Waiver
	if len(args) == 5 {
		var w gatev1.Waiver
		ts.Check(protojson.Unmarshal([]byte(ts.ReadFile(args[4])), &w))
		waivers = append(waivers, &w)
	}
	envelope, err := attest.Sign(key, &d, gatev1.Status(gatev1.Status_value["STATUS_"+args[1]]), waivers)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), envelope, 0o600))
}

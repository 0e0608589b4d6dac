package server

import (
	"context"
	"errors"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/attest"
)

// AttestDecision implements the service.
func (g *gates) AttestDecision(_ context.Context, req *gatev1.AttestDecisionRequest) (*gatev1.AttestDecisionResponse, error) {
	if req.GetSet() == "" {
		return nil, invalid("set", errors.New("missing"))
	}
	if g.key == nil {
		return nil, fixture.NewError(fixture.CodePrecondition, "attest", req.GetRelease(), errors.New("this server has no key"))
	}
	res, _, err := g.status(req.GetRelease(), []string{req.GetSet()}, g.now())
	if err != nil {
		return nil, err
	}
	for _, s := range res.GetSets() {
		if s.GetSet() != req.GetSet() {
			continue
		}
		envelope, err := attest.Sign(g.key, s.GetDecision(), s.GetStatus(), s.GetWaivers())
		return &gatev1.AttestDecisionResponse{Envelope: envelope}, err
	}
	return nil, fixture.NewError(fixture.CodeNotFound, "attest", req.GetRelease(), errors.New("there is no such set"))
}

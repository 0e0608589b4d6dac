package server

import (
	"google.golang.org/protobuf/proto"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// evidenceOf names what a ruling rests on. A policy's digest is over its message, an allowlist's over a SetConfig that has
// nothing else, both in deterministic wire form.
func evidenceOf(c *trialOf, d *gatev1.Decision, r *replayer.Report) (*gatev1.Evidence, error) {
	policy, err := digestOf(d.GetPolicy())
	if err != nil {
		return nil, err
	}
	e := &gatev1.Evidence{
		ArtifactDigest: c.req.GetArtifactDigest(), BaselineBuild: d.GetBaseline().GetBuildDigest(), CandidateBuild: d.GetCandidate().GetBuildDigest(),
		SetChecksum: d.GetChecksum(), PolicyDigest: policy, BaselineReplayId: d.GetReplayId(),
	}
	if r.StubsDigest != nil {
		e.StubsDigest = "sha256:" + r.StubsDigest.String()
	}
	if len(c.set.Allowlist) > 0 {
		e.AllowlistDigest, err = digestOf(&fixturev1.SetConfig{Allowlist: c.set.ToProto().GetAllowlist()})
	}
	return e, err
}

func digestOf(m proto.Message) (string, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return "sha256:" + fixture.DigestOf(b).String(), err
}

package server

import (
	"context"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/server/telemetry"
)

// audit writes one line to the log "audit": what happened (a noun, such as "decision"), and who asked for it. What it is about
// stands in the fields: never a token, a lease or another secret.
func audit(ctx context.Context, log *zap.Logger, event string, fields ...zap.Field) {
	fields = append(fields, identifying(ctx)...)
	log.Named("audit").Info(event, append(fields, zap.String("principal", principalOf(ctx)))...)
}

// auditDecision writes the audit line of a decision. Parameters of checkers stay out of it, since a checker may be handed a
// secret in one; the decision in the store has them.
func auditDecision(ctx context.Context, log *zap.Logger, d *gatev1.Decision) {
	audit(ctx, log, "decision",
		zap.String("replay", d.GetReplayId()), zap.String("release", d.GetRelease()),
		zap.String("set", d.GetSet()), zap.Uint64("version", d.GetVersion()), zap.String("checksum", d.GetChecksum()),
		zap.String("ruling", string(outcomeOf(d))), zap.Uint64("flipped", d.GetFlipped()), zap.Array("causes", auditCauses(d.GetCauses())),
		zap.String("policy", policyKind(d)), zap.Bool("partial", d.GetPartial()),
		zap.Object("baseline", (*auditChecker)(d.GetBaseline())), zap.Object("candidate", (*auditChecker)(d.GetCandidate())))
}

// auditVersion writes the audit line of something that was done with a version.
func auditVersion(ctx context.Context, log *zap.Logger, event, set string, n uint64, fields ...zap.Field) {
	audit(ctx, log, event, append(fields, zap.String("set", set), zap.Uint64("version", n))...)
}

// auditWaiver writes the audit line of a waiver.
func auditWaiver(ctx context.Context, log *zap.Logger, event string, w *fixturestore.Waiver) {
	audit(ctx, log, event, zap.String("waiver", w.ID), zap.String("release", w.Release), zap.String("set", w.Set), zap.Uint64("version", w.Version),
		zap.String("replay", w.Replay), zap.Int("flips", len(w.Flips)), zap.Time("until", w.ExpiresAt))
}

// outcomes gives the word for each ruling. A decision without one is none.
var outcomes = map[gatev1.Ruling]telemetry.Outcome{
	gatev1.Ruling_RULING_PASS:                 telemetry.Passed,
	gatev1.Ruling_RULING_BLOCK:                telemetry.Blocked,
	gatev1.Ruling_RULING_BASELINE_UNCONFIRMED: telemetry.Unconfirmed,
}

func outcomeOf(d *gatev1.Decision) telemetry.Outcome {
	if o, ok := outcomes[d.GetRuling()]; ok {
		return o
	}
	return telemetry.Failed
}

// policyKind gives the kind of the policy that a decision was made by, as a set's configuration writes it.
func policyKind(d *gatev1.Decision) string {
	return strings.ToLower(strings.TrimPrefix(d.GetPolicy().GetKind().String(), "POLICY_KIND_"))
}

type auditCauses []*gatev1.Cause

// MarshalLogArray implements zapcore.ArrayMarshaler.
func (a auditCauses) MarshalLogArray(enc zapcore.ArrayEncoder) error {
	for _, c := range a {
		err := enc.AppendObject(zapcore.ObjectMarshalerFunc(func(enc zapcore.ObjectEncoder) error {
			enc.AddString("code", c.GetCode())
			enc.AddUint64("count", c.GetCount())
			return nil
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

type auditChecker gatev1.CheckerIdentity

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (a *auditChecker) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	c := (*gatev1.CheckerIdentity)(a)
	enc.AddString("name", c.GetName())
	enc.AddString("version", c.GetVersion())
	enc.AddString("build_digest", c.GetBuildDigest())
	enc.AddString("configuration_version", c.GetConfigurationVersion())
	return nil
}

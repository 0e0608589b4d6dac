package server

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/server/telemetry"
)

// jsonLog is a log as `retrial serve` writes it, at the level debug.
func jsonLog(w zapcore.WriteSyncer) *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(w), zap.DebugLevel))
}

// The audit line of a decision is one line of JSON, with all that was decided and none of the parameters.
func TestAuditLineOfADecision(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, id := withCall(t.Context())
	note(ctx, zap.String("set", "noted by the call"))
	auditDecision(ctx, jsonLog(zapcore.AddSync(&out)), &gatev1.Decision{
		ReplayId: "r-1", Release: "v1\n{}", Set: "memory", Version: 7, Checksum: "sha256:ab", Ruling: gatev1.Ruling_RULING_BASELINE_UNCONFIRMED,
		Flipped: 3, Causes: []*gatev1.Cause{{Code: "FLIP", Count: 3, Message: "not here"}, {Code: "BASELINE_MISMATCH", Count: 1}},
		Policy:    &gatev1.Policy{Kind: gatev1.PolicyKind_POLICY_KIND_BOUNDED},
		Baseline:  &gatev1.CheckerIdentity{Name: "b", Version: "1", BuildDigest: "sha256:cd", ConfigurationVersion: "c", Parameters: map[string]string{"key": "hunter2"}},
		Candidate: &gatev1.CheckerIdentity{Name: "c"},
	})
	if bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("not one line: %q", &out)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "ts")
	want := map[string]any{
		"level": "info", "logger": "audit", "msg": "decision", "request_id": id, "principal": "",
		"replay": "r-1", "release": "v1\n{}", "set": "memory", "version": 7.0, "checksum": "sha256:ab", "ruling": "baseline_unconfirmed", "flipped": 3.0,
		"causes": []any{map[string]any{"code": "FLIP", "count": 3.0}, map[string]any{"code": "BASELINE_MISMATCH", "count": 1.0}},
		"policy": "bounded", "partial": false,
		"baseline":  map[string]any{"name": "b", "version": "1", "build_digest": "sha256:cd", "configuration_version": "c"},
		"candidate": map[string]any{"name": "c", "version": "", "build_digest": "", "configuration_version": ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every ruling has a word of its own, and no ruling is a failure.
func TestEveryRulingHasAnOutcome(t *testing.T) {
	t.Parallel()
	seen := map[telemetry.Outcome]bool{}
	for n := range gatev1.Ruling_name {
		o := outcomeOf(&gatev1.Decision{Ruling: gatev1.Ruling(n)})
		if seen[o] || (o == telemetry.Failed) != (n == int32(gatev1.Ruling_RULING_UNSPECIFIED)) {
			t.Errorf("%s is %s", gatev1.Ruling(n), o)
		}
		seen[o] = true
	}
}

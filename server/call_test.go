package server

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A request id is the caller's where it is 1 to 128 printable ASCII characters, given once, and else a new one.
func TestRequestIDIsTheCallersIfItIsFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		given []string
		taken bool
	}{
		{"none", nil, false},
		{"empty", []string{""}, false},
		{"one character", []string{"a"}, true},
		{"printable", []string{`~ !"{}\r 42`}, true},
		{"the longest", []string{strings.Repeat("x", 128)}, true},
		{"one too long", []string{strings.Repeat("x", 129)}, false},
		{"10 KB", []string{strings.Repeat("x", 10<<10)}, false},
		{"a line feed", []string{"a\nb"}, false},
		{"an escape", []string{"\x1b[2J"}, false},
		{"a zero byte", []string{"a\x00"}, false},
		{"delete", []string{"a\x7f"}, false},
		{"not ASCII", []string{"ä"}, false},
		{"not UTF-8", []string{"\xff"}, false},
		{"two", []string{"a", "b"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			md := metadata.MD{}
			if tt.given != nil {
				md[requestIDHeader] = tt.given
			}
			ctx, id := withCall(metadata.NewIncomingContext(t.Context(), md))
			if taken := slices.Contains(tt.given, id); taken != tt.taken || !fitRequestID(id) || requestIDOf(ctx) != id {
				t.Errorf("got %q, %q", id, requestIDOf(ctx))
			}
		})
	}
	_, a := withCall(t.Context())
	if _, b := withCall(t.Context()); a == b {
		t.Errorf("two calls have the id %q", a)
	}
}

// Each line of a call says which one it is, and what has been noted of it last.
func TestLinesOfACall(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	log := zap.New(core)
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx, id := withCall(trace.ContextWithSpanContext(t.Context(), span))
	note(ctx, zap.String("set", "asked"))
	note(ctx, zap.String("set", "memory"), zap.Uint64("version", 7))
	logOf(ctx, log).Debug("in a call")
	note(context.Background(), zap.String("set", "nobody's"))
	logOf(t.Context(), log).Debug("outside")
	if got := logs.All()[0]; len(got.Context) != 4 || got.ContextMap()["request_id"] != id || got.ContextMap()["trace_id"] != span.TraceID().String() ||
		got.ContextMap()["set"] != "memory" || got.ContextMap()["version"] != uint64(7) {
		t.Errorf("got %v", got.ContextMap())
	}
	if got := logs.All()[1]; len(got.Context) != 0 {
		t.Errorf("outside of a call: %v", got.ContextMap())
	}
}

// The id stands in the ErrorInfo of every status of ours, beside what was there; what is not ours stays as it is.
func TestStatusCarriesTheRequestID(t *testing.T) {
	t.Parallel()
	err := stamped(toStatus(zap.NewNop(), &fixture.Error{Code: fixture.CodeInvalid, Op: "request", Field: "set", Err: context.Canceled}), "q-1")
	if status.Code(err) != codes.Canceled {
		t.Errorf("what the caller cancelled became %v", err)
	}
	err = stamped(toStatus(zap.NewNop(), invalid("set", errPanic)), "q-1")
	info, violation := details(status.Convert(err))
	if info.GetMetadata()["request_id"] != "q-1" || info.GetReason() != "INVALID" || violation.GetField() != "set" {
		t.Errorf("got %v, %v", info, violation)
	}
	if stamped(nil, "q-1") != nil {
		t.Error("no error became one")
	}
}

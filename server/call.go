package server

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// requestIDHeader carries the id of a request, both ways.
const requestIDHeader = "x-request-id"

// maxRequestID bounds a request id that a caller gives, in bytes.
const maxRequestID = 128

// call is what is known of one RPC beside its context, for those who log. Safe for concurrent use.
type call struct {
	requestID string

	mu     sync.Mutex // guards fields
	fields []zap.Field
}

type callKey struct{}

// withCall gives a context that knows the request's id: the caller's, if it gave exactly one that is fit to be written
// anywhere, or else a new one.
func withCall(ctx context.Context) (context.Context, string) {
	given := metadata.ValueFromIncomingContext(ctx, requestIDHeader)
	id := strings.ToLower(rand.Text())
	if len(given) == 1 && fitRequestID(given[0]) {
		id = given[0]
	}
	return context.WithValue(ctx, callKey{}, &call{requestID: id}), id
}

// fitRequestID says whether an id is 1 to 128 printable ASCII characters.
func fitRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' })
}

// requestIDOf gives the id of the request that ctx belongs to; empty outside of one.
func requestIDOf(ctx context.Context) string {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.requestID
	}
	return ""
}

// note adds fields to what is logged about the call from here on; one with the same key gives way. It does nothing outside
// of a call.
func note(ctx context.Context, fields ...zap.Field) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range fields {
		c.fields = append(slices.DeleteFunc(c.fields, func(old zap.Field) bool { return old.Key == f.Key }), f)
	}
}

// noteRequest notes the set that a request names, cut to a length that a log can bear.
func noteRequest(ctx context.Context, req any) {
	if r, ok := req.(interface{ GetSet() string }); ok && r.GetSet() != "" {
		note(ctx, zap.String("set", fixture.Printable(r.GetSet(), maxRequestID)))
	}
}

// logOf gives a log whose lines say which call they are about, and what has been noted of it so far.
func logOf(ctx context.Context, log *zap.Logger) *zap.Logger {
	fields := identifying(ctx)
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		fields = append(fields, c.fields...)
	}
	return log.WithLazy(fields...)
}

// identifying gives the id of the request, and that of the trace where there is a span.
func identifying(ctx context.Context) []zap.Field {
	var fields []zap.Field
	if id := requestIDOf(ctx); id != "" {
		fields = append(fields, zap.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		fields = append(fields, zap.Stringer("trace_id", span.TraceID()))
	}
	return fields
}

// callStream is a stream whose context knows its call, and its caller.
type callStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *callStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. It takes nothing more from a caller whose time is over.
func (s *callStream) RecvMsg(m any) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	err := s.ServerStream.RecvMsg(m)
	if err == nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	return err
}

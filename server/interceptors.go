package server

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// interceptors gives what stands around every call, outermost first: the log, the one place that makes a status of an
// error, recovery from a panic, the question who calls, and the limit on calls that begin.
func interceptors(log *zap.Logger, l Limits, auth *authenticator) ([]grpc.UnaryServerInterceptor, []grpc.StreamServerInterceptor) {
	limits := newCallLimits(l.RequestsPerSecond)
	around := func(ctx context.Context, method string, call func(ctx context.Context) error) error {
		start := time.Now()
		err := recovered(logOf(ctx, log), method, func() error {
			if strings.HasPrefix(method, "/grpc.health.") {
				return call(ctx)
			}
			known, cancel, err := auth.admit(ctx, method)
			if err != nil {
				return errors.Join(err, limits.stranger(method))
			}
			defer cancel()
			if err := limits.caller(principalOf(known), method); err != nil {
				return err
			}
			return call(known)
		})
		log := logOf(ctx, log) // with what the call has noted
		err = stamped(toStatus(log, err), requestIDOf(ctx))
		log.Debug("call", zap.String("method", method), zap.Duration("took", time.Since(start)), zap.Stringer("code", status.Code(err)))
		return err
	}
	unary := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (res any, err error) {
		ctx, id := withCall(ctx)
		noteRequest(ctx, req)
		_ = grpc.SetHeader(ctx, metadata.Pairs(requestIDHeader, id)) // no header has been sent yet
		err = around(ctx, info.FullMethod, func(ctx context.Context) (err error) {
			res, err = handler(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		return res, nil
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, id := withCall(ss.Context())
		_ = ss.SetHeader(metadata.Pairs(requestIDHeader, id)) // no header has been sent yet
		return around(ctx, info.FullMethod, func(ctx context.Context) error {
			return handler(srv, &watchedStream{ServerStream: &callStream{ss, ctx}, timeout: l.SendTimeout})
		})
	}
	return []grpc.UnaryServerInterceptor{unary}, []grpc.StreamServerInterceptor{stream}
}

var errPanic = errors.New("panic")

// recovered keeps a panic in a handler from ending the process.
func recovered(log *zap.Logger, method string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a handler", zap.String("method", method), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = errPanic
		}
	}()
	return call()
}

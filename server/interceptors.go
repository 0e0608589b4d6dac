package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// interceptors gives what stands around every call, outermost first: the log, the one place that makes a status of an
// error, recovery from a panic, the limit on calls that begin, and the question who calls.
func interceptors(log *zap.Logger, l Limits, auth *authenticator) ([]grpc.UnaryServerInterceptor, []grpc.StreamServerInterceptor) {
	limiter := rate.NewLimiter(rate.Limit(l.RequestsPerSecond), max(1, int(l.RequestsPerSecond)))
	around := func(ctx context.Context, method string, call func() error) error {
		start := time.Now()
		err := recovered(logOf(ctx, log), method, func() error {
			if !limiter.Allow() && !strings.HasPrefix(method, "/grpc.health.") {
				return fixture.NewError(fixture.CodeBusy, "call", method, fmt.Errorf("more than %g calls a second; try again later", l.RequestsPerSecond))
			}
			return call()
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
		err = around(ctx, info.FullMethod, func() (err error) {
			ctx, cancel, err := auth.admit(ctx, info.FullMethod)
			if err != nil {
				return err
			}
			defer cancel()
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
		return around(ctx, info.FullMethod, func() error {
			ctx, cancel, err := auth.admit(ctx, info.FullMethod)
			if err != nil {
				return err
			}
			defer cancel()
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

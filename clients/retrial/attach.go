package retrial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
)

// AttachOption changes how Attach reaches the server, and what it tells.
type AttachOption func(*attachOptions)

type attachOptions struct {
	dial     []grpc.DialOption
	attached func(*registryv1.Instance)
}

// WithDialOptions adds options of the connection to the server, such as its transport credentials. Without any, nothing on it is
// encrypted.
func WithDialOptions(opts ...grpc.DialOption) AttachOption {
	return func(o *attachOptions) { o.dial = append(o.dial, opts...) }
}

// OnAttached has f called once the checker can be named, with the instance as the server lists it.
func OnAttached(f func(*registryv1.Instance)) AttachOption {
	return func(o *attachOptions) { o.attached = f }
}

// Attach offers a checker to the server at target under a name, without a port of its own, until ctx ends or the server ends it.
//
// When ctx ends, the runs that ask the checker may come to the end of their streams, within a few seconds; then it is nil. In any
// other case the error says why the checker can no longer be named. It does not attach again by itself: Reattach does.
func Attach(ctx context.Context, target, name string, c Checker, opts ...AttachOption) error {
	if err := check(c.Describe()); err != nil {
		return err
	}
	o := attachOptions{dial: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}}
	for _, opt := range opts {
		opt(&o)
	}
	conn, err := grpc.NewClient(target, o.dial...)
	if err != nil {
		return err
	}
	l := bufconn.Listen(pipeBytes)
	s := grpc.NewServer(serverOptions()...)
	checkerv1.RegisterCheckerServiceServer(s, &service{checker: c})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	pipe, err := l.DialContext(ctx)
	if err == nil {
		err = attach(ctx, conn, name, pipe, s, o.attached)
	}
	s.Stop()
	return errors.Join(err, <-served, conn.Close())
}

// pipeBytes is how much of the connection inside the tunnel is buffered, each way.
const pipeBytes = 64 << 10

// attach bridges the server of a checker until it ends, or stops it in order when ctx ends.
func attach(ctx context.Context, conn *grpc.ClientConn, name string, pipe net.Conn, s *grpc.Server, attached func(*registryv1.Instance)) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		hard := time.AfterFunc(stopTimeout, func() {
			cancel()
			s.Stop()
		})
		defer hard.Stop()
		s.GracefulStop()
	})
	err := Bridge(inner, conn, name, pipe, attached)
	if stop() {
		if err == nil {
			err = fmt.Errorf("attach %q: the server has ended the connection", name)
		}
		return err
	}
	<-stopped
	return nil
}

// Bounds of the pauses of Reattach.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Reattach calls attempt, such as Attach or Bridge with its arguments, again and again until ctx ends: then it is nil. attempt calls
// attached once the checker can be named. Between two attempts it pauses, longer each time the checker has not come to be
// attached, at most half a minute. Each error is written to log.
//
// It gives up, with the error, where another attempt would be of no use: the server does not know Attach, or does not admit
// the caller or the name.
func Reattach(ctx context.Context, log io.Writer, attempt func(ctx context.Context, attached func()) error) error {
	pause := firstPause
	for {
		err := attempt(ctx, func() { pause = firstPause })
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was told to end
		case final(err):
			return err
		}
		fmt.Fprintf(log, "retrial: %v; trying again\n", err)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, lastPause)
	}
}

// final says whether an attempt to attach fails the next time as well.
func final(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.AlreadyExists, codes.Unimplemented:
		return true
	}
	return false
}

//go:build linux

package checkerhost

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// described is a checker that says who it is, and ends every stream.
type described struct {
	checkerv1.UnimplementedCheckerServiceServer
	digest string
}

// Describe implements the contract.
func (d described) Describe(context.Context, *checkerv1.DescribeRequest) (*checkerv1.DescribeResponse, error) {
	return &checkerv1.DescribeResponse{Name: "described", Version: "1", BuildDigest: d.digest, ContractVersion: 1}, nil
}

// Check implements the contract.
func (d described) Check(stream grpc.BidiStreamingServer[checkerv1.CheckRequest, checkerv1.CheckResponse]) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func serve(t *testing.T, path, digest string) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	checkerv1.RegisterCheckerServiceServer(s, described{digest: digest})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// What listens at the address of a checker whose connection was lost is asked only if it is still the same.
func TestDialledCheckerIsRecognised(t *testing.T) {
	checkGoroutines(t)
	for digest, same := range map[string]bool{"one": true, "other": false} {
		path := filepath.Join(t.TempDir(), "s")
		stop := serve(t, path, "one")
		h, err := Dial(t.Context(), "unix:"+path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Checker(nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, err := c.Open(ctx)
		if err == nil {
			_, err = first.(*stream).s.Header() // it is under way
		}
		if err != nil {
			t.Fatal(err)
		}
		stop()
		var lost *replayer.Fault
		if _, err := first.Recv(); !errors.As(err, &lost) || !lost.Lost || lost.Code != gate.CheckerFailed {
			t.Errorf("the connection was lost, and the stream ends with %v", err)
		}
		stop = serve(t, path, digest)
		_, err = c.Open(ctx)
		var fault *replayer.Fault
		switch {
		case same && err != nil:
			t.Errorf("it is the same, and is refused: %v", err)
		case !same && (!errors.As(err, &fault) || fault.Code != gate.CheckerProtocol || fault.Lost || !strings.Contains(fault.Message, "describes itself otherwise")):
			t.Errorf("it is another one, and the stream is opened with %v", err)
		}
		cancel()
		stop()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A host over a connection that is there has no other: it is lost with it.
func TestOverAConnection(t *testing.T) {
	checkGoroutines(t)
	path := filepath.Join(t.TempDir(), "s")
	stop := serve(t, path, "one")
	defer stop()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Over(t.Context(), conn, "checker")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c, err := h.Checker(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for range 2 {
		s, err := c.Open(t.Context())
		if err == nil {
			_, err = s.Recv()
		}
		var fault *replayer.Fault
		if !errors.As(err, &fault) || fault.Code != gate.CheckerFailed || !fault.Lost {
			t.Errorf("its connection is lost, and the stream ends with %v", err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// turning is a connection whose far side, when it turns, says what is no gRPC and is gone.
type turning struct {
	net.Conn
	turned atomic.Bool
	said   atomic.Bool
	gone   atomic.Bool
}

func (c *turning) turn() error {
	c.turned.Store(true)
	return c.SetReadDeadline(time.Now()) // wakes Read
}

// Read implements net.Conn.
func (c *turning) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case !c.turned.Load():
		return n, err
	case c.said.Swap(true):
		return 0, io.EOF
	}
	return copy(p, strings.Repeat("no frame of HTTP/2 ", 10)), nil
}

// Write implements net.Conn.
func (c *turning) Write(p []byte) (int, error) {
	if c.gone.Load() {
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(p)
}

// SetWriteDeadline implements net.Conn. It is called when the connection is given up.
func (c *turning) SetWriteDeadline(t time.Time) error {
	c.gone.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

// A connection that is given up over what came over it is not lost, though its far side is gone as well by then.
func TestGarbageIsNoLoss(t *testing.T) {
	checkGoroutines(t)
	path := filepath.Join(t.TempDir(), "s")
	stop := serve(t, path, "one")
	defer stop()
	inner, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	conn := &turning{Conn: inner}
	h, err := Over(t.Context(), conn, "checker")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c, err := h.Checker(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.(*stream).s.Header(); err != nil { // nothing is on its way to the far side
		t.Fatal(err)
	}
	if err := conn.turn(); err != nil {
		t.Fatal(err)
	}
	var fault *replayer.Fault
	if _, err = s.Recv(); !errors.As(err, &fault) || fault.Lost {
		t.Errorf("what is no gRPC came over it, and the stream ends with %v", err)
	}
}

//go:build linux

package server_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
)

// rawTunnel is a client's side of Attach that can say anything.
type rawTunnel struct {
	mu     sync.Mutex // one message at a time is sent
	stream grpc.BidiStreamingClient[registryv1.AttachRequest, registryv1.AttachResponse]
}

func (r *rawTunnel) send(req *registryv1.AttachRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stream.Send(req)
}

// end reads to the end of the stream.
func (r *rawTunnel) end() error {
	for {
		if _, err := r.stream.Recv(); err != nil {
			return err
		}
	}
}

func hello(name string) *registryv1.AttachRequest {
	return &registryv1.AttachRequest{Part: &registryv1.AttachRequest_Hello{Hello: &registryv1.AttachHello{Name: name}}}
}

func data(b []byte) *registryv1.AttachRequest {
	return &registryv1.AttachRequest{Part: &registryv1.AttachRequest_Data{Data: b}}
}

func (b *bench) tunnel(t *testing.T) *rawTunnel {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := registryv1.NewRegistryServiceClient(b.conn).Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &rawTunnel{stream: stream}
}

// attachRaw attaches a checker over a tunnel into which the checker can put what it likes.
func (b *bench) attachRaw(t *testing.T, name string, o *own) {
	t.Helper()
	conn := o.serve(t)
	r := b.tunnel(t)
	o.inTunnel = func(p []byte) { _ = r.send(data(p)) }
	if err := r.send(hello(name)); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := conn.Read(buf)
			if err != nil || r.send(data(buf[:n])) != nil {
				return
			}
		}
	}()
	came := make(chan struct{})
	go func() {
		defer conn.Close()
		for {
			select {
			case <-o.stopReading:
				<-r.stream.Context().Done()
				return
			default:
			}
			res, err := r.stream.Recv()
			if err != nil {
				return
			}
			if res.GetAttached() != nil {
				close(came)
			}
			if _, err := conn.Write(res.GetData()); err != nil {
				return
			}
		}
	}()
	select {
	case <-came:
	case <-time.After(patience):
		t.Fatal("it was not attached in time")
	}
}

package retrial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"

	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/server/wire"
)

// endTimeout is how long a server may take to end a stream whose connection has ended.
const endTimeout = 5 * time.Second

// Bridge offers a checker to a server under a name, over a connection to it: whatever serves retrial.checker.v1 at its other
// end, in whichever language. attached is called once the checker can be named; it may be nil.
//
// It returns when ctx ends, by its cause; when the server ends the stream, by the error that it gives; or when the connection
// ends, by nil. It closes the connection.
func Bridge(ctx context.Context, server grpc.ClientConnInterface, name string, conn net.Conn, attached func(*registryv1.Instance)) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := registryv1.NewRegistryServiceClient(server).Attach(inner)
	if err == nil {
		err = stream.Send(&registryv1.AttachRequest{Part: &registryv1.AttachRequest_Hello{Hello: &registryv1.AttachHello{Name: name}}})
	}
	if err != nil && !errors.Is(err, io.EOF) { // at EOF the server says why
		return errors.Join(fmt.Errorf("attach %q: %w", name, err), conn.Close())
	}
	t := &bridge{stream: stream, attached: attached}
	done, err := wire.Pump(conn, t)
	hard := time.AfterFunc(endTimeout, cancel)
	defer hard.Stop()
	<-done
	for t.end == nil { // what the server says last is still to come
		_, _ = t.Recv()
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && inner.Err() != nil:
		return nil // the connection has ended, and the server says nothing to that
	case !errors.Is(t.end, io.EOF):
		return fmt.Errorf("attach %q: %w", name, t.end)
	}
	return nil
}

// bridge is a client's side of an Attach stream: a wire.Tunnel.
type bridge struct {
	stream   grpc.BidiStreamingClient[registryv1.AttachRequest, registryv1.AttachResponse]
	attached func(*registryv1.Instance)
	end      error // what Recv has ended with
}

// Send implements wire.Tunnel.
func (b *bridge) Send(data []byte) error {
	return b.stream.Send(&registryv1.AttachRequest{Part: &registryv1.AttachRequest_Data{Data: data}})
}

// CloseSend implements wire.Tunnel.
func (b *bridge) CloseSend() error { return b.stream.CloseSend() }

// Recv implements wire.Tunnel.
func (b *bridge) Recv() ([]byte, error) {
	for {
		res, err := b.stream.Recv()
		if err != nil {
			b.end = err
			return nil, err
		}
		switch part := res.GetPart().(type) {
		case *registryv1.AttachResponse_Attached:
			if b.attached != nil {
				b.attached(part.Attached.GetInstance())
				b.attached = nil // it is said once
			}
		case *registryv1.AttachResponse_Data:
			return part.Data, nil
		}
	}
}

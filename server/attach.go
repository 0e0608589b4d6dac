package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/server/wire"
)

// How long a stream of Attach may take to say hello, and a checker that comes by itself to say who it is.
const (
	helloTimeout = 5 * time.Second
	admitTimeout = 10 * time.Second
)

// Attach implements registryv1.RegistryServiceServer.
func (r *Checkers) Attach(stream attachStream) error {
	if err := r.instances.reserve(); err != nil {
		return err
	}
	defer r.instances.free()
	t := &tunnel{stream: stream}
	name, err := r.hello(t)
	if err != nil {
		return err
	}
	near, far := net.Pipe()
	defer far.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := wire.Pump(far, t) // what blocks in it ends with this call
		ended <- err
	}()
	h, err := r.meet(stream.Context(), name, &tunnelled{Conn: near, tunnel: t}, far)
	if err != nil {
		return errors.Join(t.broken(), err)
	}
	in := newInstance(name, principalOf(stream.Context()), h.Description(), r.clock.Now())
	in.host = h
	if err = r.admit(stream.Context(), name, h); err == nil {
		err = r.instances.attach(in)
	}
	if err != nil {
		return errors.Join(t.broken(), err, h.Close())
	}
	defer r.instances.end(in)
	if err := t.attached(in.toProto()); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return endOfTunnel(name, err)
	case <-in.idle:
		return errStopping()
	case <-stream.Context().Done():
		return context.Cause(stream.Context())
	}
}

type attachStream = grpc.BidiStreamingServer[registryv1.AttachRequest, registryv1.AttachResponse]

// endOfTunnel says why a checker is no longer attached. It is nil if its own side has ended the stream.
func endOfTunnel(name string, err error) error {
	switch {
	case err == nil:
		return fixture.NewError(fixture.CodeUnavailable, "attach", fmt.Sprintf("%.120q", name), errors.New("the connection in the tunnel has ended: the checker closed it, or what came over it was no gRPC"))
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// hello waits for the first part, and says whether its name can be attached.
func (r *Checkers) hello(t *tunnel) (string, error) {
	type first struct {
		name string
		err  error
	}
	said := make(chan first, 1)
	go func() { // ends with the stream
		name, err := t.hello()
		said <- first{name, err}
	}()
	ctx, cancel := within(t.stream.Context(), r.clock, helloTimeout)
	defer cancel()
	select {
	case f := <-said:
		if f.err != nil {
			return "", f.err
		}
		return f.name, r.admitsName(f.name)
	case <-r.instances.stopping:
		return "", errStopping()
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errTooLate) {
			return "", breach("nothing was said for %s; the first part of the stream is hello", helloTimeout)
		}
		return "", ctx.Err()
	}
}

// meet asks a checker at the other end of a tunnel who it is.
func (r *Checkers) meet(ctx context.Context, name string, near, far net.Conn) (*checkerhost.Host, error) {
	ctx, cancel := within(ctx, r.clock, admitTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = far.Close() }) // what waits for the far side waits no longer
	defer stop()
	h, err := checkerhost.Over(ctx, near, fmt.Sprintf("attached checker %.120q", name))
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTooLate):
		return nil, fixture.NewError(fixture.CodeUnavailable, "attach", fmt.Sprintf("%.120q", name), fmt.Errorf("it did not say who it is within %s", admitTimeout))
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return h, err
}

func breach(format string, args ...any) error {
	return &fixture.Error{Code: fixture.CodeInvalid, Op: "attach", Field: "part", Err: fmt.Errorf(format, args...)}
}

// tunnel is the server's side of an Attach stream: a wire.Tunnel.
type tunnel struct {
	stream attachStream
	sends  sync.Mutex // one message at a time is sent
	breach atomic.Pointer[error]
}

// hello reads the first part.
func (t *tunnel) hello() (string, error) {
	req, err := t.stream.Recv()
	if err != nil {
		return "", breach("the stream ended before hello")
	}
	hello, ok := req.GetPart().(*registryv1.AttachRequest_Hello)
	if !ok {
		return "", breach("the first part of the stream is hello")
	}
	name := hello.Hello.GetName()
	if err := fixture.CheckName(name, maxCheckerName); err != nil {
		return "", invalid("hello.name", err)
	}
	return name, nil
}

// Recv implements wire.Tunnel.
func (t *tunnel) Recv() ([]byte, error) {
	req, err := t.stream.Recv()
	if err != nil {
		return nil, err
	}
	data, ok := req.GetPart().(*registryv1.AttachRequest_Data)
	switch {
	case !ok:
		err = breach("every part but the first is data")
	case len(data.Data) > wire.MaxTunnelBytes:
		err = breach("data has %d bytes, over the limit of %d", len(data.Data), wire.MaxTunnelBytes)
	default:
		return data.Data, nil
	}
	t.breach.Store(&err)
	return nil, err
}

// broken gives how the far side broke the rules of the tunnel, or nil.
func (t *tunnel) broken() error {
	if err := t.breach.Load(); err != nil {
		return *err
	}
	return nil
}

// Send implements wire.Tunnel.
func (t *tunnel) Send(data []byte) error {
	return t.send(&registryv1.AttachResponse{Part: &registryv1.AttachResponse_Data{Data: data}})
}

// CloseSend implements wire.Tunnel. A server ends a stream by its status.
func (t *tunnel) CloseSend() error { return nil }

func (t *tunnel) attached(in *registryv1.Instance) error {
	return t.send(&registryv1.AttachResponse{Part: &registryv1.AttachResponse_Attached{Attached: &registryv1.Attached{Instance: in}}})
}

func (t *tunnel) send(res *registryv1.AttachResponse) error {
	t.sends.Lock()
	defer t.sends.Unlock()
	return t.stream.Send(res)
}

// tunnelled is the connection in a tunnel. It tells a breach of the tunnel's rules from the loss of the connection.
type tunnelled struct {
	net.Conn
	tunnel *tunnel
}

// Read implements net.Conn.
func (c *tunnelled) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if broken := c.tunnel.broken(); err != nil && broken != nil {
		err = fmt.Errorf("%w: %w", checkerhost.ErrBreach, broken)
	}
	return n, err
}

package wire

import (
	"net"
	"sync"
)

// MaxTunnelBytes bounds the bytes of one part of a tunnel.
const MaxTunnelBytes = 64 << 10

// Tunnel carries the bytes of one connection in parts. Send and CloseSend belong to one goroutine, Recv to another.
type Tunnel interface {
	// Send takes at most MaxTunnelBytes, and keeps nothing of them.
	Send(data []byte) error
	// CloseSend says that nothing more is sent.
	CloseSend() error
	// Recv gives the next bytes; they are the caller's until the next call. io.EOF says that the far side has ended in order.
	Recv() ([]byte, error)
}

// Pump carries bytes both ways between a connection and a tunnel until one of them ends, and then closes the connection.
//
// The error is nil if it was the connection that ended, io.EOF if it was the far side, in order, and otherwise what broke the
// tunnel. done is closed when no method of the tunnel is called any more; until its owner ends it, one may block.
func Pump(conn net.Conn, t Tunnel) (done <-chan struct{}, err error) {
	first, ended := make(chan error, 2), make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() {
		first <- toTunnel(t, conn)
		_ = t.CloseSend() // fails only where the tunnel has ended
	})
	both.Go(func() { first <- fromTunnel(conn, t) })
	err = <-first
	_ = conn.Close() // what there is to say has been said
	go func() {
		both.Wait()
		close(ended)
	}()
	return ended, err
}

// toTunnel gives nil where the connection has ended.
func toTunnel(t Tunnel, conn net.Conn) error {
	buf := make([]byte, MaxTunnelBytes)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if err := t.Send(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // how a connection ends is not told apart
		}
	}
}

// fromTunnel gives nil where the connection has ended.
func fromTunnel(conn net.Conn, t Tunnel) error {
	for {
		data, err := t.Recv()
		if err != nil {
			return err
		}
		if len(data) == 0 {
			continue // a reader would take a write of nothing for a sign of life
		}
		if _, err := conn.Write(data); err != nil {
			return nil //nolint:nilerr // how a connection ends is not told apart
		}
	}
}

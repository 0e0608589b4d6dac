package checkerhost

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// ErrBreach is wrapped by what the connection of Over gives to Read where its far side has broken the rules of what carries
// it: such a connection is not lost, and the checker is to blame.
var ErrBreach = errors.New("the connection was broken off")

var errGone = errors.New("the connection is gone, and the checker cannot be dialled")

// link is what is known of the connections of a host. It tells a connection that was lost from one that grpc gave up since
// what came over it was no gRPC: both end a stream as Unavailable. The methods of a nil link know of none.
type link struct {
	single  bool // there is one connection and never another
	dialled atomic.Int64
	lost    atomic.Int64
	breach  atomic.Pointer[error]
}

func (l *link) connections() int64 {
	if l == nil {
		return 0
	}
	return l.dialled.Load()
}

func (l *link) losses() int64 {
	if l == nil {
		return 0
	}
	return l.lost.Load()
}

// hasLost says whether a connection was lost since there were so many losses.
func (l *link) hasLost(since int64) bool {
	n := l.losses()
	return n > since || n > 0 && l.single
}

func (l *link) broken() error {
	if l == nil || l.breach.Load() == nil {
		return nil
	}
	return *l.breach.Load()
}

// dial connects to an address as grpc-go hands it to a dialer.
func (l *link) dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	} else if strings.HasPrefix(address, "\x00") {
		network = "unix"
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.dialled.Add(1)
	return &watched{Conn: conn, link: l}, nil
}

// only gives a dialer that hands out one connection, once.
func (l *link) only(conn net.Conn) func(context.Context, string) (net.Conn, error) {
	return func(context.Context, string) (net.Conn, error) {
		if !l.dialled.CompareAndSwap(0, 1) {
			return nil, errGone
		}
		return &watched{Conn: conn, link: l}, nil
	}
}

// watched notes how a connection ends.
type watched struct {
	net.Conn
	link *link
	over atomic.Bool
}

// Read implements net.Conn.
func (c *watched) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note(err)
	return n, err
}

// Write implements net.Conn.
func (c *watched) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.note(err)
	return n, err
}

// SetWriteDeadline implements net.Conn. grpc-go sets one when it begins to give a connection up, and at no other time: what
// happens to the connection afterwards is no loss.
func (c *watched) SetWriteDeadline(t time.Time) error {
	c.over.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *watched) Close() error {
	c.over.Store(true)
	return c.Conn.Close()
}

func (c *watched) note(err error) {
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded), c.over.Swap(true):
	case errors.Is(err, ErrBreach):
		c.link.breach.Store(&err)
	default:
		c.link.lost.Add(1)
	}
}

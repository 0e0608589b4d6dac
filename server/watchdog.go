package server

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// watchedStream gives up on a client that does not read. Keepalive does not: such a client answers pings.
type watchedStream struct {
	grpc.ServerStream
	timeout time.Duration
	stuck   bool // a message is still being sent, and no other may be
}

// SendMsg implements grpc.ServerStream. A send that is given up ends when the handler returns.
func (s *watchedStream) SendMsg(m any) error {
	if s.stuck {
		return s.gaveUp()
	}
	sent := make(chan error, 1)
	go func() { sent <- s.ServerStream.SendMsg(m) }()
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	select {
	case err := <-sent:
		return err
	case <-timer.C:
		s.stuck = true
		return s.gaveUp()
	}
}

func (s *watchedStream) gaveUp() error {
	return fixture.NewError(fixture.CodeUnavailable, "send", "", fmt.Errorf("%w for %s", errNotReading, s.timeout))
}

var errNotReading = errors.New("the client has not read what was sent to it")

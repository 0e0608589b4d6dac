package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// Listen listens at "unix:/path" or at "host:port". A socket that nobody listens at any more is replaced; a file that is no
// socket never is.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		return new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return nil, errors.Join(fmt.Errorf("listen at %s: another process does", address), conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		if err := removeSocket(path); err != nil {
			return nil, err
		}
	}
	return new(net.ListenConfig).Listen(ctx, "unix", path)
}

// removeSocket looks before it removes: connecting to a file that is no socket is refused as well.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen at unix:%s: there is a file that is no socket", path)
	}
	return os.Remove(path)
}

// Display gives an address in the form that Listen takes.
func Display(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return a.String()
}

// Local says whether only this machine reaches an address.
func Local(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

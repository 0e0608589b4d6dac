//go:build linux

package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server"
)

// newSocketHouse makes a house that serves at a unix socket. When the test has ended, it holds that no goroutine and no socket of
// it is left.
func newSocketHouse(t *testing.T, change func(*server.Config)) *house {
	t.Helper()
	before := goleak.IgnoreCurrent()
	dir, err := os.MkdirTemp("", "rs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		campaign.NothingLeft(t, before)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in the directory for sockets: %v, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return newHouse(t, func(c *server.Config) {
		c.Listen, c.Limits.RequestsPerSecond = "unix:"+filepath.Join(dir, "s"), 1e6
		if change != nil {
			change(c)
		}
	})
}

// rawConn is a connection on which a test writes its own frames.
type rawConn struct {
	net.Conn
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// raw connects, and sends the preface and some settings.
func (h *house) raw(ctx context.Context, settings ...http2.Setting) (*rawConn, error) {
	conn, err := h.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &rawConn{Conn: conn, Framer: http2.NewFramer(conn, conn)}
	c.AllowIllegalWrites = true
	c.enc = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, err
	}
	return c, c.WriteSettings(settings...)
}

type field struct{ name, value string }

// asked gives the header fields of a call.
func asked(method, token string, more ...field) []field {
	out := []field{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "house"}, {"content-type", "application/grpc"}, {"te", "trailers"}}
	if token != "" {
		out = append(out, field{"authorization", "Bearer " + token})
	}
	return append(out, more...)
}

func (c *rawConn) headers(id uint32, end bool, fields []field) error {
	c.block.Reset()
	for _, f := range fields {
		if err := c.enc.WriteField(hpack.HeaderField{Name: f.name, Value: f.value}); err != nil {
			return err
		}
	}
	b := c.block.Bytes()
	const most = 16 << 10 // a frame's
	if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b[:min(most, len(b))], EndStream: end, EndHeaders: len(b) <= most}); err != nil {
		return err
	}
	for len(b) > most {
		b = b[most:]
		if err := c.WriteContinuation(id, len(b) <= most, b[:min(most, len(b))]); err != nil {
			return err
		}
	}
	return nil
}

// message is a gRPC message as it travels.
func message(flag byte, length uint32, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, length), payload...)
}

// said is what the server says of one stream, or of all where it ends the connection.
type said struct {
	http  string
	code  codes.Code
	text  string
	reset string
}

func (s said) String() string {
	switch {
	case s.reset != "":
		return "stream or connection ended: " + s.reset
	case s.code != codes.OK || s.http == "" || s.http == "200":
		return fmt.Sprintf("%s: %s", s.code, s.text)
	}
	return "HTTP " + s.http
}

// answers reads until each of n streams has come to its end, or the connection has.
func (c *rawConn) answers(n int) (out []said) {
	for len(out) < n {
		frame, err := c.ReadFrame()
		if err != nil {
			return append(out, said{reset: "connection"})
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = c.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = c.WritePing(true, f.Data)
			}
		case *http2.RSTStreamFrame:
			out = append(out, said{reset: f.ErrCode.String()})
		case *http2.GoAwayFrame:
			out = append(out, said{reset: f.ErrCode.String()})
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				out = append(out, trailers(f.Fields))
			}
		}
		if err != nil {
			return append(out, said{reset: "connection"})
		}
	}
	return out
}

func trailers(fields []hpack.HeaderField) (s said) {
	s.code = codes.Code(99)
	for _, f := range fields {
		switch f.Name {
		case ":status":
			s.http = f.Value
		case "grpc-status":
			n, err := strconv.ParseUint(f.Value, 10, 32)
			if err == nil {
				s.code = codes.Code(n)
			}
		case "grpc-message":
			s.text = f.Value
			if plain, err := url.PathUnescape(f.Value); err == nil {
				s.text = plain
			}
		}
	}
	return s
}

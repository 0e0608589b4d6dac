//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// hostile is one way to speak to the server as no client would. It says how many answers there must be; a server that ends the
// connection has given all.
type hostile func(c *rawConn, r *rand.Rand, method, token string, payload []byte) (answers int, err error)

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// speak sends the header fields and the bytes of one call.
func speak(c *rawConn, id uint32, fields []field, body []byte) error {
	if err := c.headers(id, false, fields); err != nil {
		return err
	}
	const most = 16 << 10
	for ; len(body) > most; body = body[most:] {
		if err := c.WriteData(id, false, body[:most]); err != nil {
			return err
		}
	}
	return c.WriteData(id, true, body)
}

// withBody is a call in order but for its body.
func withBody(body func(r *rand.Rand, payload []byte) []byte, more ...field) hostile {
	return func(c *rawConn, r *rand.Rand, method, token string, payload []byte) (int, error) {
		return 1, speak(c, 1, asked(method, token, more...), body(r, payload))
	}
}

// withFields is a call in order but for its header fields.
func withFields(change func(r *rand.Rand, fields []field) []field) hostile {
	return func(c *rawConn, r *rand.Rand, method, token string, payload []byte) (int, error) {
		return 1, speak(c, 1, change(r, asked(method, token)), message(0, uint32(len(payload)), payload))
	}
}

func whole(_ *rand.Rand, p []byte) []byte { return message(0, uint32(len(p)), p) }

// replaced replaces one header field, or takes it out.
func replaced(name string, values ...string) hostile {
	return withFields(func(r *rand.Rand, fields []field) []field {
		value := values[r.IntN(len(values))]
		out := fields[:0]
		for _, f := range fields {
			if f.name == name && value == "" {
				continue
			}
			if f.name == name {
				f.value = value
			}
			out = append(out, f)
		}
		return out
	})
}

func added(fields ...field) hostile {
	return withFields(func(r *rand.Rand, have []field) []field { return append(have, fields[r.IntN(len(fields))]) })
}

// frames writes frames that stand for no call.
func frames(write func(c *rawConn, r *rand.Rand) error) hostile {
	return func(c *rawConn, r *rand.Rand, method, token string, payload []byte) (int, error) {
		if err := write(c, r); err != nil {
			return 0, err
		}
		// Whoever still listens is asked something that is in order.
		return 1, speak(c, 101, asked("/grpc.health.v1.Health/Check", ""), message(0, 0, nil))
	}
}

// hostiles are all of them, by name.
var hostiles = map[string]hostile{
	"cut message": withBody(func(r *rand.Rand, p []byte) []byte {
		b := message(0, uint32(len(p)+1+r.IntN(1000)), p)
		return b[:r.IntN(len(b)+1)]
	}),
	"length prefix too large": withBody(func(r *rand.Rand, p []byte) []byte { return message(0, 1<<31|r.Uint32(), p) }),
	"length prefix too small": withBody(func(r *rand.Rand, p []byte) []byte { return message(0, uint32(r.IntN(len(p)+1)), p) }),
	"compressed, says nobody": withBody(func(_ *rand.Rand, p []byte) []byte { return message(1, uint32(len(p)), p) }),
	"compressed, is not":      withBody(func(_ *rand.Rand, p []byte) []byte { return message(1, uint32(len(p)), p) }, field{"grpc-encoding", "gzip"}),
	"unknown compression":     withBody(func(_ *rand.Rand, p []byte) []byte { return message(1, uint32(len(p)), p) }, field{"grpc-encoding", "zip"}),
	"unknown flag":            withBody(func(r *rand.Rand, p []byte) []byte { return message(byte(2+r.IntN(254)), uint32(len(p)), p) }),
	"noise for protobuf":      withBody(func(r *rand.Rand, _ []byte) []byte { b := noise(r, 1+r.IntN(200)); return whole(r, b) }),
	"damaged protobuf": withBody(func(r *rand.Rand, p []byte) []byte {
		b := append(bytes.Clone(p), 0)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return whole(r, b)
	}),
	"deep protobuf": withBody(func(r *rand.Rand, _ []byte) []byte { return whole(r, bytes.Repeat([]byte{0x0b}, 20_000)) }),
	"many messages": withBody(func(r *rand.Rand, p []byte) []byte { return bytes.Repeat(whole(r, p), 2+r.IntN(20)) }),
	"no message":    withBody(func(*rand.Rand, []byte) []byte { return nil }),
	"large message": withBody(func(r *rand.Rand, p []byte) []byte { return whole(r, append(bytes.Clone(p), make([]byte, 100<<10)...)) }),

	"content type":      replaced("content-type", "", "application/json", "text/html", "application/grpc+json", "application/grpc;x", strings.Repeat("x", 300)),
	"method":            replaced(":method", "GET", "PUT", "", "post"),
	"path":              replaced(":path", "", "/", "nothing", "/a", "/a/b/c", "/retrial.gate.v1.GateService/", "/retrial.gate.v1.GateService/Nothing", "/\x00\xff", "/"+strings.Repeat("x", 4000)),
	"te":                replaced("te", "", "gzip"),
	"authorization":     replaced("authorization", "", "Bearer", "Bearer ", "Basic x", "bearer \x00\xff", "Bearer "+strings.Repeat("x", 5000)),
	"two authorization": added(field{"authorization", "Bearer x"}, field{"authorization", ""}),
	"timeout":           added(field{"grpc-timeout", "x"}, field{"grpc-timeout", "-1S"}, field{"grpc-timeout", "99999999999S"}, field{"grpc-timeout", "0n"}, field{"grpc-timeout", "1n"}),
	"binary header":     added(field{"x-bin", "!!!"}, field{"grpc-trace-bin", "\xff"}, field{"grpc-tags-bin", strings.Repeat("A", 3001)}),
	"reserved header":   added(field{":unknown", "x"}, field{"connection", "close"}, field{"Upper", "x"}, field{"transfer-encoding", "chunked"}, field{"grpc-status", "0"}, field{"host", "x"}),
	"oversized headers": withFields(func(r *rand.Rand, have []field) []field {
		for i := range 2 + r.IntN(30) {
			have = append(have, field{fmt.Sprint("x-", i), strings.Repeat("x", 2000+r.IntN(8000))})
		}
		return have
	}),
	"many headers": withFields(func(r *rand.Rand, have []field) []field {
		for i := range 1000 {
			have = append(have, field{fmt.Sprint("x-", i), "y"})
		}
		return have
	}),

	"noise for headers": frames(func(c *rawConn, r *rand.Rand) error {
		return c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, noise(r, 1+r.IntN(300)))
	}),
	"noise for frames": func(c *rawConn, r *rand.Rand, _, _ string, _ []byte) (int, error) {
		if _, err := c.Write(noise(r, 9+r.IntN(2000))); err != nil {
			return 0, err
		}
		return 1, c.Conn.(*net.UnixConn).CloseWrite() // it may have begun a frame of which the rest does not come
	},
	"any frame": frames(func(c *rawConn, r *rand.Rand) error {
		for range 1 + r.IntN(8) {
			if err := c.WriteRawFrame(http2.FrameType(r.IntN(12)), http2.Flags(r.Uint32()), r.Uint32N(12), noise(r, r.IntN(64))); err != nil {
				return err
			}
		}
		return nil
	}),
	"data for nobody": frames(func(c *rawConn, r *rand.Rand) error {
		return c.WriteRawFrame(http2.FrameData, 0, r.Uint32N(9), noise(r, 10))
	}),
	"continuation alone": frames(func(c *rawConn, r *rand.Rand) error { return c.WriteContinuation(1, true, noise(r, 20)) }),
	"window overflow": frames(func(c *rawConn, _ *rand.Rand) error {
		return twice(func() error { return c.WriteWindowUpdate(0, 1<<31-1) })
	}),
	"window of zero": frames(func(c *rawConn, _ *rand.Rand) error {
		return c.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4))
	}),
	"settings that lie": frames(func(c *rawConn, r *rand.Rand) error {
		return c.WriteRawFrame(http2.FrameSettings, 0, 0, noise(r, 6*(1+r.IntN(20))))
	}),
	"cut settings": frames(func(c *rawConn, r *rand.Rand) error {
		return c.WriteRawFrame(http2.FrameSettings, 0, 0, noise(r, 1+r.IntN(5)))
	}),
	"push": frames(func(c *rawConn, _ *rand.Rand) error {
		return c.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
	}),
	"goodbye": frames(func(c *rawConn, r *rand.Rand) error { return c.WriteGoAway(1, http2.ErrCode(r.Uint32()), noise(r, 50)) }),
	"frame over the size": frames(func(c *rawConn, r *rand.Rand) error {
		return c.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 70<<10))
	}),
	"storm of pings": frames(func(c *rawConn, r *rand.Rand) error {
		for range 50 + r.IntN(100) {
			if err := c.WritePing(r.IntN(2) == 0, [8]byte{1}); err != nil {
				return err
			}
		}
		return nil
	}),
	"storm of settings": frames(func(c *rawConn, r *rand.Rand) error {
		for range 50 + r.IntN(100) {
			if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: r.Uint32N(1 << 20)}); err != nil {
				return err
			}
		}
		return nil
	}),

	"bad preface": func(c *rawConn, r *rand.Rand, _, _ string, _ []byte) (int, error) {
		// The preface and the settings were sent; what follows is none.
		_, err := c.Write([]byte(http2.ClientPreface))
		return 1, err
	},
	"storm of resets": func(c *rawConn, r *rand.Rand, method, token string, p []byte) (int, error) {
		n := uint32(50 + r.IntN(100))
		for i := range n {
			if err := c.headers(1+2*i, false, asked(method, token)); err != nil {
				return 0, err
			}
			if r.IntN(2) == 0 {
				if err := c.WriteData(1+2*i, r.IntN(2) == 0, message(0, uint32(len(p)), p)); err != nil {
					return 0, err
				}
			}
			if err := c.WriteRSTStream(1+2*i, http2.ErrCodeCancel); err != nil {
				return 0, err
			}
		}
		return 1, speak(c, 1001, asked("/grpc.health.v1.Health/Check", ""), message(0, 0, nil))
	},
	"stream used twice": func(c *rawConn, r *rand.Rand, method, token string, p []byte) (int, error) {
		if err := c.headers(3, false, asked(method, token)); err != nil {
			return 0, err
		}
		return 1, speak(c, []uint32{3, 1, 2}[r.IntN(3)], asked(method, token), message(0, uint32(len(p)), p))
	},
	"hangs up": func(c *rawConn, r *rand.Rand, method, token string, p []byte) (int, error) {
		if err := c.headers(1, false, asked(method, token)); err != nil {
			return 0, err
		}
		b := message(0, uint32(len(p)), p)
		if err := c.WriteData(1, false, b[:r.IntN(len(b)+1)]); err != nil {
			return 0, err
		}
		return 0, c.SetDeadline(time.Now().Add(patience))
	},
}

func twice(f func() error) error {
	if err := f(); err != nil {
		return err
	}
	return f()
}

package wire_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/server/wire"
)

func TestListen(t *testing.T) {
	dir, err := os.MkdirTemp("", "w") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx := context.Background()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Listen(ctx, "unix:"+precious); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file: %v", err)
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "x" {
		t.Errorf("the file is now %q, %v", b, err)
	}
	address := "unix:" + filepath.Join(dir, "s")
	l, err := wire.Listen(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	if got := wire.Display(l.Addr()); got != address {
		t.Errorf("got %s", got)
	}
	if _, err := wire.Listen(ctx, address); err == nil || !strings.Contains(err.Error(), "another process does") {
		t.Errorf("a socket in use: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as a process that was killed leaves it
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := wire.Listen(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte{0x0a, 0x01, 'x', 0x10, 0x05})
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		w := wire.Over(b)
		for w.Next() {
			total += len(w.Bytes)
		}
		err := w.Err
		if total > len(b) || err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Fatalf("%d bytes of %d, %v", total, len(b), err)
		}
	})
}

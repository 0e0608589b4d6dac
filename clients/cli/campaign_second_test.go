//go:build linux

package cli_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/internal/campaign"
)

// R16: second servers on one store, and on one address, are refused in words, while the first is under load and takes no harm.
func TestCampaignSecondServer(t *testing.T) {
	c := campaign.Begin(t, 5, 1)
	y, l := newYard(t), &ledger{}
	first := y.start(t)
	conn := y.dial(t)
	if _, err := y.push(t.Context(), conn, trialSet, 0, 15, 99); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	work := &load{t: t, y: y, l: l, name: "s", blocks: make(chan *tried, 64), pins: &pins{}}
	done := make(chan struct{})
	go func() { defer close(done); work.run(ctx, c.Rand.Uint64()) }()
	for c.Next() {
		before := l.mark()
		store, address := y.spawn(t, "--listen", "unix:"+y.path("other")), y.spawn(t)
		var all sync.WaitGroup
		for second, says := range map[*process]string{store: "another process holds it", address: "another process does"} {
			all.Go(func() {
				if status := second.await(t); status == 0 || status == -1 || !strings.Contains(second.text(), says) {
					t.Errorf("a second server ends in %d and says %q, want %q", status, second.text(), says)
				}
			})
		}
		all.Wait()
		if _, err := os.Stat(y.path("other")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the second server's socket: %v", err)
		}
		if l.mark() == before {
			t.Error("nothing was acknowledged while the others tried")
		}
	}
	cancel()
	<-done
	_ = conn.Close()
	if status := first.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("the first ends in %d: %s", status, first.text())
	}
	y.offline(t, true)
	first = y.start(t)
	conn = y.dial(t)
	l.check(t, y, conn, mark{})
	_ = conn.Close()
	first.end(t, syscall.SIGTERM)
}

// R16: a server does not start over a store that was restored from a backup, after a stop and after a kill. Where the checkpoint
// was restored with it, nothing on the machine shows that; whoever remembers the log does.
func TestCampaignRestoredBackup(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			checkpoint := y.store + fixturestore.CheckpointSuffix
			p := y.start(t)
			conn := y.dial(t)
			if _, err := y.push(t.Context(), conn, trialSet, 0, 15, 99); err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			p.end(t, signal)
			backup, err := os.ReadFile(y.store)
			signed, signedErr := os.ReadFile(checkpoint)
			if err := errors.Join(err, signedErr); err != nil {
				t.Fatal(err)
			}
			ask := func(pin retrial.Pin) (retrial.Pin, error) {
				conn := y.dial(t)
				defer conn.Close()
				ctx := y.as(t.Context(), "rob")
				req := &gatev1.GetGateStatusRequest{Release: "v1", Sets: []string{trialSet}}
				res, err := gatev1.NewGateServiceClient(conn).GetGateStatus(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				return retrial.CheckGate(ctx, conn, req, res, pin)
			}
			p = y.start(t)
			conn = y.dial(t)
			if _, err := y.push(t.Context(), conn, trialSet, 1, 15, 98); err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			pin, err := ask(retrial.Pin{})
			if err != nil || pin.Size != 2 {
				t.Fatalf("%+v, %v", pin, err)
			}
			p.end(t, signal)

			if err := os.WriteFile(y.store, backup, 0o600); err != nil {
				t.Fatal(err)
			}
			p = y.spawn(t)
			if status := p.await(t); status == 0 || !strings.Contains(p.text(), "its log has 1 entries, of which there were 2") {
				t.Errorf("the server ends in %d and says %s", status, p.text())
			}

			if err := os.WriteFile(checkpoint, signed, 0o600); err != nil {
				t.Fatal(err)
			}
			p = y.start(t)
			if _, err := ask(pin); !errors.Is(err, retrial.ErrTampered) || !strings.Contains(err.Error(), "the server went back") {
				t.Errorf("a client that remembers the log is told %v", err)
			}
			p.end(t, syscall.SIGTERM)
		})
	}
}

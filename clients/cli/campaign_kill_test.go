//go:build linux

package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/internal/campaign"
)

// hold holds an answer against the log as reader i remembers it.
func (p *pins) hold(ctx context.Context, t *testing.T, conn *grpc.ClientConn, i int, req *gatev1.GetGateStatusRequest, res *gatev1.GetGateStatusResponse) error {
	pin, err := retrial.CheckGate(ctx, conn, req, res, p[i])
	if err == nil {
		p[i] = pin
	}
	if errors.Is(err, retrial.ErrTampered) {
		t.Errorf("reader %d, who remembers %d entries: %v", i, p[i].Size, err)
	}
	return err
}

// killsPerStore bounds how much there is to read in a store.
const killsPerStore = 50

// R14, R16, R29: a server that is killed under load at any instant has lost nothing that it acknowledged, has published nothing
// by halves, has gone back behind no checkpoint that anybody saw, and passes nothing that it did not decide.
func TestCampaignKill(t *testing.T) {
	c := campaign.Begin(t, 1000, 10)
	var total ledger
	for ran := true; ran && !t.Failed(); {
		t.Run("store", func(t *testing.T) {
			l := killStore(t, c)
			ran = l != nil
			if ran {
				total.cuts, total.whole, total.acknowledged = total.cuts+l.cuts, total.whole+l.whole, total.acknowledged+l.acknowledged
			}
		})
	}
	t.Logf("acknowledged: %d; replays found cut: %d, decided: %d", total.acknowledged, total.cuts, total.whole)
	if total.acknowledged < c.Round()/2 || c.Round() >= 100 && total.cuts == 0 {
		t.Error("the load is too small to show anything")
	}
}

// killStore kills the servers of one store. It is nil if there was no round left.
func killStore(t *testing.T, c *campaign.Campaign) *ledger {
	if !c.Next() {
		return nil
	}
	y, l, remembered := newYard(t), &ledger{}, &pins{}
	p := y.start(t)
	conn := y.dial(t)
	if _, err := y.push(t.Context(), conn, trialSet, 0, 15, 99); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for n := 1; ; n++ {
		from := l.mark()
		older, err := os.ReadFile(y.store + fixturestore.CheckpointSuffix)
		if err != nil {
			t.Fatal(err)
		}
		killUnderLoad(t, c, y, l, remembered, p)
		if n%9 == 0 { // as if it had been killed between the database and the checkpoint
			if err := os.WriteFile(y.store+fixturestore.CheckpointSuffix, older, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		y.offline(t, n%10 == 0 || n >= killsPerStore)
		for c.Rand.IntN(6) == 0 && c.Next() { // killed while it starts
			p = y.spawn(t)
			<-time.After(time.Duration(c.Rand.IntN(60)) * time.Millisecond)
			p.end(t, syscall.SIGKILL)
			y.offline(t, false)
		}
		p = y.start(t)
		conn := y.dial(t)
		if n%10 == 0 || n >= killsPerStore {
			from = mark{}
		}
		l.check(t, y, conn, from)
		_ = conn.Close()
		if n >= killsPerStore || t.Failed() || !c.Next() {
			break
		}
	}
	if status := p.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("the server ends in %d: %s", status, p.text())
	}
	y.offline(t, true)
	if left := y.leftovers(t); len(left) > 0 {
		t.Errorf("%d files lie beside the store: %q", len(left), left[0])
	}
	return l
}

// killUnderLoad kills a server at a random instant.
func killUnderLoad(t *testing.T, c *campaign.Campaign, y *yard, l *ledger, remembered *pins, p *process) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	work := &load{t: t, y: y, l: l, name: fmt.Sprint(c.Round()), blocks: make(chan *tried, 64), pins: remembered}
	seed, wait := c.Rand.Uint64(), time.Duration(c.Rand.IntN(150))*time.Millisecond
	done := make(chan struct{})
	go func() { defer close(done); work.run(ctx, seed) }()
	if before := l.count(); seed%4 > 0 && !campaign.Eventually(func() bool { return l.count() > before }) { // one in four dies at once
		t.Error("nothing is acknowledged")
	}
	<-time.After(wait)
	if status := p.end(t, syscall.SIGKILL); status != -1 {
		t.Errorf("the server ends in %d before it was killed: %s", status, p.text())
	}
	cancel()
	<-done
	y.checkGone(t)
}

package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"

	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// lentName makes the name of a checker that is lent to a server for one run.
//
// One that belongs to an idempotency key has the same name each time: the name is a part of the request, and the second must be
// the first.
func lentName(key, side string) string {
	if key == "" {
		return "run-" + strings.ToLower(rand.Text())
	}
	sum := sha256.Sum256([]byte(key + "\x00" + side))
	return "run-" + hex.EncodeToString(sum[:16])
}

// lend launches checkers in this process and attaches each to a server under its name. takeBack ends them: no process of theirs is
// left when it returns. What it says of one that has ended by itself goes to stderr, since the server cannot know.
func (a *app) lend(ctx context.Context, conn *grpc.ClientConn, checkers map[string]server.CheckerConfig) (takeBack func() error, err error) {
	var mu sync.Mutex // guards all and errs
	var all []*lent
	var errs []error
	var wg sync.WaitGroup
	for name, c := range checkers {
		wg.Go(func() {
			l, err := lendOne(ctx, conn, name, c)
			mu.Lock()
			defer mu.Unlock()
			if l != nil {
				all = append(all, l)
			}
			errs = append(errs, err)
		})
	}
	wg.Wait()
	takeBack = func() error {
		var errs []error
		for _, l := range all {
			if last := l.host.Ended(0); last != "" {
				fmt.Fprintf(a.stderr, "retrial: %s: %s\n", l.host, last)
			}
			errs = append(errs, l.close())
		}
		return errors.Join(errs...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, takeBack())
	}
	return takeBack, nil
}

// lent is a checker of this process that a server asks.
type lent struct {
	host   *checkerhost.Host
	cancel context.CancelFunc
	ended  chan struct{} // closed when the bridge has ended
}

// lendOne launches a checker, attaches it, and waits until it can be named.
func lendOne(ctx context.Context, conn *grpc.ClientConn, name string, c server.CheckerConfig) (*lent, error) {
	h, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	pipe, err := h.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	// A run that is cancelled ends first: it is cancelled, and has not lost its checker.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &lent{host: h, cancel: cancel, ended: make(chan struct{})}
	attached, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(l.ended)
		failed <- retrial.Bridge(inner, conn, name, pipe, func(*registryv1.Instance) { close(attached) })
	}()
	select {
	case <-attached:
		return l, nil
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		err = errors.New("it has closed its connection")
	}
	return nil, errors.Join(err, l.close())
}

func (l *lent) close() error {
	l.cancel()
	<-l.ended
	return l.host.Close()
}

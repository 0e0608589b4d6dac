package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/wire"
)

// defaultStore is where the server in this process keeps its file.
const defaultStore = ".retrial/retrial.db"

const maxMessageBytes = 16 << 20

// noLimit leaves the timeouts of a run to its flags, where nobody else is served.
const noLimit = 365 * 24 * time.Hour

// connection is a way to a service: a server elsewhere, or the one in this process.
type connection struct {
	*grpc.ClientConn
	close func() error
}

// connect reaches the server that the flags name, and lends it these checkers. Without one it starts one in this process, with
// them.
func (a *app) connect(ctx context.Context, checkers map[string]server.CheckerConfig) (*connection, error) {
	if a.server != "" {
		conn, err := a.dial()
		if err != nil {
			return nil, usage(err)
		}
		takeBack, err := a.lend(ctx, conn, checkers)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return &connection{conn, func() error { return errors.Join(takeBack(), conn.Close()) }}, nil
	}
	return a.embed(ctx, checkers)
}

// dial reaches the server that the flags name.
func (a *app) dial() (*grpc.ClientConn, error) {
	access := a.access
	access.Token = os.Getenv("RETRIAL_TOKEN")
	if a.tokenFile != "" {
		b, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		access.Token = strings.TrimSpace(string(b))
	}
	access.InsecureToken = wire.Local(a.server)
	opts, err := access.DialOptions()
	if err != nil {
		return nil, err
	}
	return dial(a.server, opts...)
}

func dial(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	opts = append(opts,
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)))
	return grpc.NewClient(target, opts...)
}

// headroom is allocated and never touched, so that it takes no memory: the collector, which otherwise runs whenever the heap
// has grown by what little lives in it, a hundred times a second during a replay, waits for this much more. A server is
// spared: there it is memory that counts.
const headroom = 32 << 20

// embed runs the server in this process, behind a listener in memory: the same code path as any other server.
func (a *app) embed(ctx context.Context, checkers map[string]server.CheckerConfig) (*connection, error) {
	ballast := make([]byte, headroom)
	c := server.Config{Checkers: checkers, DialAllow: []string{"*"}, PolicyOverride: true,
		Limits: server.Limits{CaseTimeout: noLimit, RunTimeout: noLimit}}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	reached := server.NewCheckers(c)
	names := make([]string, 0, len(checkers))
	for name := range checkers {
		names = append(names, name)
	}
	reached.Start(ctx, names...) // checkers start while the file is opened
	store, key, err := server.OpenStore(a.store, "")
	if err != nil {
		return nil, errors.Join(err, reached.Close())
	}
	log := a.logger()
	s, err := server.New(c, server.Parts{Store: store, Checkers: reached, Key: key, Log: log})
	if err != nil {
		return nil, errors.Join(err, store.Close(), reached.Close())
	}
	l := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop := func() error { return errors.Join(s.Stop(), <-served, store.Close()) }
	conn, err := dial("passthrough:embedded", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return &connection{conn, func() error {
		defer runtime.KeepAlive(ballast)
		return errors.Join(conn.Close(), stop())
	}}, nil
}

// logger logs to stderr where that was asked for.
func (a *app) logger() *zap.Logger {
	if !a.verbose {
		return zap.NewNop()
	}
	return newLogger(a.stderr, true)
}

// with connects, runs fn, and lets go.
func (a *app) with(ctx context.Context, checkers map[string]server.CheckerConfig, fn func(*connection) error) error {
	conn, err := a.connect(ctx, checkers)
	if err != nil {
		return err
	}
	return errors.Join(fn(conn), conn.close())
}

// needStore keeps a command that only reads from making an empty store, in which everything is unknown.
func (a *app) needStore() error {
	if a.server != "" {
		return nil
	}
	if _, err := os.Stat(a.store); errors.Is(err, os.ErrNotExist) {
		return usage(errors.New("there is no store at " + filepath.Clean(a.store) + ": run or push something first, or name another one with --store or --server"))
	}
	return nil
}

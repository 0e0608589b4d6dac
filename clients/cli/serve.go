package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/wire"
)

// defaultListen is where a server listens that is told nothing else.
const defaultListen = "127.0.0.1:7433"

func (a *app) serveCommand() *cobra.Command {
	var file, listen string
	var reflection, insecure bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long:  "Serve runs the service until it is told to stop, by an interrupt or SIGTERM. It logs JSON lines to stderr.\nThe configuration file is described in the README.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.server != "" {
				return usage(errors.New("serve is the server; --server is for its clients"))
			}
			var c server.Config
			if file != "" {
				var err error
				if c, err = server.ReadConfig(file); err != nil {
					return usage(err)
				}
			}
			if listen != "" || c.Listen == "" {
				c.Listen = listen
			}
			if c.Listen == "" {
				c.Listen = defaultListen
			}
			if c.Store == "" || cmd.Flags().Changed("store") {
				c.Store = a.store
			}
			c.Reflection = c.Reflection || reflection
			c.Insecure = c.Insecure || insecure
			if err := c.Validate(); err != nil {
				return usage(err)
			}
			return a.serve(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&file, "config", "c", "", "configuration file (YAML)")
	f.StringVar(&listen, "listen", "", "address to listen at, such as 127.0.0.1:7433 or unix:/run/retrial.sock (default: "+defaultListen+")")
	f.BoolVar(&reflection, "reflection", false, "let clients such as grpcurl ask for the contract")
	f.BoolVar(&insecure, "insecure", false, "admit an address that other machines reach; nothing on it is encrypted or authenticated")
	return cmd
}

func (a *app) serve(ctx context.Context, c server.Config) error {
	log := newLogger(a.stderr, a.verbose)
	v, err := show(ctx, c, log)
	if err != nil {
		return err
	}
	return errors.Join(a.serveSeen(ctx, c, v, log), v.hide(log))
}

func (a *app) serveSeen(ctx context.Context, c server.Config, v *visible, log *zap.Logger) error {
	l, err := wire.Listen(ctx, c.Listen)
	if err != nil {
		return &exit{exitUndecided, err}
	}
	store, key, err := server.OpenStore(c.Store, c.Key)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s, err := server.New(c, server.Parts{Store: store, Checkers: server.NewCheckers(c), Key: key, Log: log, Telemetry: v.telemetry, Conformance: conforms})
	if err != nil {
		return errors.Join(err, store.Close(), l.Close())
	}
	v.server.Store(s)
	if err := s.Require(ctx); err != nil {
		return errors.Join(err, s.Stop(), store.Close(), l.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	log.Info("serving", zap.String("address", wire.Display(l.Addr())), zap.String("store", store.Path()), zap.Int("checkers", len(c.Checkers)))
	select {
	case err = <-served: // it ended by itself
		err = errors.Join(err, s.Stop())
	case <-ctx.Done():
		log.Info("stopping")
		err = errors.Join(s.Stop(), <-served)
	}
	err = errors.Join(err, store.Close())
	log.Info("stopped", zap.Error(err))
	return err
}

func (a *app) healthCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server whether it is healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.server == "" {
				a.server = defaultListen
			}
			conn, err := a.dial()
			if err != nil {
				return usage(err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			res, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
			if err := errors.Join(err, conn.Close()); err != nil {
				return err
			}
			if !a.quiet {
				fmt.Fprintln(a.stdout, res.GetStatus())
			}
			if res.GetStatus() != healthv1.HealthCheckResponse_SERVING {
				return &exit{status: exitUndecided}
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for an answer")
	return cmd
}

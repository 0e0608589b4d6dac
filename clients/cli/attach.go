package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

func (a *app) attachCommand() *cobra.Command {
	var name, level string
	var read []string
	cmd := &cobra.Command{
		Use:   "attach --server ADDRESS --name NAME COMMAND [ARGUMENT…]",
		Short: "Launch a checker here, and lend it to a server for as long as it lives",
		Long: strings.TrimSpace(`
Attach launches a checker as a child process and attaches it to a server, over a stream that this process opens: the
checker needs no port. Runs can name it until this command ends. Where the server is gone, the checker is attached
again once it is back. Several of one build can be attached under one name: they share the cases of a run.

The command ends in order when it is told to stop, and with status 4 when the checker ends. Flags stand before COMMAND.`),
		Example: "  retrial checkers attach --server 127.0.0.1:7433 --name next ./bin/checker --strict",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.server == "" || name == "" {
				return usage(errors.New("--server and --name are needed: which server, and by which name"))
			}
			return a.attach(cmd.Context(), name, server.CheckerConfig{Command: args, Sandbox: level, Read: read})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the name under which runs can name the checker")
	sandboxFlags(cmd, &level, &read)
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// endedSoon is how long the end of a checker is waited for whose connection has ended.
const endedSoon = time.Second

// attach keeps a launched checker attached until ctx or the checker ends.
func (a *app) attach(ctx context.Context, name string, c server.CheckerConfig) error {
	conn, err := a.dial()
	if err != nil {
		return usage(err)
	}
	h, err := c.Open(ctx)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	return errors.Join(a.keepAttached(ctx, conn, name, h), h.Close(), conn.Close())
}

func (a *app) keepAttached(ctx context.Context, conn *grpc.ClientConn, name string, h *checkerhost.Host) error {
	alive, over := context.WithCancelCause(ctx)
	defer over(nil)
	err := retrial.Reattach(alive, a.stderr, func(ctx context.Context, attached func()) error {
		pipe, err := h.Connect(ctx)
		lost := err != nil
		if err == nil {
			err = retrial.Bridge(ctx, conn, name, pipe, func(in *registryv1.Instance) {
				attached()
				fmt.Fprintf(a.stderr, "%s %s is attached to %s as %s, instance %s\n", in.GetCheckerName(), in.GetVersion(), a.server, name, in.GetInstanceId())
			})
		}
		if err == nil {
			lost, err = true, errors.New("the checker has closed its connection")
		}
		soon := time.Duration(0)
		if lost {
			soon = endedSoon
		}
		if last := h.Ended(soon); last != "" {
			over(&exit{exitUndecided, fmt.Errorf("%s: %s", h, last)})
		}
		return err
	})
	if ctx.Err() == nil && alive.Err() != nil {
		return context.Cause(alive)
	}
	return err
}

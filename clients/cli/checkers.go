package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/server"
)

func (a *app) checkersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkers",
		Short: "List checkers, and ask them who they are",
		Args:  cobra.NoArgs,
		RunE:  noCommand,
	}
	list := &cobra.Command{
		Use:   "list [DIRECTORY]",
		Short: "List the checkers of a server's registry, or those that a set's directory names",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.server != "" && len(args) > 0 {
				return usage(errors.New("a directory and --server exclude each other"))
			}
			if a.server != "" {
				return a.with(cmd.Context(), nil, func(conn *connection) error { return a.listCheckers(cmd.Context(), conn) })
			}
			c, err := setdir.ReadConfig(directory(args))
			if err != nil {
				return err
			}
			return a.listOwn(c)
		},
	}
	describe := &cobra.Command{
		Use:   "describe CHECKER",
		Short: "Start or dial a checker, and print what it says about itself",
		Long: strings.TrimSpace(`
Describe takes a command ("./checker --strict"), an address ("unix:/run/c.sock"), or with --server the name of a
registered checker.`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.describe(cmd.Context(), args[0]) },
	}
	cmd.AddCommand(list, describe, a.attachCommand())
	return cmd
}

func (a *app) listCheckers(ctx context.Context, conn *connection) error {
	t := newTable(a.stdout)
	a.head(t, "CHECKER", "REACHED", "ADDRESS", "INSTANCE", "VERSION", "BUILD", "BROUGHT BY", "SINCE")
	defer t.flush()
	req := &registryv1.ListCheckersRequest{}
	all := rows(ctx, registryv1.NewRegistryServiceClient(conn).ListCheckers, req, &req.PageToken, (*registryv1.ListCheckersResponse).GetCheckers)
	return list(a, 0, all, func(c *registryv1.RegisteredChecker) {
		if len(c.GetInstances()) == 0 {
			t.row(c.GetName(), reached(c.GetTransport()), c.GetAddress())
		}
		for _, in := range c.GetInstances() {
			t.row(c.GetName(), reached(in.GetTransport()), in.GetAddress(), in.GetInstanceId(), in.GetCheckerName()+" "+in.GetVersion(),
				in.GetBuildDigest(), in.GetBroughtBy(), in.GetSince().AsTime().Format(time.RFC3339))
		}
	})
}

func reached(t registryv1.Transport) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "TRANSPORT_"))
}

func (a *app) listOwn(c setdir.Config) error {
	t := newTable(a.stdout)
	a.head(t, "CHECKER", "REACHED", "BY")
	defer t.flush()
	for _, side := range []struct {
		name   string
		config setdir.CheckerConfig
	}{{baselineName, c.Baseline}, {candidateName, c.Candidate}} {
		how, by := "-", "(none)"
		switch {
		case len(side.config.Command) > 0:
			how, by = "launched", strings.Join(side.config.Command, " ")
		case side.config.Address != "":
			how, by = "dialled", side.config.Address
		case side.config.Name != "":
			how, by = "registered", side.config.Name
		}
		if a.json {
			if err := a.printValue(map[string]any{"name": side.name, "reached": how, "by": by, "parameters": side.config.Parameters}); err != nil {
				return err
			}
			continue
		}
		t.row(side.name, how, by)
	}
	return nil
}

func (a *app) describe(ctx context.Context, what string) error {
	c, err := a.parseChecker(what)
	if err != nil {
		return usage(err)
	}
	if a.server != "" {
		if c.Name == "" {
			return usage(errors.New("with --server, name a checker of its registry"))
		}
		return a.with(ctx, nil, func(conn *connection) error {
			res, err := registryv1.NewRegistryServiceClient(conn).DescribeChecker(ctx, &registryv1.DescribeCheckerRequest{Name: c.Name})
			if err != nil {
				return err
			}
			return a.printDescription(res.GetDescription())
		})
	}
	d, err := server.Describe(ctx, server.CheckerConfig{Command: c.Command, Address: c.Address})
	if err != nil {
		return err
	}
	return a.printDescription(d)
}

func (a *app) printDescription(d *checkerv1.DescribeResponse) error {
	if a.json {
		return printJSON(a.stdout, d)
	}
	list := func(words []string) string {
		if len(words) == 0 {
			return "(not declared)"
		}
		return strings.Join(words, ", ")
	}
	fmt.Fprintf(a.stdout, "%s %s\nbuild          %s\ncontract       %d\nconfiguration  %s\nverdicts       %s\nreason codes   %s\ncalls stubs    %t\n",
		d.GetName(), d.GetVersion(), d.GetBuildDigest(), d.GetContractVersion(), d.GetConfigurationVersion(), list(d.GetVerdicts()), list(d.GetReasonCodes()), d.GetCallsStubs())
	if len(d.GetParameters()) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	t := newTable(a.stdout)
	t.row("PARAMETER", "TYPE", "DEFAULT", "DESCRIPTION")
	for _, p := range d.GetParameters() {
		t.row(p.GetName(), strings.ToLower(strings.TrimPrefix(p.GetType().String(), "PARAMETER_TYPE_")), string(p.GetDefaultJson()), p.GetDescription())
	}
	t.flush()
	return nil
}

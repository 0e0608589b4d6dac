package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// Main runs the command line and gives the exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends what is under way in order; a second one is not caught any more.
	context.AfterFunc(ctx, stop)

	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitPass
	}
	if text := errorText(err); text != "" {
		fmt.Fprintln(stderr, "retrial: "+legible(text))
	}
	return exitStatus(err)
}

// legible takes the control characters out of a text of somebody else's, but for line feeds and tabs.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

// errorText gives an error as a person reads it: a status without its code, since the exit status says that.
func errorText(err error) string {
	var e *exit
	if errors.As(err, &e) {
		if e.err == nil {
			return ""
		}
		err = e.err
	}
	s := statusIn(err)
	switch {
	case errors.Is(err, retrial.ErrNoDecision) && s != nil && s.Code() == codes.Canceled:
		return "release blocked: the run was cancelled"
	case errors.Is(err, retrial.ErrNoDecision) && s != nil:
		return "no decision: " + s.Message()
	case errors.Is(err, retrial.ErrNoDecision):
		return "release blocked: " + err.Error()
	case s != nil:
		return s.Message()
	}
	return err.Error()
}

// app is what all commands share.
type app struct {
	stdout, stderr io.Writer
	server         string
	store          string
	access         retrial.Access
	tokenFile      string
	json, quiet    bool
	verbose        bool
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	a := &app{stdout: stdout, stderr: stderr}
	root := &cobra.Command{
		Use:   "retrial",
		Short: "Try past decisions again before a changed checker is released",
		Long: strings.TrimSpace(`
Retrial keeps past decisions of a checker as fixtures, replays them against the checker as released and as
proposed, shows every decision that would now come out differently, and rules: may this release go out?

` + exitHelp),
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: noCommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"tls", "ca", "cert", "cert-key", "token-file"} {
				if a.server == "" && cmd.Flags().Changed(name) && cmd.Name() != "health" {
					return usage(fmt.Errorf("--%s is for a server: say which with --server", name))
				}
			}
			if a.server != "" && cmd.Flags().Changed("store") {
				return usage(errors.New("--server and --store exclude each other: a server has its own store"))
			}
			return nil
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w\nrun `%s --help` for what there is", err, cmd.CommandPath()))
	})
	f := root.PersistentFlags()
	f.StringVar(&a.server, "server", "", "address of a server, such as 127.0.0.1:7433 or unix:/run/retrial.sock (default: a server in this process)")
	f.BoolVar(&a.access.TLS, "tls", false, "encrypt, and trust the server by the authorities of this system")
	f.StringVar(&a.access.CA, "ca", "", "encrypt, and trust the server by the authorities in this PEM file")
	f.StringVar(&a.access.Cert, "cert", "", "client certificate (PEM)")
	f.StringVar(&a.access.Key, "cert-key", "", "key of the client certificate (PEM)")
	f.StringVar(&a.tokenFile, "token-file", "", "file with the token that says who calls (default: $RETRIAL_TOKEN)")
	f.StringVar(&a.store, "store", defaultStore, "database file of the server in this process")
	f.BoolVar(&a.json, "json", false, "print JSON, one document a line, for machines")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print the result alone")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log to stderr what the server in this process does")
	root.AddGroup(&cobra.Group{ID: "main", Title: "Commands:"}, &cobra.Group{ID: "service", Title: "Service:"})
	for _, c := range []*cobra.Command{a.runCommand(), a.fixturesCommand(), a.gateCommand(), a.checkersCommand(), a.replaysCommand(), a.stubsCommand(), a.freezeCommand(), a.merkleCommand(), a.conformanceCommand()} {
		c.GroupID = "main"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{a.serveCommand(), a.healthCommand(), a.tokenCommand()} {
		c.GroupID = "service"
		root.AddCommand(c)
	}
	root.AddCommand(a.versionCommand(), a.checkerCommand(), a.checkPagesCommand())
	wrapArgs(root)
	return root
}

// noCommand answers where a command is missing: with the help, and not with success.
func noCommand(cmd *cobra.Command, _ []string) error {
	cmd.SetOut(cmd.ErrOrStderr())
	if err := cmd.Help(); err != nil {
		return err
	}
	return usage(fmt.Errorf("say which: %s has several commands", cmd.CommandPath()))
}

// wrapArgs has every complaint about arguments end in the usage status.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage(fmt.Errorf("%w\nrun `%s --help` for what there is", err, cmd.CommandPath()))
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
}

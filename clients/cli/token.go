package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/server"
)

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of a server's callers",
		Long: strings.TrimSpace(`
A server that is configured with a file of tokens (auth.tokens) knows its callers by them, and reads the file again when
it changes. The file holds hashes: a token is shown once, when it is made.`),
		Args: cobra.NoArgs,
		RunE: noCommand,
	}
	cmd.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return cmd
}

func readTokens(file string) ([]server.Token, error) {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return server.ReadTokens(file)
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var file, name string
	var roles []string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "create --file FILE --name NAME --role ROLE… --expires-in 2160h",
		Short: "Make a token, and add its hash to the file",
		Long: strings.TrimSpace(`
Create prints the token, once and alone, and adds its hash to the file. Roles: reader, submitter (runs), author
(versions), approver (approvals and waivers), registrar (checkers), auditor (the log), admin. Nobody is both approver
and submitter.`),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file == "" || name == "" || len(roles) == 0 || lasts <= 0 {
				return usage(errors.New("say where, for whom, for what and for how long: --file, --name, --role, --expires-in"))
			}
			tokens, err := readTokens(file)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(tokens, func(t server.Token) bool { return t.Name == name }) {
				return usage(fmt.Errorf("%s has a token for %q: revoke it first", file, name))
			}
			var may []server.Role
			for _, r := range roles {
				may = append(may, server.Role(r))
			}
			secret, t, err := server.NewToken(name, may, time.Now().Add(lasts).Truncate(time.Second))
			if err != nil {
				return usage(err)
			}
			if err := server.WriteTokens(file, append(tokens, t)); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, secret)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "file", "", "the file of tokens")
	f.StringVar(&name, "name", "", "the caller's name, as it stands in records")
	f.StringSliceVar(&roles, "role", nil, "what the caller may do (repeatable)")
	f.DurationVar(&lasts, "expires-in", 0, "how long it lasts, such as 2160h for 90 days")
	return cmd
}

func (a *app) tokenListCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "list --file FILE",
		Short: "List the tokens of a file: whose they are, not what they are",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file == "" {
				return usage(errors.New("say which file: --file"))
			}
			tokens, err := server.ReadTokens(file)
			if err != nil {
				return err
			}
			t := newTable(a.stdout)
			a.head(t, "NAME", "ROLES", "EXPIRES")
			defer t.flush()
			for _, token := range tokens {
				if a.json {
					if err := a.printValue(map[string]any{"name": token.Name, "roles": token.Roles, "expires_at": token.ExpiresAt}); err != nil {
						return err
					}
					continue
				}
				var roles []string
				for _, r := range token.Roles {
					roles = append(roles, string(r))
				}
				t.row(token.Name, strings.Join(roles, ", "), when(token.ExpiresAt))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the file of tokens")
	return cmd
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "revoke --file FILE NAME",
		Short: "Take a caller's token out of the file",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return usage(errors.New("say which file: --file"))
			}
			tokens, err := server.ReadTokens(file)
			if err != nil {
				return err
			}
			left := slices.DeleteFunc(slices.Clone(tokens), func(t server.Token) bool { return t.Name == args[0] })
			if len(left) == len(tokens) {
				return usage(fmt.Errorf("%s has no token for %q", file, args[0]))
			}
			return server.WriteTokens(file, left)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the file of tokens")
	return cmd
}

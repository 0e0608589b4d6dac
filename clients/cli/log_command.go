package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/identity"
)

func (a *app) merkleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show, export and verify the log that shows tampering",
		Long: strings.TrimSpace(`
Every version, tag, approval, decision and waiver is a leaf of a Merkle log (RFC 6962), written with the record that it is
about. After each write the server signs a checkpoint, and keeps the newest one in a file beside the database.`),
		Args: cobra.NoArgs,
		RunE: noCommand,
	}
	cmd.AddCommand(a.logVerifyCommand(), a.logShowCommand(), a.logExportCommand(), a.logKeyCommand(), a.logAdoptCommand())
	return cmd
}

func (a *app) logVerifyCommand() *cobra.Command {
	var file, key string
	var without bool
	cmd := &cobra.Command{
		Use:   "verify [--store FILE]",
		Short: "Recompute the log of a store, and hold every record and the checkpoint against it",
		Long: strings.TrimSpace(`
Verify works without a server, on the database or on a copy of it. It reads everything that the store holds, recomputes
every hash and the tree, and holds the result against the checkpoint beside the file, which must be signed by the key
beside the file, or by the one of --key.`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.server != "" {
				return usage(errors.New("verify reads a file: copy the server's, or ask `retrial fixtures verify --server`"))
			}
			if err := a.needStore(); err != nil {
				return err
			}
			damaged, err := a.checkPages(cmd.Context())
			if err != nil {
				return err
			}
			if without {
				return a.verifyFile(cmd.Context(), nil, nil, damaged)
			}
			verifier, err := a.verifierOf(key)
			if err != nil {
				return err
			}
			c, err := a.readCheckpoint(file, verifier)
			if err != nil {
				return err
			}
			return a.verifyFile(cmd.Context(), c, verifier, damaged)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "checkpoint", "", "the checkpoint (default: the store's path and "+fixturestore.CheckpointSuffix+")")
	f.StringVar(&key, "key", "", "public key of the server (PEM; default: that of the key beside the store)")
	f.BoolVar(&without, "no-checkpoint", false, "verify the file alone: it may be an older one")
	return cmd
}

// readCheckpoint gives the signed checkpoint that a file is held against.
func (a *app) readCheckpoint(file string, verifier note.Verifier) (*checkpoint.Checkpoint, error) {
	if file == "" {
		file = a.store + fixturestore.CheckpointSuffix
	}
	signed, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("there is no checkpoint at %s: name one with --checkpoint, or verify the file alone with --no-checkpoint", file))
	}
	if err != nil {
		return nil, usage(err)
	}
	c, err := checkpoint.Open(signed, verifier)
	if err != nil {
		return nil, &exit{exitInvalid, fmt.Errorf("%s: %w", file, err)}
	}
	return &c, nil
}

// verifierOf gives what checks the server's signatures, by its public key or the key beside the store.
func (a *app) verifierOf(key string) (note.Verifier, error) {
	public, err := a.publicKey(key)
	if err != nil {
		return nil, usage(err)
	}
	return identity.NoteVerifier(server.LogOrigin, public)
}

func (a *app) publicKey(file string) ([]byte, error) {
	if file == "" {
		key, err := identity.Load(a.store + server.KeySuffix)
		if err != nil {
			return nil, fmt.Errorf("%w; name the server's public key with --key", err)
		}
		return key.Public(), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return identity.ParsePublicPEM(b)
}

// verifyFile reads the whole file. damaged is how much of it has been found before; without a checkpoint there is no verifier.
func (a *app) verifyFile(ctx context.Context, c *checkpoint.Checkpoint, verifier note.Verifier, damaged int) error {
	s, err := fixturestore.Open(a.store, fixturestore.Options{ReadOnly: true, IgnoreCheckpoint: true})
	if err != nil {
		return err
	}
	report := func(err error) error {
		damaged++
		_, printErr := fmt.Fprintln(a.stderr, newPaint(a.stderr).red("damaged: ")+err.Error())
		return printErr
	}
	sum, err := s.Verify(ctx, report)
	if err == nil && c != nil {
		for _, found := range []error{s.CheckAgainst(c.Tree), s.CheckSigned(verifier)} {
			if found != nil {
				err = errors.Join(err, report(found))
			}
		}
	}
	tree, treeErr := s.Tree()
	if err := errors.Join(err, treeErr, s.Close()); err != nil {
		return err
	}
	if damaged > 0 {
		return &exit{exitInvalid, fmt.Errorf("%s does not hold: %d problems", a.store, damaged)}
	}
	if a.json {
		return a.printValue(map[string]any{"entries": tree.N, "root": tree.Hash.String(), "versions": sum.Versions, "decisions": sum.Decisions, "waivers": sum.Waivers, "checkpoint": c != nil})
	}
	how := "no checkpoint: that the file is the newest is not shown"
	if c != nil {
		how = fmt.Sprintf("signed checkpoint of %d entries", c.Tree.N)
	}
	fmt.Fprintf(a.stdout, "%s: %d entries, %d versions, %d decisions, %d waivers: all hold (%s)\nroot %s\n", a.store, tree.N, sum.Versions, sum.Decisions, sum.Waivers, how, tree.Hash)
	return nil
}

func (a *app) logShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "List the entries of the log, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error {
				t := newTable(a.stdout)
				a.head(t, "INDEX", "WHEN", "KIND", "SUBJECT", "RECORD")
				defer t.flush()
				return list(a, 0, entries(cmd.Context(), conn), func(e *logv1.Entry) {
					kind := strings.ToLower(strings.TrimPrefix(e.GetKind().String(), "KIND_"))
					t.row(fmt.Sprint(e.GetIndex()), when(e.GetAppendedAt().AsTime()), kind, e.GetSubject(), short("sha256:"+e.GetRecordDigest()))
				})
			})
		},
	}
}

// entries gives the entries of the log, oldest first.
func entries(ctx context.Context, conn *connection) iter.Seq2[*logv1.Entry, error] {
	req := &logv1.ListEntriesRequest{PageSize: 1000}
	return rows(ctx, logv1.NewLogServiceClient(conn).ListEntries, req, &req.PageToken, (*logv1.ListEntriesResponse).GetEntries)
}

func (a *app) logExportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Write the whole log as JSON Lines: every leaf, then the signed checkpoint and the key",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error {
				for e, err := range entries(cmd.Context(), conn) {
					if err == nil {
						err = printJSON(a.stdout, e)
					}
					if err != nil {
						return err
					}
				}
				res, err := logv1.NewLogServiceClient(conn).GetCheckpoint(cmd.Context(), &logv1.GetCheckpointRequest{})
				if err != nil {
					return err
				}
				return printJSON(a.stdout, res)
			})
		},
	}
}

func (a *app) logKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that signs checkpoints and attestations, as PEM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error {
				res, err := logv1.NewLogServiceClient(conn).GetCheckpoint(cmd.Context(), &logv1.GetCheckpointRequest{})
				if err != nil {
					return err
				}
				public, err := identity.ParseVerifierKey(server.LogOrigin, res.GetVerifierKey())
				if err != nil {
					return err
				}
				_, err = a.stdout.Write(identity.MarshalPublicPEM(public))
				return err
			})
		},
	}
}

func (a *app) logAdoptCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "adopt --store FILE",
		Short: "Sign the log of a store as it is, after a backup was restored on purpose",
		Long: strings.TrimSpace(`
A database that is older than the checkpoint beside it is refused. Adopt signs a new checkpoint over what the database has.
Clients that have seen a newer one will still refuse the server's answers, until they forget it.`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("store") || a.server != "" {
				return usage(errors.New("say which file: --store"))
			}
			c, err := server.AdoptStore(a.store, key)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s: its log of %d entries is signed\n", a.store, c.Tree.N)
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "signing-key", "", "the server's key (default: the store's path and "+server.KeySuffix+")")
	return cmd
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Bounds of one part of a commit: a part is sent once it has reached one of them.
const (
	partEntries = 1000
	partBytes   = 1 << 20
)

type pushOptions struct {
	author, reason string
	changes        map[string]string
	removalReason  string
	progress       *progress
}

// push commits a directory's set on top of the newest version, nil for a new set.
func push(ctx context.Context, conn *connection, set *setdir.Set, newest *fixturev1.Version, o pushOptions) (*fixturev1.Version, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a commit that was not sealed is no commit
	stream, err := fixturev1.NewFixtureServiceClient(conn).CommitVersion(ctx)
	if err != nil {
		return nil, err
	}
	send := func(req *fixturev1.CommitVersionRequest) error {
		err := stream.Send(req)
		if errors.Is(err, io.EOF) { // the server has ended the call, and says why
			_, err = stream.CloseAndRecv()
			err = cmp.Or(err, io.ErrUnexpectedEOF)
		}
		return err
	}
	header := &fixturev1.CommitHeader{Set: set.Config.Set, Parent: newest.GetNumber(), Author: o.author, Reason: o.reason, Config: set.Beside.ToProto(), RemovalReason: o.removalReason}
	for _, id := range slices.Sorted(maps.Keys(o.changes)) {
		header.Changes = append(header.Changes, &fixturev1.ExpectationChange{FixtureId: id, Reason: o.changes[id]})
	}
	if err := send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Header{Header: header}}); err != nil {
		return nil, err
	}
	if err := sendEntries(set, send, o.progress); err != nil {
		return nil, err
	}
	seal := &fixturev1.CommitSeal{FixtureCount: uint64(set.Len()), Checksum: set.Checksum}
	if err := send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Seal{Seal: seal}}); err != nil {
		return nil, err
	}
	res, err := stream.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	return res.GetVersion(), nil
}

func sendEntries(set *setdir.Set, send func(*fixturev1.CommitVersionRequest) error, p *progress) error {
	part := &fixturev1.CommitEntries{}
	size, done := 0, 0
	flush := func() error {
		if len(part.Entries) == 0 {
			return nil
		}
		err := send(&fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Entries{Entries: part}})
		done += len(part.Entries)
		p.show("commit", uint64(done), uint64(set.Len()))
		part, size = &fixturev1.CommitEntries{}, 0
		return err
	}
	for e, err := range set.Entries() {
		if err != nil {
			return err
		}
		entry := &fixturev1.CommitEntry{Fixture: e.Fixture, Stubs: e.Stubs}
		part.Entries = append(part.Entries, entry)
		size += len(e.Fixture)
		for _, s := range e.Stubs {
			size += len(s)
		}
		if len(part.Entries) >= partEntries || size >= partBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// findNewest gives the newest version of a set, or nil where there is no such set.
func findNewest(ctx context.Context, conn *connection, set string) (*fixturev1.Version, error) {
	res, err := fixturev1.NewFixtureServiceClient(conn).GetVersion(ctx, &fixturev1.GetVersionRequest{Set: set})
	if s := statusIn(err); s != nil && s.Code() == codes.NotFound {
		return nil, nil
	}
	return res.GetVersion(), err
}

// same says whether a version is what stands in a directory: the same fixtures beside the same policy and vocabulary.
func same(v *fixturev1.Version, set *setdir.Set) bool {
	return v.GetChecksum() == set.Checksum && proto.Equal(v.GetConfig(), set.Beside.ToProto())
}

// authorOf finds out who commits.
func authorOf(flag string) (string, error) {
	if name := cmp.Or(flag, os.Getenv("RETRIAL_AUTHOR")); name != "" {
		return name, nil
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username, nil
	}
	if name := os.Getenv("USER"); name != "" {
		return name, nil
	}
	return "", usage(errors.New("a version says who made it: give --author or RETRIAL_AUTHOR"))
}

// publish makes sure that the service has the directory's set, and gives its version. The server in this process is given
// it; another server must have been given it by `retrial fixtures push`, so that nothing changes there by the way.
func (a *app) publish(ctx context.Context, conn *connection, set *setdir.Set, f runFlags) (*fixturev1.Version, error) {
	newest, err := findNewest(ctx, conn, set.Config.Set)
	if err != nil {
		return nil, err
	}
	if newest != nil && same(newest, set) {
		return newest, nil
	}
	if a.server != "" {
		return nil, &exit{exitInvalid, fmt.Errorf("the newest version of %q on the server is not what stands in %s: run `retrial fixtures push %s --server %s` first", set.Config.Set, set.Dir, set.Dir, a.server)}
	}
	author, err := authorOf(f.author)
	if err != nil {
		return nil, err
	}
	v, err := push(ctx, conn, set, newest, pushOptions{author: author, reason: "retrial run", progress: a.progress()})
	if err != nil {
		if s := statusIn(err); newest != nil && s != nil && slices.Contains([]codes.Code{codes.FailedPrecondition, codes.InvalidArgument, codes.Aborted}, s.Code()) {
			return nil, &exit{exitInvalid, fmt.Errorf("%s differs from version %d of %q in %s, and cannot be committed by a run: %s\nIf the change is meant, commit it with its reasons: `retrial fixtures push %s --help`", set.Dir, newest.GetNumber(), set.Config.Set, a.store, s.Message(), set.Dir)}
		}
		return nil, err
	}
	return v, nil
}

func (a *app) pushCommand() *cobra.Command {
	var author, reason, removed, tag, changesFile string
	var changes []string
	cmd := &cobra.Command{
		Use:   "push [DIRECTORY]",
		Short: "Publish a directory as a new version of its set",
		Long: strings.TrimSpace(`
Push publishes what stands in a directory as a new version. A version never changes afterwards.

A fixture whose expected outcome or group changes needs a reason of its own: --change ID=REASON, or a file with a
JSON object of ids and reasons. Fixtures that are removed need one for all of them: --removed REASON.`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			excuses, err := readChanges(changes, changesFile)
			if err != nil {
				return usage(err)
			}
			if strings.TrimSpace(reason) == "" {
				return usage(errors.New("a version says why it was made: give --reason"))
			}
			if author, err = authorOf(author); err != nil {
				return err
			}
			set, err := setdir.Load(directory(args))
			if err != nil {
				return err
			}
			if err := set.CheckChecksum(); err != nil {
				return err
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error {
				p := a.progress()
				newest, err := findNewest(cmd.Context(), conn, set.Config.Set)
				if err != nil {
					return err
				}
				v, err := push(cmd.Context(), conn, set, newest, pushOptions{author, reason, excuses, removed, p})
				p.clear()
				if err != nil {
					return err
				}
				if tag != "" {
					if v, err = tagVersion(cmd.Context(), conn, v.GetSet(), v.GetNumber(), tag); err != nil {
						return err
					}
				}
				return a.printPushed(v)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&reason, "reason", "", "why this version is made (mandatory)")
	f.StringVar(&author, "author", "", "who makes it (default: $RETRIAL_AUTHOR, or the user's name)")
	f.StringArrayVar(&changes, "change", nil, "why the expectation of a fixture changes, ID=REASON (repeatable)")
	f.StringVar(&changesFile, "changes", "", "a JSON file with an object of fixture ids and reasons")
	f.StringVar(&removed, "removed", "", "why fixtures are removed")
	f.StringVar(&tag, "tag", "", "give the new version this tag")
	return cmd
}

func (a *app) printPushed(v *fixturev1.Version) error {
	if a.json {
		return printJSON(a.stdout, v)
	}
	c := v.GetChangeCounts()
	_, err := fmt.Fprintf(a.stdout, "%s version %d: %d fixtures, %d added, %d changed, %d removed\n%s\n", v.GetSet(), v.GetNumber(), v.GetFixtureCount(), c.GetAdded(), c.GetChanged(), c.GetRemoved(), v.GetChecksum())
	return err
}

// readChanges collects the reasons of changed expectations from flags and a file.
func readChanges(pairs []string, file string) (map[string]string, error) {
	out := map[string]string{}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		doc, err := fixture.Canonicalize(nil, b) // a key that stands twice is an error
		if err == nil {
			err = json.Unmarshal(doc, &out)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: expected an object of fixture ids and reasons: %w", file, err)
		}
	}
	for _, p := range pairs {
		// An id may hold '=' as well; a reason is a sentence, and hardly begins with one.
		id, reason, ok := strings.Cut(p, "=")
		if !ok || id == "" || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("--change %q is not ID=REASON", p)
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("--change: fixture %q has two reasons", id)
		}
		out[id] = reason
	}
	return out, nil
}

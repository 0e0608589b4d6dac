package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
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

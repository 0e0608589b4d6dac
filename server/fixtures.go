package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// fixtures implements FixtureService.
type fixtures struct {
	fixturev1.UnimplementedFixtureServiceServer
	store *fixturestore.Store
	now   func() time.Time
}

// nameForm leaves the length to maxName: a counted repetition takes longer to compile than the rest of the program to start.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 128

// CheckSetName says why a string cannot name a set or a tag, or nil.
func CheckSetName(field, name string) error {
	if len(name) > maxName || !nameForm.MatchString(name) {
		return invalid(field, fmt.Errorf("%.140q is no name: letters, digits, '.', '_' and '-', at most 128, the first a letter or a digit", name))
	}
	return nil
}

// CommitVersion implements the service.
func (f *fixtures) CommitVersion(stream grpc.ClientStreamingServer[fixturev1.CommitVersionRequest, fixturev1.CommitVersionResponse]) (err error) {
	first, err := stream.Recv()
	if err != nil {
		return noSeal(err)
	}
	commit, err := f.begin(first.GetHeader())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, commit.Abort()) }() // does nothing behind a seal
	version, err := receive(stream, commit)
	if err != nil {
		return err
	}
	v, err := f.store.Version(version.Set, version.Number)
	if err != nil {
		return err
	}
	out, err := versionToProto(v)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&fixturev1.CommitVersionResponse{Version: out})
}

func (f *fixtures) begin(h *fixturev1.CommitHeader) (*fixturestore.Commit, error) {
	if h == nil {
		return nil, invalid("header", errors.New("the first part of a commit is its header"))
	}
	if err := CheckSetName("set", h.GetSet()); err != nil {
		return nil, err
	}
	set, err := SetFromProto(h.GetConfig())
	if err != nil {
		return nil, err
	}
	config, err := proto.MarshalOptions{Deterministic: true}.Marshal(set.ToProto())
	if err != nil {
		return nil, err
	}
	changes := make(map[string]string, len(h.GetChanges()))
	for _, c := range h.GetChanges() {
		if _, twice := changes[c.GetFixtureId()]; twice {
			return nil, invalid("changes", fmt.Errorf("fixture %q has two reasons", c.GetFixtureId()))
		}
		changes[c.GetFixtureId()] = c.GetReason()
	}
	return f.store.Begin(fixturestore.Draft{
		Set: h.GetSet(), Parent: h.GetParent(), Author: h.GetAuthor(), Reason: h.GetReason(), Vocabulary: set.Vocabulary, Config: config,
		Changes: changes, RemovalReason: h.GetRemovalReason(), At: f.now(),
	})
}

// receive takes the entries up to the seal. A stream that ends before it publishes nothing.
func receive(stream grpc.ClientStreamingServer[fixturev1.CommitVersionRequest, fixturev1.CommitVersionResponse], commit *fixturestore.Commit) (*fixturestore.Version, error) {
	for {
		part, err := stream.Recv()
		if err != nil {
			return nil, noSeal(err)
		}
		switch p := part.GetPart().(type) {
		case *fixturev1.CommitVersionRequest_Entries:
			if err := add(commit, p.Entries.GetEntries()); err != nil {
				return nil, err
			}
		case *fixturev1.CommitVersionRequest_Seal:
			return commit.Seal(p.Seal.GetFixtureCount(), p.Seal.GetChecksum())
		default:
			return nil, invalid("part", errors.New("behind the header there are entries, then one seal"))
		}
	}
}

func noSeal(err error) error {
	if errors.Is(err, io.EOF) {
		return fixture.NewError(fixture.CodePrecondition, "commit", "", errors.New("the stream ended without a seal: nothing is published"))
	}
	return err
}

// add decodes the entries of one part on as many processors as there are, and adds them in their order.
func add(commit *fixturestore.Commit, entries []*fixturev1.CommitEntry) error {
	fixtures, stubs, errs := make([]*fixture.Fixture, len(entries)), make([][]byte, len(entries)), make([]error, len(entries))
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 1+len(entries)/64)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(entries); i += workers {
				fixtures[i], stubs[i], errs[i] = decode(entries[i])
			}
		})
	}
	wg.Wait()
	for i, f := range fixtures {
		if errs[i] != nil {
			return errs[i]
		}
		if err := commit.Add(f, stubs[i]); err != nil {
			return err
		}
	}
	return nil
}

func decode(e *fixturev1.CommitEntry) (f *fixture.Fixture, joined []byte, err error) {
	if f, err = fixture.Decode(e.GetFixture()); err != nil {
		return nil, nil, fmt.Errorf("fixture: %w", err)
	}
	stubs := make([]*stub.Stub, len(e.GetStubs()))
	for i, doc := range e.GetStubs() {
		if stubs[i], err = stub.Decode(doc); err != nil {
			return nil, nil, fmt.Errorf("stub of fixture %q: %w", f.ID, err)
		}
	}
	joined, err = stub.Join(f.ID, stubs)
	return f, joined, err
}

// version finds the version that a request names; number 0 is the newest.
func version(store *fixturestore.Store, set string, number uint64) (*fixturestore.Version, error) {
	if set == "" {
		return nil, invalid("set", errors.New("missing"))
	}
	if number == 0 {
		return store.Newest(set)
	}
	return store.Version(set, number)
}

// GetVersion implements the service.
func (f *fixtures) GetVersion(_ context.Context, req *fixturev1.GetVersionRequest) (*fixturev1.GetVersionResponse, error) {
	var v *fixturestore.Version
	var err error
	switch s := req.GetSelector().(type) {
	case *fixturev1.GetVersionRequest_Tag:
		v, err = f.store.VersionByTag(req.GetSet(), s.Tag)
	case *fixturev1.GetVersionRequest_Checksum:
		v, err = f.store.VersionByChecksum(req.GetSet(), s.Checksum)
	default:
		v, err = version(f.store, req.GetSet(), req.GetNumber())
	}
	if err != nil {
		return nil, err
	}
	out, err := versionToProto(v)
	return &fixturev1.GetVersionResponse{Version: out}, err
}

// ListSets implements the service.
func (f *fixtures) ListSets(_ context.Context, req *fixturev1.ListSetsRequest) (*fixturev1.ListSetsResponse, error) {
	after, err := parseToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	sets, err := f.store.Sets(after, limit+1)
	if err != nil {
		return nil, err
	}
	out := &fixturev1.ListSetsResponse{}
	if len(sets) > limit {
		sets = sets[:limit]
		out.NextPageToken = token(sets[limit-1].Set)
	}
	for _, v := range sets {
		p, err := versionToProto(v)
		if err != nil {
			return nil, err
		}
		out.Newest = append(out.Newest, p)
	}
	return out, nil
}

// ListVersions implements the service.
func (f *fixtures) ListVersions(_ context.Context, req *fixturev1.ListVersionsRequest) (*fixturev1.ListVersionsResponse, error) {
	from, err := parseNumberToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	versions, err := f.store.Versions(req.GetSet(), from, limit+1)
	if err != nil {
		return nil, err
	}
	out := &fixturev1.ListVersionsResponse{}
	if len(versions) > limit {
		out.NextPageToken = numberToken(versions[limit].Number)
		versions = versions[:limit]
	}
	for _, v := range versions {
		p, err := versionToProto(v)
		if err != nil {
			return nil, err
		}
		out.Versions = append(out.Versions, p)
	}
	return out, nil
}

// ListFixtures implements the service.
func (f *fixtures) ListFixtures(_ context.Context, req *fixturev1.ListFixturesRequest) (*fixturev1.ListFixturesResponse, error) {
	after, err := parseToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	v, err := version(f.store, req.GetSet(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	items, err := f.store.Fixtures(v, after, limit+1)
	if err != nil {
		return nil, err
	}
	out := &fixturev1.ListFixturesResponse{}
	if len(items) > limit {
		items = items[:limit]
		out.NextPageToken = token(items[limit-1].Fixture.ID)
	}
	for _, i := range items {
		p, err := itemToProto(&i, false)
		if err != nil {
			return nil, err
		}
		out.Fixtures = append(out.Fixtures, p)
	}
	return out, nil
}

// GetFixture implements the service.
func (f *fixtures) GetFixture(_ context.Context, req *fixturev1.GetFixtureRequest) (*fixturev1.GetFixtureResponse, error) {
	v, err := version(f.store, req.GetSet(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	item, err := f.store.Fixture(v, req.GetFixtureId())
	if err != nil {
		return nil, err
	}
	p, err := itemToProto(&item, true)
	return &fixturev1.GetFixtureResponse{Fixture: p, Version: v.Number}, err
}

// DiffVersions implements the service.
func (f *fixtures) DiffVersions(req *fixturev1.DiffVersionsRequest, stream grpc.ServerStreamingServer[fixturev1.DiffVersionsResponse]) error {
	if req.GetFrom() == 0 {
		return invalid("from", errors.New("missing"))
	}
	from, err := version(f.store, req.GetSet(), req.GetFrom())
	if err != nil {
		return err
	}
	to, err := version(f.store, req.GetSet(), req.GetTo())
	if err != nil {
		return err
	}
	return f.store.Diff(from, to, func(d fixturestore.Difference) error {
		a, err := itemToProto(d.From, true)
		if err != nil {
			return err
		}
		b, err := itemToProto(d.To, true)
		if err != nil {
			return err
		}
		return stream.Send(&fixturev1.DiffVersionsResponse{FixtureId: d.ID, From: a, To: b, StubsChanged: d.StubsChanged})
	})
}

// TagVersion implements the service.
func (f *fixtures) TagVersion(_ context.Context, req *fixturev1.TagVersionRequest) (*fixturev1.TagVersionResponse, error) {
	if err := CheckSetName("tag", req.GetTag()); err != nil {
		return nil, err
	}
	if req.GetVersion() == 0 {
		return nil, invalid("version", errors.New("missing"))
	}
	if err := f.store.Tag(req.GetSet(), req.GetVersion(), req.GetTag()); err != nil {
		return nil, err
	}
	v, err := f.store.Version(req.GetSet(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	out, err := versionToProto(v)
	return &fixturev1.TagVersionResponse{Version: out}, err
}

// VerifyStore implements the service.
func (f *fixtures) VerifyStore(_ *fixturev1.VerifyStoreRequest, stream grpc.ServerStreamingServer[fixturev1.VerifyStoreResponse]) error {
	sum, err := f.store.Verify(stream.Context(), func(damage error) error {
		var e *fixture.Error
		subject := "store"
		if errors.As(damage, &e) && e.Subject != "" {
			subject = e.Subject
		}
		d := &fixturev1.Damage{Subject: subject, Message: strings.ToValidUTF8(damage.Error(), "\uFFFD")}
		return stream.Send(&fixturev1.VerifyStoreResponse{Step: &fixturev1.VerifyStoreResponse_Damage{Damage: d}})
	})
	if err != nil {
		return err
	}
	return stream.Send(&fixturev1.VerifyStoreResponse{Step: &fixturev1.VerifyStoreResponse_Summary{Summary: &fixturev1.VerifySummary{
		Sets: sum.Sets, Versions: sum.Versions, Fixtures: sum.Fixtures, Decisions: sum.Decisions, Damaged: sum.Damaged,
	}}})
}

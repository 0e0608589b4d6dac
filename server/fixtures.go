package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/retrial-dev/retrial/fixturestore"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// fixtures implements FixtureService.
type fixtures struct {
	fixturev1.UnimplementedFixtureServiceServer
	store   *fixturestore.Store
	now     func() time.Time
	known   bool // the server knows its callers
	changed *bell
	log     *zap.Logger
	heavy   heavy
}

// nameForm leaves the length to maxName: a counted repetition takes longer to compile than the rest of the program to start.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 128

// CheckSetName says why a string cannot name a set or a tag, or nil.
func CheckSetName(field, name string) error {
	if err := checkSetName(name); err != nil {
		return invalid(field, err)
	}
	return nil
}

func checkSetName(name string) error {
	if len(name) > maxName || !nameForm.MatchString(name) {
		return fmt.Errorf("%.140q is no name: letters, digits, '.', '_' and '-', at most 128, the first a letter or a digit", name)
	}
	return nil
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
func (f *fixtures) TagVersion(ctx context.Context, req *fixturev1.TagVersionRequest) (*fixturev1.TagVersionResponse, error) {
	if err := CheckSetName("tag", req.GetTag()); err != nil {
		return nil, err
	}
	if req.GetVersion() == 0 {
		return nil, invalid("version", errors.New("missing"))
	}
	if err := f.store.Tag(req.GetSet(), req.GetVersion(), req.GetTag(), f.now()); err != nil {
		return nil, err
	}
	f.changed.ring()
	auditVersion(ctx, f.log, "version tagged", req.GetSet(), req.GetVersion(), zap.String("tag", req.GetTag()))
	out, err := f.published(req.GetSet(), req.GetVersion())
	return &fixturev1.TagVersionResponse{Version: out}, err
}

// published gives a version as it stands in the store.
func (f *fixtures) published(set string, n uint64) (*fixturev1.Version, error) {
	v, err := f.store.Version(set, n)
	if err != nil {
		return nil, err
	}
	return versionToProto(v)
}

// ApproveVersion implements the service.
func (f *fixtures) ApproveVersion(ctx context.Context, req *fixturev1.ApproveVersionRequest) (*fixturev1.ApproveVersionResponse, error) {
	v, err := f.store.Version(req.GetSet(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	refuse := func(err error) error { return fixture.NewError(fixture.CodePrecondition, "approve", v.Name(), err) }
	switch {
	case !f.known:
		return nil, refuse(errNobodyKnown)
	case req.GetChecksum() != v.Checksum:
		return nil, refuse(fmt.Errorf("its checksum is %s, the approver saw %.100q", v.Checksum, req.GetChecksum()))
	}
	if err := checkReason("reason", req.GetReason(), true); err != nil {
		return nil, err
	}
	if err := f.store.Approve(v.Set, v.Number, fixturestore.Approval{By: principalOf(ctx), Reason: req.GetReason(), At: f.now().UTC()}); err != nil {
		return nil, err
	}
	f.changed.ring()
	auditVersion(ctx, f.log, "version approved", v.Set, v.Number, zap.String("author", v.Author))
	out, err := f.published(v.Set, v.Number)
	return &fixturev1.ApproveVersionResponse{Version: out}, err
}

// VerifyStore implements the service.
func (f *fixtures) VerifyStore(_ *fixturev1.VerifyStoreRequest, stream grpc.ServerStreamingServer[fixturev1.VerifyStoreResponse]) error {
	if err := f.heavy.enter("verify store"); err != nil {
		return err
	}
	defer f.heavy.leave()
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
		Sets: sum.Sets, Versions: sum.Versions, Fixtures: sum.Fixtures, Decisions: sum.Decisions, Damaged: sum.Damaged, Waivers: sum.Waivers, LogEntries: sum.Entries,
	}}})
}

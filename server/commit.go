package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// CommitVersion implements the service.
func (f *fixtures) CommitVersion(stream grpc.ClientStreamingServer[fixturev1.CommitVersionRequest, fixturev1.CommitVersionResponse]) (err error) {
	first, err := stream.Recv()
	if err != nil {
		return noSeal(err)
	}
	commit, frozen, err := f.begin(stream.Context(), first.GetHeader())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, commit.Abort()) }() // does nothing behind a seal
	version, err := f.receive(stream, commit, frozen)
	if err != nil {
		return err
	}
	f.changed.ring()
	auditVersion(stream.Context(), f.log, "version published", version.Set, version.Number, zap.String("checksum", version.Checksum),
		zap.Int("changed_expectations", len(version.Changes)), zap.Uint64("removed", version.Removed), zap.Strings("approval_needed", version.ApprovalNeeded))
	out, err := f.published(version.Set, version.Number)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&fixturev1.CommitVersionResponse{Version: out})
}

func (f *fixtures) begin(ctx context.Context, h *fixturev1.CommitHeader) (*fixturestore.Commit, freezes, error) {
	if h == nil {
		return nil, nil, invalid("header", errors.New("the first part of a commit is its header"))
	}
	if err := CheckSetName("set", h.GetSet()); err != nil {
		return nil, nil, err
	}
	set, err := SetFromProto(h.GetConfig())
	if err != nil {
		return nil, nil, err
	}
	config, err := proto.MarshalOptions{Deterministic: true}.Marshal(set.ToProto())
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(checkReason("reason", h.GetReason(), true), checkReason("removal_reason", h.GetRemovalReason(), false)); err != nil {
		return nil, nil, err
	}
	changes := make(map[string]string, len(h.GetChanges()))
	for _, c := range h.GetChanges() {
		if err := checkReason("changes", c.GetReason(), true); err != nil {
			return nil, nil, err
		}
		if _, twice := changes[c.GetFixtureId()]; twice {
			return nil, nil, invalid("changes", fmt.Errorf("fixture %q has two reasons", c.GetFixtureId()))
		}
		changes[c.GetFixtureId()] = c.GetReason()
	}
	before, err := f.parentOf(h)
	if err != nil {
		return nil, nil, err
	}
	eyes := f.fourEyes(before, config)
	author := h.GetAuthor()
	if f.known {
		author = principalOf(ctx) // whoever the caller says that it is
	}
	frozen, err := f.frozen(before, set)
	if err != nil {
		return nil, nil, err
	}
	commit, err := f.store.Begin(fixturestore.Draft{
		Set: h.GetSet(), Parent: h.GetParent(), Author: author, Reason: h.GetReason(), Vocabulary: set.Vocabulary, Config: config,
		Changes: changes, RemovalReason: h.GetRemovalReason(), FourEyes: eyes, At: f.now(),
	})
	return commit, frozen, err
}

// parent is the version that a commit is made on, with what stands beside its fixtures.
type parent struct {
	*fixturestore.Version
	set Set
}

// parentOf reads it; nil for none. One that is not there is a conflict here already: it may be there when the store looks, and the rules that
// hold a commit against its parent would have held it against nothing.
func (f *fixtures) parentOf(h *fixturev1.CommitHeader) (*parent, error) {
	if h.GetParent() == 0 {
		return nil, nil
	}
	v, err := f.store.Version(h.GetSet(), h.GetParent())
	if fixture.CodeOf(err) == fixture.CodeNotFound {
		return nil, fixture.NewError(fixture.CodeConflict, "commit to", fmt.Sprintf("%q", h.GetSet()), fmt.Errorf("it has no version %d to stand on: read the newest one and try again", h.GetParent()))
	}
	if err != nil {
		return nil, err
	}
	set, err := setOf(v)
	return &parent{v, set}, err
}

// fourEyes says what of a commit needs a second person, where the server knows its callers: what the store finds, and any
// change beside the fixtures. The parent's own policy says how much one person may do.
func (f *fixtures) fourEyes(before *parent, config []byte) *fixturestore.FourEyes {
	switch {
	case !f.known:
		return nil
	case before == nil:
		return &fixturestore.FourEyes{}
	}
	eyes := &fixturestore.FourEyes{FreeRemovals: uint64(before.set.Policy.FreeRemovals)}
	if !bytes.Equal(before.Config, config) {
		eyes.Also = []string{"what stands beside the fixtures (policy, allowlist, vocabulary or configuration) changes"}
	}
	return eyes
}

// receive takes the entries up to the seal. A stream that ends before it publishes nothing. While a part is written, the next one is
// received and decoded.
func (f *fixtures) receive(stream grpc.ClientStreamingServer[fixturev1.CommitVersionRequest, fixturev1.CommitVersionResponse], commit *fixturestore.Commit, frozen freezes) (*fixturestore.Version, error) {
	parts := make(chan part)
	// It ends with the stream, perhaps a part later than this call: it writes to nothing that the commit or the store reads.
	go func() {
		defer close(parts)
		for {
			p := f.nextPart(stream, commit)
			select {
			case parts <- p:
			case <-stream.Context().Done():
				return
			}
			if p.err != nil || p.seal != nil {
				return
			}
		}
	}()
	for p := range parts {
		switch {
		case stream.Context().Err() != nil: // what was received before is not published behind it
			return nil, context.Cause(stream.Context())
		case p.err != nil:
			return nil, p.err
		case p.seal != nil:
			return commit.Seal(p.seal.GetFixtureCount(), p.seal.GetChecksum())
		}
		if err := add(commit, p.entries, frozen); err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(stream.Context())
}

func noSeal(err error) error {
	if errors.Is(err, io.EOF) {
		return fixture.NewError(fixture.CodePrecondition, "commit", "", errors.New("the stream ended without a seal: nothing is published"))
	}
	return err
}

// part is one part of a commit behind its header: entries, the seal, or why there is none.
type part struct {
	entries []entry
	seal    *fixturev1.CommitSeal
	err     error
}

// entry is one entry of a part, or what is wrong with it.
type entry struct {
	f        *fixture.Fixture
	prepared fixturestore.Prepared
	err      error
}

// nextPart receives a part. A panic ends the call alone, as it would in the handler's own goroutine.
func (f *fixtures) nextPart(stream grpc.ClientStreamingServer[fixturev1.CommitVersionRequest, fixturev1.CommitVersionResponse], commit *fixturestore.Commit) (next part) {
	err := recovered(f.log, fixturev1.FixtureService_CommitVersion_FullMethodName, func() error {
		req, err := stream.Recv()
		if err != nil {
			return noSeal(err)
		}
		switch p := req.GetPart().(type) {
		case *fixturev1.CommitVersionRequest_Entries:
			next.entries, err = f.prepare(commit, p.Entries.GetEntries())
		case *fixturev1.CommitVersionRequest_Seal:
			next.seal = p.Seal
		default:
			err = invalid("part", errors.New("behind the header there are entries, then one seal"))
		}
		return err
	})
	if err != nil {
		return part{err: err}
	}
	return next
}

// prepare decodes the entries of one part on as many processors as there are.
func (f *fixtures) prepare(commit *fixturestore.Commit, entries []*fixturev1.CommitEntry) ([]entry, error) {
	out := make([]entry, len(entries))
	workers := min(runtime.GOMAXPROCS(0), 1+len(entries)/64)
	panics := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			panics[w] = recovered(f.log, fixturev1.FixtureService_CommitVersion_FullMethodName, func() error {
				for i := w; i < len(entries); i += workers {
					x, stubs, err := decode(entries[i])
					if out[i] = (entry{f: x, err: err}); err == nil {
						out[i].prepared = commit.Prepare(x, stubs)
					}
				}
				return nil
			})
		})
	}
	wg.Wait()
	return out, errors.Join(panics...)
}

// add adds entries in their order, up to the first that is wrong.
func add(commit *fixturestore.Commit, entries []entry, frozen freezes) error {
	for _, e := range entries {
		if e.err != nil {
			return e.err
		}
		if err := frozen.check(e.f); err != nil {
			return err
		}
		if err := commit.AddPrepared(e.prepared); err != nil {
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
		for _, p := range stubs[i].Problems(time.Time{}) { // what is only stale is the gate's to say, at the instant of a run
			if !p.Kind.Dated() {
				return nil, nil, fixture.NewError(fixture.CodeInvalid, "commit recording", fmt.Sprintf("%.120q", p.Subject), errors.New(p.Message))
			}
		}
	}
	joined, err = stub.Join(f.ID, stubs)
	return f, joined, err
}

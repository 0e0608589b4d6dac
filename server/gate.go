package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

// gates implements GateService.
type gates struct {
	gatev1.UnimplementedGateServiceServer
	store    *fixturestore.Store
	running  func(id string) bool
	now      func() time.Time
	required []string
	known    bool // the server knows its callers
	key      *identity.Key
	changed  *bell
	log      *zap.Logger
	stopping <-chan struct{}
}

// GetGateStatus implements the service.
func (g *gates) GetGateStatus(_ context.Context, req *gatev1.GetGateStatusRequest) (*gatev1.GetGateStatusResponse, error) {
	now := g.now()
	at := now
	if req.GetAsOf() != nil {
		if err := req.GetAsOf().CheckValid(); err != nil {
			return nil, invalid("as_of", err)
		}
		if at = req.GetAsOf().AsTime(); at.After(now) {
			return nil, invalid("as_of", errors.New("the instant has not come yet"))
		}
	}
	out, _, err := g.status(req.GetRelease(), req.GetSets(), at)
	if err != nil {
		return nil, err
	}
	return out, g.prove(out)
}

// status gives the standing of a release at an instant, without proofs, and the next instant at which it changes by itself;
// zero if it does not.
func (g *gates) status(release string, named []string, at time.Time) (*gatev1.GetGateStatusResponse, time.Time, error) {
	if release == "" {
		return nil, time.Time{}, invalid("release", errors.New("missing"))
	}
	sets, err := g.sets(named)
	if err != nil {
		return nil, time.Time{}, err
	}
	out := &gatev1.GetGateStatusResponse{Release: release, AsOf: timestamp(at)}
	var next time.Time
	for _, set := range sets {
		s := &standing{g: g, release: release, at: at, out: &gatev1.SetStanding{
			Set: set, Status: gatev1.Status_STATUS_UNKNOWN, Required: slices.Contains(g.required, set),
		}}
		if err := s.find(); err != nil {
			return nil, time.Time{}, err
		}
		out.Sets = append(out.Sets, s.out)
		if !s.next.IsZero() && (next.IsZero() || s.next.Before(next)) {
			next = s.next
		}
	}
	out.Status = overall(out.GetSets())
	if len(sets) == 0 {
		out.Causes = causes("NO_SET", "the server keeps no fixture set")
	}
	return out, next, nil
}

// overall is a pass only if there is a set and every one passes; a block if one blocks.
func overall(sets []*gatev1.SetStanding) gatev1.Status {
	status := gatev1.Status_STATUS_PASS
	if len(sets) == 0 {
		status = gatev1.Status_STATUS_UNKNOWN
	}
	for _, s := range sets {
		switch {
		case s.GetStatus() == gatev1.Status_STATUS_BLOCK:
			return gatev1.Status_STATUS_BLOCK
		case s.GetStatus() != gatev1.Status_STATUS_PASS:
			status = gatev1.Status_STATUS_UNKNOWN
		}
	}
	return status
}

// sets gives the sets that a question is about, in ascending order: those that are required, with those that are named; where
// there are neither, all.
func (g *gates) sets(named []string) ([]string, error) {
	out := slices.Concat(g.required, named)
	if len(out) == 0 {
		var err error
		if out, err = allSets(g.store); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxSets {
		return nil, invalid("sets", fmt.Errorf("%d sets are over the limit of %d: name those that are meant", len(out), maxSets))
	}
	return out, nil
}

// maxSets bounds the sets that one question is about.
const maxSets = 1000

// allSets gives the names of all sets, in ascending order.
func allSets(store *fixturestore.Store) (out []string, err error) {
	const page = 100
	for after := ""; ; {
		some, err := store.Sets(after, page)
		if err != nil {
			return nil, err
		}
		for _, v := range some {
			after = v.Set
			out = append(out, v.Set)
		}
		if len(some) < page {
			return out, store.CheckSets(out)
		}
	}
}

// prove adds the checkpoint, and for each decision the proof that it leads to.
func (g *gates) prove(out *gatev1.GetGateStatusResponse) error {
	signed, size, err := g.store.Checkpoint()
	if err != nil {
		return err
	}
	out.Checkpoint = signed
	for _, s := range out.GetSets() {
		if s.GetDecision() == nil {
			continue
		}
		r, err := g.store.ReplayByID(s.GetDecision().GetReplayId())
		if err != nil {
			return err
		}
		e, err := g.store.EntryOf(fixturestore.KindDecision, r.ID)
		if err != nil {
			return err
		}
		if s.Proof, err = inclusionProof(g.store, e.Index, size); err != nil {
			return err
		}
		s.Proof.Record = r.Record
	}
	return nil
}

// settled gives a record as it stands for good, or says that its replay is under way: between reading the record and asking
// whether the replay runs, it may have ended.
func (g *gates) settled(r *fixturestore.Replay) (settled *fixturestore.Replay, underWay bool, err error) {
	if r.State != fixturestore.Running {
		return r, false, nil
	}
	if g.running(r.ID) {
		return r, true, nil
	}
	r, err = g.store.Replay(r.Seq)
	return r, false, err
}

func causes(code, message string) []*gatev1.Cause {
	return []*gatev1.Cause{{Code: code, Count: 1, Message: message}}
}

// decisionOf reads a recorded decision, and holds it against the log and the record that it stands in.
func decisionOf(store *fixturestore.Store, r *fixturestore.Replay) (*gatev1.Decision, error) {
	if err := store.CheckReplayLogged(r); err != nil {
		return nil, err
	}
	var d gatev1.Decision
	err := proto.Unmarshal(r.Decision, &d)
	if err == nil && (d.GetReplayId() != r.ID || d.GetRelease() != r.Release || d.GetSet() != r.Set || d.GetVersion() != r.Version) {
		err = errors.New("it belongs to another replay")
	}
	if err != nil {
		return nil, fixture.NewError(fixture.CodeCorrupt, "read decision of", r.ID, err)
	}
	return &d, nil
}

// ListDecisions implements the service.
func (g *gates) ListDecisions(_ context.Context, req *gatev1.ListDecisionsRequest) (*gatev1.ListDecisionsResponse, error) {
	before, err := parseNumberToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	records, more, err := g.store.Replays(req.GetSet(), req.GetRelease(), before, limit)
	if err != nil {
		return nil, err
	}
	out := &gatev1.ListDecisionsResponse{}
	if more {
		out.NextPageToken = numberToken(records[len(records)-1].Seq)
	}
	for _, r := range records {
		r, underWay, err := g.settled(r)
		if err != nil {
			return nil, err
		}
		d, err := g.listed(r, underWay)
		if err != nil {
			return nil, err
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out, nil
}

// listed gives a record as it stands in a list: a replay without a decision is there as well, without a ruling.
func (g *gates) listed(r *fixturestore.Replay, underWay bool) (*gatev1.Decision, error) {
	if r.State == fixturestore.Decided {
		d, err := decisionOf(g.store, r)
		if d != nil {
			d.Findings = nil
		}
		return d, err
	}
	d := &gatev1.Decision{ReplayId: r.ID, Release: r.Release, Set: r.Set, Version: r.Version, StartedAt: timestamp(r.StartedAt), SubmittedBy: r.SubmittedBy}
	switch {
	case r.State == fixturestore.Failed:
		d.Summary = "no decision: " + r.Error
	case underWay:
		d.Summary = "no decision: it has not ended yet"
	default:
		d.Summary = "no decision: its server stopped"
	}
	return d, nil
}

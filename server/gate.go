package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// gates implements GateService.
type gates struct {
	gatev1.UnimplementedGateServiceServer
	store   *fixturestore.Store
	running func(seq uint64) bool
	now     func() time.Time
}

// GetGateStatus implements the service.
func (g *gates) GetGateStatus(_ context.Context, req *gatev1.GetGateStatusRequest) (*gatev1.GetGateStatusResponse, error) {
	if req.GetRelease() == "" {
		return nil, invalid("release", errors.New("missing"))
	}
	sets, err := g.sets(req.GetSets())
	if err != nil {
		return nil, err
	}
	out := &gatev1.GetGateStatusResponse{Release: req.GetRelease()}
	for _, set := range sets {
		standing, err := g.standing(req.GetRelease(), set)
		if err != nil {
			return nil, err
		}
		out.Sets = append(out.Sets, standing)
	}
	out.Status = overall(out.GetSets())
	if len(sets) == 0 {
		out.Causes = unknown("NO_SET", "the server keeps no fixture set")
	}
	return out, nil
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

// sets gives the sets that a question is about, in ascending order: those that are named, or else all.
func (g *gates) sets(named []string) ([]string, error) {
	if len(named) > 0 {
		slices.Sort(named)
		return slices.Compact(named), nil
	}
	var out []string
	for after := ""; ; {
		page, err := g.store.Sets(after, setsPage)
		if err != nil {
			return nil, err
		}
		for _, v := range page {
			after = v.Set
			out = append(out, v.Set)
		}
		if len(page) < setsPage {
			return out, nil
		}
	}
}

const setsPage = 100

// standing gives the standing of a release for one set.
func (g *gates) standing(release, set string) (*gatev1.SetStanding, error) {
	out := &gatev1.SetStanding{Set: set, Status: gatev1.Status_STATUS_UNKNOWN}
	newest, err := g.store.Newest(set)
	if fixture.CodeOf(err) == fixture.CodeNotFound {
		out.Causes = unknown("NO_SET", fmt.Sprintf("there is no set %q", set))
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.NewestVersion = newest.Number
	return out, g.stand(release, out, newest)
}

// settled gives a record as it stands for good, or says that its replay is under way: between reading the record and asking
// whether the replay runs, it may have ended.
func (g *gates) settled(r *fixturestore.Replay) (settled *fixturestore.Replay, underWay bool, err error) {
	if r.State != fixturestore.Running {
		return r, false, nil
	}
	if g.running(r.Seq) {
		return r, true, nil
	}
	r, err = g.store.Replay(r.Seq)
	return r, false, err
}

func unknown(code, message string) []*gatev1.Cause {
	return []*gatev1.Cause{{Code: code, Count: 1, Message: message}}
}

// stand gives the standing of a release, from its newest replay and nothing else. Absence of evidence is never a pass.
func (g *gates) stand(release string, out *gatev1.SetStanding, newest *fixturestore.Version) error {
	r, err := g.store.ReplayAt(release, out.GetSet(), g.now())
	underWay := false
	if err == nil && r != nil {
		r, underWay, err = g.settled(r)
	}
	if err != nil {
		return err
	}
	switch {
	case r == nil:
		out.Causes = unknown("NEVER_TRIED", fmt.Sprintf("release %q was never tried against %q", release, out.GetSet()))
		return nil
	case underWay:
		out.Causes = unknown("RUNNING", fmt.Sprintf("replay %s has not ended yet", r.ID))
		return nil
	case r.State == fixturestore.Running:
		out.Causes = unknown("CUT", fmt.Sprintf("replay %s never ended: its server stopped", r.ID))
		return nil
	case r.State == fixturestore.Failed:
		out.Causes = unknown("FAILED", fmt.Sprintf("replay %s came to no decision: %s", r.ID, r.Error))
		return nil
	}
	d, err := decisionOf(r)
	if err != nil {
		return err
	}
	out.Decision = d
	own, err := ruledByOwn(d, newest)
	if err != nil {
		return err
	}
	switch {
	case d.GetVersion() != newest.Number:
		out.Causes = unknown("OUTDATED", fmt.Sprintf("the newest evidence is on version %d of %q, and version %d is the newest", d.GetVersion(), out.GetSet(), newest.Number))
	case d.GetPartial():
		out.Causes = unknown("PARTIAL", "the newest replay tried only some of the fixtures")
	case d.GetRuling() == gatev1.Ruling_RULING_PASS && !own:
		out.Causes = unknown("OTHER_POLICY", "the newest replay passed by a policy that is not the set's own")
	case d.GetRuling() == gatev1.Ruling_RULING_PASS:
		out.Status = gatev1.Status_STATUS_PASS
	default:
		out.Status, out.Causes = gatev1.Status_STATUS_BLOCK, d.GetCauses()
	}
	return nil
}

// ruledByOwn says whether a decision was made by the policy that the version states: the policy lives beside the fixtures
// (R26), and a pass by another is no evidence.
func ruledByOwn(d *gatev1.Decision, v *fixturestore.Version) (bool, error) {
	set, err := setOf(v)
	if err != nil {
		return false, err
	}
	policy, err := PolicyFromProto(d.GetPolicy())
	return err == nil && policy.Equal(set.Policy), nil
}

// decisionOf reads a recorded decision, and holds it against the record that it stands in.
func decisionOf(r *fixturestore.Replay) (*gatev1.Decision, error) {
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
	records, err := g.store.Replays(req.GetSet(), req.GetRelease(), before, limit+1)
	if err != nil {
		return nil, err
	}
	out := &gatev1.ListDecisionsResponse{}
	if len(records) > limit {
		records = records[:limit]
		out.NextPageToken = numberToken(records[limit-1].Seq)
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
		d, err := decisionOf(r)
		if d != nil {
			d.Findings = nil
		}
		return d, err
	}
	d := &gatev1.Decision{ReplayId: r.ID, Release: r.Release, Set: r.Set, Version: r.Version, StartedAt: timestamp(r.StartedAt)}
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

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/retrial-dev/retrial/fixturestore"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// maxWaiver bounds how far away the end of a waiver may be.
const maxWaiver = 30 * 24 * time.Hour

var errNobodyKnown = errors.New("this server does not know its callers (auth), so that nobody can answer for it")

// GrantWaiver implements the service.
func (g *gates) GrantWaiver(ctx context.Context, req *gatev1.GrantWaiverRequest) (*gatev1.GrantWaiverResponse, error) {
	refuse := func(code fixture.Code, err error) error {
		return fixture.NewError(code, "waive", fmt.Sprintf("release %.120q of set %.120q", req.GetRelease(), req.GetSet()), err)
	}
	if !g.known {
		return nil, refuse(fixture.CodePrecondition, errNobodyKnown)
	}
	now := g.now().UTC()
	if err := checkWaiver(req, now); err != nil {
		return nil, err
	}
	res, _, err := g.status(req.GetRelease(), []string{req.GetSet()}, now)
	if err != nil {
		return nil, err
	}
	var d *gatev1.Decision
	for _, s := range res.GetSets() {
		if s.GetSet() == req.GetSet() && s.GetStatus() != gatev1.Status_STATUS_UNKNOWN {
			d = s.GetDecision()
		}
	}
	if d == nil {
		return nil, refuse(fixture.CodePrecondition, errors.New("its standing is UNKNOWN: there is no block to waive"))
	}
	if d.GetReplayId() != req.GetReplayId() {
		return nil, refuse(fixture.CodePrecondition, fmt.Errorf("the newest decision is of replay %s, not of %.80q", d.GetReplayId(), req.GetReplayId()))
	}
	if by := principalOf(ctx); by == d.GetSubmittedBy() {
		return nil, refuse(fixture.CodeDenied, fmt.Errorf("%s submitted replay %s, and nobody answers for their own", by, d.GetReplayId()))
	}
	w := &fixturestore.Waiver{
		ID: newID("w-"), Release: req.GetRelease(), Set: req.GetSet(), Version: d.GetVersion(), Replay: d.GetReplayId(),
		Reason: req.GetReason(), GrantedBy: principalOf(ctx), GrantedAt: now, ExpiresAt: req.GetExpiresAt().AsTime(),
	}
	for _, f := range req.GetFlips() {
		w.Flips = append(w.Flips, fixturestore.WaivedFlip{Fixture: f.GetFixtureId(), Verdict: f.GetNewVerdict(), ReasonCode: f.GetNewReasonCode()})
	}
	if err := gate.CheckWaiver(blockedOf(d), waivedOf(w)); err != nil {
		return nil, refuse(fixture.CodePrecondition, err)
	}
	if err := g.store.PutWaiver(*w); err != nil {
		return nil, err
	}
	g.changed.ring()
	auditWaiver(ctx, g.log, "waiver granted", w)
	return &gatev1.GrantWaiverResponse{Waiver: waiverToProto(w)}, nil
}

func checkWaiver(req *gatev1.GrantWaiverRequest, now time.Time) error {
	var errs []error
	for field, value := range map[string]string{"release": req.GetRelease(), "set": req.GetSet(), "replay_id": req.GetReplayId()} {
		if value == "" {
			errs = append(errs, invalid(field, errors.New("missing")))
		}
	}
	errs = append(errs, checkReason("reason", req.GetReason(), true))
	until := req.GetExpiresAt()
	switch {
	case until == nil || until.CheckValid() != nil:
		errs = append(errs, invalid("expires_at", errors.New("missing: a waiver ends")))
	case fixture.Expired(until.AsTime(), now):
		errs = append(errs, invalid("expires_at", errors.New("it is past")))
	case until.AsTime().Sub(now) > maxWaiver:
		errs = append(errs, invalid("expires_at", errors.New("a waiver ends within 30 days")))
	}
	return errors.Join(errs...)
}

// maxReason bounds a reason that somebody gives, in bytes.
const maxReason = 4 << 10

// checkReason holds what somebody gives as a reason fit to be shown anywhere: line feeds are its only control characters.
func checkReason(field, reason string, needed bool) error {
	switch {
	case needed && strings.TrimSpace(reason) == "":
		return invalid(field, errors.New("missing: say why"))
	case len(reason) > maxReason:
		return invalid(field, fmt.Errorf("%d bytes are over the limit of %d", len(reason), maxReason))
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }):
		return invalid(field, errors.New("it has control characters, or is no UTF-8"))
	}
	return nil
}

// blockedOf gives what of a decision a waiver would have to cover.
func blockedOf(d *gatev1.Decision) gate.Blocked {
	b := gate.Blocked{Whole: d.GetFindingCount() == uint64(len(d.GetFindings())) && !d.GetPartial()}
	for ruling, p := range rulings {
		if p == d.GetRuling() {
			b.Ruling = ruling
		}
	}
	for _, c := range d.GetCauses() {
		b.Causes = append(b.Causes, gate.Code(c.GetCode()))
	}
	for _, f := range d.GetFindings() {
		if f.GetCode() != string(gate.Flip) || f.GetGroup() == string(fixture.Derived) || f.GetAllowedBy() != "" {
			continue
		}
		b.Outputs = b.Outputs || f.GetOutputDiffers() || f.GetFlipClass() == string(fixture.ClassOutput)
		b.Flips = append(b.Flips, gate.WaivedFlip{FixtureID: f.GetSubject(), Verdict: f.GetNew().GetVerdict(), ReasonCode: f.GetNew().GetReasonCode()})
	}
	return b
}

func waivedOf(w *fixturestore.Waiver) (out []gate.WaivedFlip) {
	for _, f := range w.Flips {
		out = append(out, gate.WaivedFlip{FixtureID: f.Fixture, Verdict: f.Verdict, ReasonCode: f.ReasonCode})
	}
	return out
}

// RevokeWaiver implements the service.
func (g *gates) RevokeWaiver(ctx context.Context, req *gatev1.RevokeWaiverRequest) (*gatev1.RevokeWaiverResponse, error) {
	w, err := g.store.RevokeWaiver(req.GetWaiverId(), principalOf(ctx), g.now())
	if err != nil {
		return nil, err
	}
	g.changed.ring()
	auditWaiver(ctx, g.log, "waiver revoked", w)
	return &gatev1.RevokeWaiverResponse{Waiver: waiverToProto(w)}, nil
}

// ListWaivers implements the service.
func (g *gates) ListWaivers(_ context.Context, req *gatev1.ListWaiversRequest) (*gatev1.ListWaiversResponse, error) {
	before, err := parseNumberToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	all, err := g.store.Waivers(req.GetRelease(), req.GetSet())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	out := &gatev1.ListWaiversResponse{}
	for _, w := range all {
		if before != 0 && w.Seq >= before {
			continue
		}
		if len(out.GetWaivers()) == limit {
			out.NextPageToken = numberToken(w.Seq + 1)
			break
		}
		out.Waivers = append(out.Waivers, waiverToProto(w))
	}
	return out, nil
}

func waiverToProto(w *fixturestore.Waiver) *gatev1.Waiver {
	out := &gatev1.Waiver{
		WaiverId: w.ID, Release: w.Release, Set: w.Set, Version: w.Version, ReplayId: w.Replay, Reason: w.Reason,
		GrantedBy: w.GrantedBy, GrantedAt: timestamp(w.GrantedAt), ExpiresAt: timestamp(w.ExpiresAt), RevokedBy: w.RevokedBy,
	}
	if !w.RevokedAt.IsZero() {
		out.RevokedAt = timestamp(w.RevokedAt)
	}
	for _, f := range w.Flips {
		out.Flips = append(out.Flips, &gatev1.WaivedFlip{FixtureId: f.Fixture, NewVerdict: f.Verdict, NewReasonCode: f.ReasonCode})
	}
	return out
}

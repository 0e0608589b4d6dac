package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/retrial-dev/retrial/fixturestore"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxRowReplays bounds the replays that are told of one fixture.
const maxRowReplays = 100

// ExplainRow implements the service (R34).
func (f *fixtures) ExplainRow(ctx context.Context, req *fixturev1.ExplainRowRequest) (*fixturev1.ExplainRowResponse, error) {
	if req.GetSourceRowId() == "" {
		return nil, invalid("source_row_id", errors.New("missing"))
	}
	if err := f.heavy.enter("explain row"); err != nil {
		return nil, err
	}
	defer f.heavy.leave()
	sets := []string{req.GetSet()}
	if req.GetSet() == "" {
		var err error
		if sets, err = allSets(f.store); err != nil {
			return nil, err
		}
	}
	out := &fixturev1.ExplainRowResponse{}
	for _, set := range sets {
		r := &rowHistory{ctx: ctx, store: f.store, set: set, row: req.GetSourceRowId(), found: map[string]*fixturev1.RowFixture{}}
		if err := r.read(); err != nil {
			return nil, err
		}
		for _, id := range slices.Sorted(maps.Keys(r.found)) {
			out.Fixtures = append(out.Fixtures, r.found[id])
		}
	}
	if len(out.GetFixtures()) == 0 {
		return nil, fixture.NewError(fixture.CodeNotFound, "explain row", fmt.Sprintf("%.120q", req.GetSourceRowId()), errors.New("no fixture of any version was made from it"))
	}
	return out, nil
}

// rowHistory finds what became of a row in one set.
type rowHistory struct {
	ctx      context.Context
	store    *fixturestore.Store
	set, row string
	found    map[string]*fixturev1.RowFixture // by fixture id
}

func (r *rowHistory) read() error {
	newest, err := r.store.Newest(r.set)
	if err != nil {
		return err
	}
	if err := r.scan(newest); err != nil {
		return err
	}
	for after := newest; after.Number > 1; {
		before, err := r.store.Version(r.set, after.Number-1)
		if err != nil {
			return err
		}
		if err := r.compare(before, after); err != nil {
			return err
		}
		after = before
	}
	if err := r.first(); err != nil {
		return err
	}
	for _, f := range r.found {
		slices.Reverse(f.History) // they were found from the newest on
	}
	if len(r.found) == 0 {
		return nil
	}
	return r.replays()
}

func (r *rowHistory) of(id string) *fixturev1.RowFixture {
	f := r.found[id]
	if f == nil {
		f = &fixturev1.RowFixture{Set: r.set, FixtureId: id}
		r.found[id] = f
	}
	return f
}

// scan finds the fixtures that a version has of the row.
func (r *rowHistory) scan(v *fixturestore.Version) error {
	blocks, err := r.store.Blocks(v)
	if err != nil {
		return err
	}
	for i := range blocks.Len() {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := blocks.ReadBlock(i, func(e fixturestore.Entry) error {
			if e.Fixture.SourceRowID == r.row {
				r.of(e.Fixture.ID)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// compare notes what a version did to fixtures of the row.
func (r *rowHistory) compare(before, after *fixturestore.Version) error {
	return r.store.Diff(before, after, func(d fixturestore.Difference) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if !r.about(d.From) && !r.about(d.To) {
			return nil
		}
		shown, change := d.To, fixturev1.RowChange_ROW_CHANGE_CHANGED
		switch {
		case d.From == nil:
			change = fixturev1.RowChange_ROW_CHANGE_ADDED
		case d.To == nil:
			shown, change = d.From, fixturev1.RowChange_ROW_CHANGE_REMOVED
		}
		return r.note(d.ID, after, change, shown)
	})
}

func (r *rowHistory) about(i *fixturestore.Item) bool {
	return i != nil && i.Fixture.SourceRowID == r.row
}

func (r *rowHistory) note(id string, v *fixturestore.Version, change fixturev1.RowChange, shown *fixturestore.Item) error {
	f, err := itemToProto(shown, false)
	if err != nil {
		return err
	}
	e := &fixturev1.RowEvent{Version: v.Number, Change: change, Fixture: f, Author: v.Author, Reason: v.Reason, CommittedAt: timestamp(v.CommittedAt)}
	switch {
	case v.Changes[id] != "":
		e.Reason = v.Changes[id]
	case change == fixturev1.RowChange_ROW_CHANGE_REMOVED && v.RemovalReason != "":
		e.Reason = v.RemovalReason
	}
	r.of(id).History = append(r.of(id).History, e)
	return nil
}

// first notes those that the first version had.
func (r *rowHistory) first() error {
	v, err := r.store.Version(r.set, 1)
	if err != nil {
		return err
	}
	for id, f := range r.found {
		if n := len(f.GetHistory()); n > 0 && f.GetHistory()[n-1].GetChange() == fixturev1.RowChange_ROW_CHANGE_ADDED {
			continue
		}
		item, err := r.store.Fixture(v, id)
		if fixture.CodeOf(err) == fixture.CodeNotFound {
			continue // it came later, from another row
		}
		if err != nil {
			return err
		}
		if err := r.note(id, v, fixturev1.RowChange_ROW_CHANGE_ADDED, &item); err != nil {
			return err
		}
	}
	return nil
}

// replays adds the replays of the versions that have a fixture.
func (r *rowHistory) replays() error {
	const page = 100
	for before := uint64(0); ; {
		records, more, err := r.store.Replays(r.set, "", before, page)
		if err != nil {
			return err
		}
		for _, record := range records {
			before = record.Seq
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if err := r.tried(record); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

func (r *rowHistory) tried(record *fixturestore.Replay) error {
	var d *gatev1.Decision // none where the replay came to none
	if record.State == fixturestore.Decided {
		var err error
		if d, err = decisionOf(r.store, record); err != nil {
			return err
		}
	}
	for id, f := range r.found {
		if !has(f, record.Version) {
			continue
		}
		if f.ReplayCount++; len(f.Replays) == maxRowReplays {
			continue
		}
		one := &fixturev1.RowReplay{ReplayId: record.ID, Release: record.Release, Version: record.Version, StartedAt: timestamp(record.StartedAt), Ruling: d.GetRuling()}
		for _, found := range d.GetFindings() {
			if found.GetSubject() == id {
				one.Findings = append(one.Findings, found)
			}
		}
		f.Replays = append(f.Replays, one)
	}
	return nil
}

// has says whether a version has a fixture, by its history.
func has(f *fixturev1.RowFixture, version uint64) bool {
	there := false
	for _, e := range f.GetHistory() {
		if e.GetVersion() > version {
			break
		}
		there = e.GetChange() != fixturev1.RowChange_ROW_CHANGE_REMOVED
	}
	return there
}

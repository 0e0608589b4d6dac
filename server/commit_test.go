package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
)

// A part that is wrong is refused at once, also where the caller waits for the answer before it sends the next.
func TestWrongPartIsRefusedAtOnce(t *testing.T) {
	h := newHouse(t, nil)
	header := &fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: "other", Author: "x", Reason: "r",
		Config: &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"a", "b"}, Permissive: "a"}}}}}
	entries := func(docs ...string) *fixturev1.CommitVersionRequest {
		e := &fixturev1.CommitEntries{}
		for _, d := range docs {
			e.Entries = append(e.Entries, &fixturev1.CommitEntry{Fixture: []byte(d)})
		}
		return &fixturev1.CommitVersionRequest{Part: &fixturev1.CommitVersionRequest_Entries{Entries: e}}
	}
	good := func(id string) string {
		return `{"fixture_id":"` + id + `","source_row_id":"r","verdict":"a","decided_at":"2026-01-01T00:00:00Z","x":1}`
	}
	for _, tt := range []struct {
		name string
		part *fixturev1.CommitVersionRequest
		says string
	}{
		{"no document", entries(good("g"), "{"), "expected a member name"},
		{"a verdict that is not in the vocabulary", entries(`{"fixture_id":"g","source_row_id":"r","verdict":"c","decided_at":"2026-01-01T00:00:00Z","x":1}`), `"c"`},
		{"an id behind its place", entries(good("e")), "ascend"},
		{"a second header", header, "then one seal"},
		{"nothing", &fixturev1.CommitVersionRequest{}, "then one seal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stream, err := fixturev1.NewFixtureServiceClient(h.conn).CommitVersion(h.as(t, "author"))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []*fixturev1.CommitVersionRequest{header, entries(good("f")), tt.part} {
				if err := stream.Send(part); err != nil {
					t.Fatal(err)
				}
			}
			err = stream.RecvMsg(&fixturev1.CommitVersionResponse{}) // without a word that this was all
			wantStatusCode(t, err, codes.InvalidArgument, tt.says)
		})
	}
	_, err := fixturev1.NewFixtureServiceClient(h.conn).GetVersion(h.as(t, "reader"), &fixturev1.GetVersionRequest{Set: "other"})
	wantStatusCode(t, err, codes.NotFound, "")
}

// What is held against its parent is held against one: a parent that comes into being between two looks is none that anybody has compared
// with, and a commit that names it is refused before the second.
func TestCommitOnAParentThatIsNotThere(t *testing.T) {
	h := newHouse(t, nil)
	for _, set := range []string{"other", "another"} {
		for range 2 { // without the set, and with its first version
			err := h.commitOn(t, set, 2)
			wantStatusCode(t, err, codes.Aborted, "it has no version 2 to stand on")
			if err := h.commitOn(t, set, 0); err != nil && status.Code(err) != codes.Aborted {
				t.Fatal(err)
			}
		}
	}
}

// commitOn commits one fixture as a version on top of another.
func (h *house) commitOn(t *testing.T, set string, parent uint64) error {
	t.Helper()
	stream, err := fixturev1.NewFixtureServiceClient(h.conn).CommitVersion(h.as(t, "author"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []*fixturev1.CommitVersionRequest{
		{Part: &fixturev1.CommitVersionRequest_Header{Header: &fixturev1.CommitHeader{Set: set, Parent: parent, Author: "x", Reason: "r",
			Config: &fixturev1.SetConfig{Schema: 1, Vocabulary: &fixturev1.Vocabulary{Verdicts: []string{"a", "b"}, Permissive: "a"}}}}},
		{Part: &fixturev1.CommitVersionRequest_Entries{Entries: &fixturev1.CommitEntries{Entries: []*fixturev1.CommitEntry{{
			Fixture: []byte(`{"fixture_id":"f","source_row_id":"r","verdict":"a","decided_at":"2026-01-01T00:00:00Z","x":1}`)}}}}},
		{Part: &fixturev1.CommitVersionRequest_Seal{Seal: &fixturev1.CommitSeal{FixtureCount: 1}}},
	} {
		if stream.Send(part) != nil {
			break // the answer says why
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

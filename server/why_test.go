package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
)

// R34: a row leads to its fixtures, to the versions in which they came, changed and went, and to the replays that tried them.
func TestR34ExplainRow(t *testing.T) {
	h := newHouse(t, nil)
	blocked := h.run(t, request("v1", 8))
	h.push(t, "author", 1, nil, append(ids(0, 8), ids(9, 20)...)...) // without n-08
	approve(t, h, 2)
	passed := h.run(t, request("v2", 10))
	h.push(t, "author", 2, nil, ids(0, 21)...) // with it again, and with n-20
	explain := func(row string) string {
		t.Helper()
		res, err := fixturev1.NewFixtureServiceClient(h.conn).ExplainRow(h.as(t, "reader"), &fixturev1.ExplainRowRequest{SourceRowId: row})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range res.GetFixtures() {
			for _, e := range f.GetHistory() {
				out = append(out, fmt.Sprintf("%s %s %d %s", f.GetFixtureId(), e.GetChange(), e.GetVersion(), e.GetFixture().GetVerdict()))
			}
			for _, r := range f.GetReplays() {
				out = append(out, fmt.Sprintf("%s %s %s %d", r.GetReplayId(), r.GetRelease(), r.GetRuling(), len(r.GetFindings())))
			}
		}
		return strings.Join(out, "\n")
	}
	for row, want := range map[string]string{
		"row-8":  "n-08 ROW_CHANGE_ADDED 1 keep\nn-08 ROW_CHANGE_REMOVED 2 keep\nn-08 ROW_CHANGE_ADDED 3 keep\n" + blocked.GetReplayId() + " v1 RULING_BLOCK 1",
		"row-1":  "n-01 ROW_CHANGE_ADDED 1 keep\n" + passed.GetReplayId() + " v2 RULING_PASS 0\n" + blocked.GetReplayId() + " v1 RULING_BLOCK 0",
		"row-20": "n-20 ROW_CHANGE_ADDED 3 drop",
	} {
		if got := explain(row); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", row, got, want)
		}
	}
	_, err := fixturev1.NewFixtureServiceClient(h.conn).ExplainRow(h.as(t, "reader"), &fixturev1.ExplainRowRequest{SourceRowId: "row-99"})
	wantStatusCode(t, err, codes.NotFound, "no fixture of any version")
}

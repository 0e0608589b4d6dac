package fixturestore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A version that weakens the gate waits for a second person, and so does what is made on it; going back is free.
func TestFourEyes(t *testing.T) {
	s := newStore(t)
	rows := generate(10)
	eyes := func(also ...string) *fixturestore.FourEyes {
		return &fixturestore.FourEyes{FreeRemovals: 1, Also: also}
	}
	if v := mustCommit(t, s, fixturestore.Draft{FourEyes: eyes("policy")}, rows); v.Pending() {
		t.Errorf("the first version needs %q", v.ApprovalNeeded)
	}
	removed := generate(10)
	delete(removed, "f-000001")
	if v := mustCommit(t, s, fixturestore.Draft{Parent: 1, RemovalReason: "r", FourEyes: eyes()}, removed); v.Pending() {
		t.Errorf("one removal is free, and it needs %q", v.ApprovalNeeded)
	}
	removed["g-free"] = row{verdict: "dropped"} // what is added is free
	if v := mustCommit(t, s, fixturestore.Draft{Parent: 2, FourEyes: eyes()}, removed); v.Pending() || v.Loosened != 1 {
		t.Errorf("an addition needs %q, and %d are gone", v.ApprovalNeeded, v.Loosened)
	}
	stepwise := generate(10)
	stepwise["g-free"] = row{verdict: "dropped"}
	delete(stepwise, "f-000001")
	delete(stepwise, "f-000002")
	if v := mustCommit(t, s, fixturestore.Draft{Parent: 3, RemovalReason: "r", FourEyes: eyes()}, stepwise); !v.Pending() || !strings.Contains(v.ApprovalNeeded[0], "2 fixtures are removed or rewritten since") {
		t.Errorf("one more each time needs %q", v.ApprovalNeeded)
	}
	if v := mustCommit(t, s, fixturestore.Draft{Parent: 4, FourEyes: eyes()}, removed); v.Pending() || v.Loosened != 1 { // back again
		t.Errorf("going back needs %q, and %d are gone", v.ApprovalNeeded, v.Loosened)
	}
	fewer := generate(10)
	for _, id := range []string{"f-000001", "f-000002", "f-000003"} {
		delete(fewer, id)
	}
	v := mustCommit(t, s, fixturestore.Draft{Parent: 5, RemovalReason: "r", FourEyes: eyes()}, fewer)
	if !v.Pending() || !strings.Contains(v.ApprovalNeeded[0], " fixtures are removed") {
		t.Errorf("it needs %q", v.ApprovalNeeded)
	}
	fewer["g"] = row{verdict: "dropped"}
	v = mustCommit(t, s, fixturestore.Draft{Parent: 6, FourEyes: eyes()}, fewer)
	if !v.Pending() || !strings.Contains(v.ApprovalNeeded[0], "version 6") {
		t.Errorf("what is made on it needs %q", v.ApprovalNeeded)
	}
	at := time.Unix(9, 0).UTC()
	approve := func(n uint64, by string) error {
		return s.Approve("memory", n, fixturestore.Approval{By: by, Reason: "seen", At: at})
	}
	wantCode(t, approve(7, "ada"), fixture.CodeDenied, "author")
	wantCode(t, approve(6, "eve"), fixture.CodePrecondition, "newest")
	wantCode(t, s.Approve("memory", 7, fixturestore.Approval{By: "eve", At: at}), fixture.CodeInvalid, "reason")
	if err := approve(7, "eve"); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{0, 1, 2, 4, 5, 6} { // the fourth was taken back
		if v, err := s.Version("memory", n+1); err != nil || v.Pending() {
			t.Errorf("version %d: %+v, %v", n+1, v, err)
		}
	}
	wantCode(t, approve(7, "eve"), fixture.CodePrecondition, "before")
	changed := generate(10)
	for _, id := range []string{"f-000001", "f-000002", "f-000003"} {
		delete(changed, id)
	}
	changed["g"] = row{verdict: "promoted"}
	v = mustCommit(t, s, fixturestore.Draft{Parent: 7, Changes: map[string]string{"g": "ticket"}, FourEyes: eyes()}, changed)
	if !v.Pending() || !strings.Contains(v.ApprovalNeeded[0], "1 expectations change") {
		t.Errorf("it needs %q", v.ApprovalNeeded)
	}
	if v := mustCommit(t, s, fixturestore.Draft{Parent: 8, Changes: map[string]string{"g": "back"}, FourEyes: eyes()}, fewer); v.Pending() {
		t.Errorf("going back needs %q", v.ApprovalNeeded)
	}
}

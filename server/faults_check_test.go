//go:build linux

package server_test

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// checkFault is what comes of a checker that goes wrong while it is asked.
type checkFault struct {
	// candidate and baseline are the codes of which one must be found, by the role that the checker stands in. A role
	// without codes is not tried: the fault cannot be seen there.
	candidate, baseline []string
	// subject is what the finding is about; empty is the checker itself, "*" anything.
	subject string
	// says are words that the finding's message must have.
	says []string
	// hangs shortens the case timeout.
	hangs bool
	// ruling is the ruling, where it is not that of the role.
	ruling gatev1.Ruling
	// never are codes that must not be found.
	never []string
}

// hangTimeout is the case timeout where a checker hangs. Every other timeout is long, so that a slow machine hangs nothing.
const hangTimeout = 3 * time.Second

func oneOf(c ...string) []string { return c }

// either is for a fault that looks the same in both roles.
func either(subject string, code string, says ...string) checkFault {
	return checkFault{candidate: oneOf(code), baseline: oneOf(code), subject: subject, says: says}
}

// hanging is a fault that comes out by the case timeout.
func hanging(says ...string) checkFault {
	f := either("", "CHECKER_TIMEOUT", says...)
	f.hangs = true
	return f
}

var (
	theMarked = fixtureID(marked)
	// inFlight is how a message names a marked case that every case before it has been answered.
	inFlight = `the first of them fixture "` + theMarked + `"`
)

// checkFaults are the faults of the mode of that name.
var checkFaults = map[string]checkFault{
	"exits":                 either("", "CHECKER_FAILED", "it ended: exit status 3", "no more disk", `fixture "f-`),
	"exits-with-grandchild": either("", "CHECKER_FAILED", "it ended: exit status 3", "leaving a child behind", `fixture "f-`),
	"exits-with-daemon":     either("", "CHECKER_FAILED", "it ended: exit status 3", "leaving a daemon behind", `fixture "f-`),
	"exits-at-the-end":      either("", "CHECKER_FAILED", "it ended: exit status 0"),
	"killed":                either("", "CHECKER_FAILED", "it ended: signal: killed", `fixture "f-`),
	"sdk-exits":             either("", "CHECKER_FAILED", "it ended: exit status 3", "no more memory", `fixture "f-`),

	"ends-at-once":       {candidate: oneOf("CHECKER_FAILED", "ANSWER_MISSING"), baseline: oneOf("CHECKER_FAILED", "ANSWER_MISSING"), subject: "*"},
	"ends-early":         {candidate: oneOf("CHECKER_FAILED", "ANSWER_MISSING"), baseline: oneOf("CHECKER_FAILED", "ANSWER_MISSING"), subject: "*"},
	"skips":              either(theMarked, "ANSWER_MISSING", "without an answer"),
	"twice-in-a-message": either("", "CHECKER_PROTOCOL", "twice", theMarked),
	"twice":              either("", "CHECKER_PROTOCOL", "twice", theMarked),
	"unknown-id":         either("", "CHECKER_PROTOCOL", "never asked"),
	"future-id":          either("", "CHECKER_PROTOCOL", "never asked"),
	"zero-id":            either("", "CHECKER_PROTOCOL", "case 0", "never asked"),

	"unknown-verdict":    either(theMarked, "CHECKER_ERROR", "maybe"),
	"no-verdict":         either(theMarked, "CHECKER_ERROR", "verdict"),
	"no-reason":          either(theMarked, "CHECKER_ERROR", "no reason code"),
	"unknown-reason":     either(theMarked, "CHECKER_ERROR", "mood"),
	"rude-reason":        either(theMarked, "CHECKER_ERROR", "control character"),
	"huge-reason":        either(theMarked, "CHECKER_ERROR", "5242880 bytes", "over the limit"),
	"bad-output":         either(theMarked, "CHECKER_ERROR", "output", "JSON"),
	"neither":            either(theMarked, "CHECKER_ERROR", "neither an outcome nor an error"),
	"rude-error":         either(theMarked, "CHECKER_ERROR", "could not decide", "eeee"),
	"sdk-panics":         either(theMarked, "CHECKER_ERROR", "panic", "index out of range"),
	"sdk-no-verdict":     either(theMarked, "CHECKER_ERROR", "no verdict"),
	"huge-output":        {candidate: oneOf("FLIP"), baseline: oneOf("BASELINE_MISMATCH"), subject: theMarked},
	"many-large-outputs": {candidate: oneOf("FLIP"), subject: theMarked},
	"many-reasons":       {candidate: oneOf("FLIP"), baseline: oneOf("BASELINE_MISMATCH"), subject: theMarked},

	"garbage":          either("", "CHECKER_PROTOCOL", "unmarshal", `fixture "f-`),
	"huge-message":     either("", "CHECKER_PROTOCOL", "larger than max", `fixture "f-`),
	"many-results":     either("", "CHECKER_PROTOCOL", `fixture "f-`),
	"rude-status":      either("", "CHECKER_PROTOCOL", "ssss", `fixture "f-`),
	"huge-status":      {candidate: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), baseline: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), says: []string{`fixture "f-`}},
	"huge-header":      {candidate: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), baseline: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED")},
	"huge-trailer":     {candidate: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), baseline: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED")},
	"cancelled-status": {candidate: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), baseline: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), says: []string{"somebody cancelled"}},
	"deadline-status":  {candidate: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), baseline: oneOf("CHECKER_PROTOCOL", "CHECKER_FAILED"), says: []string{"time is over"}},
}

// R25, R29: a checker that goes wrong while it is asked is a finding of the kind that its fault has, and no pass. As the
// baseline it leaves the baseline unconfirmed (R22).
func TestCheckerThatGoesWrongWhileItIsAsked(t *testing.T) { testFaults(t, plainSet, checkFaults) }

// R24: what answers by anything but the case answers differently when it is asked again, which is never a flip alone. A
// baseline of that kind does not reproduce its past.
func TestCheckerThatIsNotDeterministic(t *testing.T) {
	testFaults(t, plainSet, map[string]checkFault{
		"random":                      {candidate: oneOf("NONDETERMINISTIC"), baseline: oneOf("BASELINE_MISMATCH"), subject: "*"},
		"clock":                       {candidate: oneOf("NONDETERMINISTIC"), baseline: oneOf("BASELINE_MISMATCH"), subject: "*"},
		"order":                       {candidate: oneOf("NONDETERMINISTIC"), subject: "*", says: []string{"asked again"}, never: oneOf("FLIP")},
		"other-mind-when-asked-again": {candidate: oneOf("NONDETERMINISTIC"), subject: theMarked, says: []string{"drop/spam"}, never: oneOf("FLIP")},
		"error-when-asked-again":      {candidate: oneOf("NONDETERMINISTIC"), subject: theMarked, says: []string{"an error"}, never: oneOf("FLIP", "CHECKER_ERROR")},
	})
}

// R19: a checker that says it used a stub that the case does not carry, or asks for one that nobody recorded, is an error
// of that case; stubs that the baseline never asks for pin nothing.
func TestCheckerThatMisusesStubs(t *testing.T) {
	testFaults(t, plainSet, map[string]checkFault{
		"claims-stub":               either(theMarked, "CHECKER_ERROR", "oracle", "does not carry"),
		"missing-stub":              either(theMarked, "STUB_MISSING", "oracle"),
		"sdk-uses-stub":             either(theMarked, "STUB_MISSING", "classify"),
		"sdk-swallows-missing-stub": either(theMarked, "STUB_MISSING", "oracle"),
	})
}

// R19: as above, over a set that has stubs.
func TestBaselineThatAsksForNoStub(t *testing.T) {
	testFaults(t, stubbedSet, map[string]checkFault{
		"uses-no-stub": {baseline: oneOf("STUBS_BYPASSED"), subject: fixtureID(0), says: []string{"40 fixtures have stubs", "not pinned"}, ruling: gatev1.Ruling_RULING_BLOCK},
	})
}

// R19: a candidate that asks for none of the stubs that the baseline asks for may have given up its model calls, or make
// them live. It is told, and may pass.
func TestCandidateThatAsksForNoStub(t *testing.T) {
	const name = "uses-no-stub"
	b, _ := faultyBench(t, map[string]checkFault{name: {}})
	r := b.replay(t, t.Name(), &replayv1.ReplayRequest{Set: stubbedSet, Baseline: dialled(b.good), Candidate: named(name + "-as-candidate")})
	if r.err != nil || len(r.findings) != 1 {
		t.Fatalf("findings %v, %v", r.findings, r.err)
	}
	f := r.findings[0]
	if f.GetCode() != "STUBS_BYPASSED" || f.GetSeverity() != gatev1.Severity_SEVERITY_WARNING {
		t.Errorf("finding %s of severity %s", f.GetCode(), f.GetSeverity())
	}
	checkSays(t, []string{f.GetMessage()}, []string{"candidate", "40 fixtures have stubs"})
	checkGone(t, b.pids(name+"-as-candidate"))
}

// R25, R29: a checker that hangs is ended by the case timeout, and the finding names the first fixture that it left
// unanswered. A message without an answer is no sign of life.
func TestCheckerThatHangs(t *testing.T) {
	faults := map[string]checkFault{
		"reads-nothing":           hanging("no answer for 3s", fixtureID(0)),
		"hangs":                   hanging("no answer for 3s", inFlight),
		"stopped":                 hanging("no answer for 3s", `fixture "f-`), // what it had answered may not have left it
		"empty-messages-for-ever": hanging("no answer for 3s", inFlight),
		"skips-and-waits":         hanging("no answer for 3s", "1 cases in flight", inFlight),
		"keeps-stream-open":       hanging("did not end its stream"),
		"hangs-when-asked-again":  {candidate: oneOf("CHECKER_TIMEOUT"), hangs: true, says: []string{"no answer for 3s", `fixture "f-`}},
	}
	b, names := faultyBench(t, faults)
	var all []*roled
	for _, name := range names {
		all = append(all, b.roles(plainSet, name, faults[name])...)
	}
	// A checker that hangs uses no processor, so that there may be more of them at a time than the test runner admits.
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for _, r := range all {
		slots <- struct{}{}
		wg.Go(func() {
			r.came = b.replay(t, t.Name()+"/"+r.entry(), r.req)
			<-slots
		})
	}
	wg.Wait()
	for _, r := range all {
		t.Run(r.entry(), func(t *testing.T) { b.check(t, r) })
	}
}

func testFaults(t *testing.T, set string, faults map[string]checkFault) {
	b, names := faultyBench(t, faults)
	for _, name := range names {
		for _, r := range b.roles(set, name, faults[name]) {
			t.Run(r.entry(), func(t *testing.T) {
				t.Parallel()
				r.came = b.replay(t, t.Name(), r.req)
				b.check(t, r)
			})
		}
	}
}

// faultyBench gives a bench with the modes of these faults, in either role, and their names.
func faultyBench(t *testing.T, faults map[string]checkFault) (*bench, []string) {
	t.Helper()
	names := slices.Sorted(maps.Keys(faults))
	return newBench(t, func(b *bench) map[string]server.CheckerConfig {
		checkers := map[string]server.CheckerConfig{}
		for _, name := range names {
			for _, role := range []string{"candidate", "baseline"} {
				entry := name + "-as-" + role
				checkers[entry] = b.command(entry, name)
			}
		}
		return checkers
	}), names
}

// roled is a fault in one role, and what came of it.
type roled struct {
	checkFault
	name, role string
	want       []string
	req        *replayv1.ReplayRequest
	came       trial
}

func (r *roled) entry() string { return r.name + "-as-" + r.role }

// roles gives a fault in the roles that it can be seen in. The other checker is a good one.
func (b *bench) roles(set, name string, f checkFault) []*roled {
	var out []*roled
	add := func(role string, want []string, ruling gatev1.Ruling) *replayv1.ReplayRequest {
		req := &replayv1.ReplayRequest{Set: set, Baseline: dialled(b.good), Candidate: dialled(b.good)}
		if f.hangs {
			req.CaseTimeout = durationpb.New(hangTimeout)
			req.RunTimeout = durationpb.New(5 * hangTimeout)
		}
		if len(want) > 0 {
			r := &roled{checkFault: f, name: name, role: role, want: want, req: req}
			r.ruling = cmp.Or(f.ruling, ruling)
			out = append(out, r)
		}
		return req
	}
	add("candidate", f.candidate, gatev1.Ruling_RULING_BLOCK).Candidate = named(name + "-as-candidate")
	add("baseline", f.baseline, gatev1.Ruling_RULING_BASELINE_UNCONFIRMED).Baseline = named(name + "-as-baseline")
	return out
}

// check holds what came of a fault against what has to.
func (b *bench) check(t *testing.T, r *roled) {
	t.Helper()
	d := r.came.decision
	if r.came.err != nil {
		t.Errorf("there is no decision: %v", r.came.err)
	}
	if d.GetRuling() != r.ruling {
		t.Errorf("the ruling is %s, want %s: %s", d.GetRuling(), r.ruling, d.GetSummary())
	}
	b.checkNoPass(t, r.req.GetSet(), r.came)
	if res := b.standing(t, r.req.GetSet(), t.Name()); res.GetStatus() != gatev1.Status_STATUS_BLOCK {
		t.Errorf("the gate says %s, want BLOCK", res.GetStatus())
	}
	if !slices.ContainsFunc(d.GetCauses(), func(c *gatev1.Cause) bool { return slices.Contains(r.want, c.GetCode()) }) {
		t.Errorf("none of the causes is a %v: %v", r.want, d.GetCauses())
	}
	for _, found := range r.came.findings {
		if slices.Contains(r.never, found.GetCode()) {
			t.Errorf("there is a %s about %q: %s", found.GetCode(), found.GetSubject(), found.GetMessage())
		}
	}
	r.checkFindings(t, "of the stream", r.came.findings)
	r.checkFindings(t, "of the decision", d.GetFindings())
	killDaemons(t, b.pids(r.entry()))
	checkGone(t, b.pids(r.entry()))
}

// checkFindings holds that a finding of one of the codes names the checker, and its fixture where it is about one.
func (r *roled) checkFindings(t *testing.T, where string, findings []*gatev1.Finding) {
	t.Helper()
	subject := cmp.Or(r.subject, r.name)
	var messages []string
	for _, found := range findings {
		checkSaid(t, found.GetMessage())
		if slices.Contains(r.want, found.GetCode()) && (subject == "*" || subject == found.GetSubject()) {
			messages = append(messages, found.GetMessage())
		}
	}
	if len(messages) == 0 {
		t.Errorf("no finding %s is a %v about %q; there are %d", where, r.want, subject, len(findings))
		for _, found := range findings[:min(5, len(findings))] {
			t.Logf("%s %.40q: %.300s", found.GetCode(), found.GetSubject(), found.GetMessage())
		}
		return
	}
	checkSays(t, messages, append(slices.Clone(r.says), r.role))
	if r.subject == "" {
		checkSays(t, messages, []string{r.name})
	}
}

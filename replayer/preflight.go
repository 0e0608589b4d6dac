package replayer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// preflight reads the whole version once before any checker is asked: its checksum is recomputed, what is selected is
// counted, and what would make the ruling worthless is found.
func (r *run) preflight() error {
	sum := fixture.NewChecksum(r.t.Vocabulary)
	stale := staleRecordings{now: r.t.Now}
	err := ahead(r.ctx, r.t.Source, slices.Collect(numbers(r.t.Source.Blocks())), func(_ int, cases []Case) error {
		for i := range cases {
			c := &cases[i]
			if err := sum.Add(c.Fixture.ID, c.Digest, c.StubDigest); err != nil {
				return fixture.NewError(fixture.CodeCorrupt, "read", c.Fixture.ID, err)
			}
			r.hashStubs(c)
			if !r.selected(c.Fixture.ID) {
				continue
			}
			if c.Fixture.Group == fixture.Derived {
				r.selection.Derived++
				continue
			}
			r.selection.Hermetic++
			r.freezes.Saw(c.Fixture.ID, c.Digest)
			r.usage.has(*c)
			stale.look(*c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if got := sum.Sum(); got != r.t.Checksum {
		return fixture.NewError(fixture.CodeCorrupt, "read version", "", fmt.Errorf("its checksum is %s, its content has %s", r.t.Checksum, got))
	}
	if !r.t.IncludeDerived {
		r.selection.Derived = 0
	}
	r.evidence.Expected = r.selection.Hermetic
	r.start(slices.Concat(r.t.Notes, r.docket.list.Expirations(), stale.findings(), r.freezes.Findings(r.t.Selected == nil), r.suspicions())...)
	return nil
}

func (r *run) hashStubs(c *Case) {
	if c.StubDigest == nil {
		return
	}
	if r.stubs == nil {
		r.stubs = sha256.New()
	}
	fmt.Fprintf(r.stubs, "%s\x00%s\n", c.Fixture.ID, c.StubDigest)
}

func (r *run) stubsDigest() *fixture.Digest {
	if r.stubs == nil {
		return nil
	}
	return (*fixture.Digest)(r.stubs.Sum(nil))
}

func numbers(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// start tells what is tried, and then what was found before.
func (r *run) start(found ...gate.Finding) {
	if !r.started {
		r.started = true
		r.docket.started(r.selection)
	}
	for _, f := range found {
		r.docket.file(f)
	}
}

// suspicions are what the set and the checkers' own statements give reason to say.
func (r *run) suspicions() []gate.Finding {
	var out []gate.Finding
	if verdict, ok := r.t.Tally.OneVerdict(); ok {
		out = append(out, gate.Finding{Code: gate.OneVerdict, Subject: verdict,
			Message: fmt.Sprintf("every fixture of the set was %s: a checker that answers %s to everything would pass", verdict, verdict)})
	}
	base := r.t.Baseline.Description()
	if want, got := r.t.QueueConfiguration, base.ConfigurationVersion; want != "" && got != "" && want != got {
		out = append(out, gate.Finding{Code: gate.ConfigurationMismatch, Subject: base.Name,
			Message: fmt.Sprintf("the set was built against configuration %q, the baseline decides by %q", want, printable(got))})
	}
	declared := slices.Concat(base.ReasonCodes, r.t.Candidate.Description().ReasonCodes, r.t.Vocabulary.ReasonCodes)
	slices.Sort(declared)
	told := 0
	for _, code := range slices.Compact(declared) {
		if code != "" && told < maxUncovered && !r.t.Tally.HasReason(code) {
			told++
			out = append(out, gate.Finding{Code: gate.ReasonUncovered, Subject: printable(code),
				Message: "the reason code is declared, and no fixture of the set covers it"})
		}
	}
	return out
}

// maxUncovered bounds how many declared reason codes are told: a checker that declares thousands must not crowd out of the
// decision what it is about.
const maxUncovered = 100

// maxUnseen bounds how many new reason codes are told.
const maxUnseen = 100

// unseen gives a function that reports each reason code that the set has never seen, once (R35).
func (r *run) unseen() func(fixture.Outcome) *gate.Finding {
	known := map[string]bool{}
	for _, c := range r.t.Tally.Counts() {
		known[c.ReasonCode] = true
	}
	told := 0
	return func(o fixture.Outcome) *gate.Finding {
		if known[o.ReasonCode] || told == maxUnseen {
			return nil
		}
		known[o.ReasonCode] = true
		told++
		return &gate.Finding{Code: gate.ReasonUnseen, Role: gate.Candidate, Subject: o.ReasonCode,
			Message: "the candidate gives a reason code that no fixture of the set carries"}
	}
}

// close files what can be said only of a run that was complete.
func (r *run) close() {
	r.fileLate()
	if r.evidence.Evaluated != r.evidence.Expected {
		return
	}
	for _, f := range slices.Concat(r.docket.list.Unused(r.selected), r.usage.findings(r.t.Selected == nil, r.t.ModelCalls)) {
		r.docket.file(f)
	}
}

var errUnasked = errors.New("it says that it used a stub that the case does not carry")

// unknownStub catches a checker that claims a stub it cannot have seen.
func unknownStub(c Case, a Answer) error {
	for _, call := range a.StubsUsed {
		if !slices.ContainsFunc(c.Stubs, func(s Stub) bool { return s.Call == call }) {
			return fmt.Errorf("%w: %.80q", errUnasked, call)
		}
	}
	return nil
}

package replayer

import (
	"context"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// Source gives the fixtures of one version, cut into blocks of consecutive fixtures. Safe for concurrent use.
type Source interface {
	// Blocks gives the number of blocks.
	Blocks() int
	// Block calls fn for each case of block i in ascending order of ids. It holds nothing open while fn runs.
	Block(i int, fn func(Case) error) error
}

// Case is one fixture with what belongs to it.
type Case struct {
	// Position counts the fixtures of the version from 0, in ascending order of ids.
	Position   uint64
	Fixture    *fixture.Fixture
	Digest     fixture.Digest
	StubDigest *fixture.Digest
	// Stubs are sorted by call.
	Stubs []Stub
	// Recordings gives what is wrong at an instant with the recordings that the stubs come from; nil where none was recorded.
	Recordings func(now time.Time) []Problem
}

// Problem is something that is wrong with a recording.
type Problem struct {
	// Code is gate.RecordingStale or gate.RecordingChanged.
	Code gate.Code
	// Message says what, of which call, and what is to be done.
	Message string
}

// Trial says what is tried against what.
type Trial struct {
	Source Source
	// Checksum is the version's; what Source gives must have it.
	Checksum   string
	Vocabulary fixture.Vocabulary
	Tally      fixture.Tally
	// QueueConfiguration is what the set was built against; may be empty.
	QueueConfiguration  string
	Baseline, Candidate Checker
	Policy              gate.Policy
	Allowlist           []gate.Entry
	// Freezes are those of the set; where there are some, Since gives how many of its replays began at or after an instant, this one among
	// them.
	Freezes []gate.Freeze
	Since   func(time.Time) (uint32, error)
	// Now is the run's instant: every expiry is decided by it.
	Now time.Time
	// Selected says which fixtures are tried, by their ids; nil selects all.
	Selected func(id string) bool
	// KeepGoing tries the candidate even if the baseline is not confirmed.
	KeepGoing bool
	// IncludeDerived tries the fixtures that do not gate as well.
	IncludeDerived bool
	// Notes are findings of the caller's own, told first.
	Notes []gate.Finding
	// ModelCalls knows what the checkers asked a model by themselves; nil where they cannot.
	ModelCalls ModelCalls
	// Show are the members of the input to show beside a flip.
	Show []string
	// CaseTimeout is how long a checker may leave every case unanswered.
	CaseTimeout time.Duration
	// RunTimeout is how long the whole run may take.
	RunTimeout time.Duration
	// Seed orders the probe, and scrambles case ids.
	Seed uint64
	// Elapsed gives the time since some fixed instant. It sizes batches and decides nothing.
	Elapsed func() time.Duration
}

// Phase is a part of a run.
type Phase int

// The phases that tell their progress.
const (
	PhaseConfirmation Phase = iota + 1
	PhaseCandidate
	PhaseProbe
	PhaseDerived
)

// Progress says how far a phase is.
type Progress struct {
	Phase              Phase
	Answered, Expected uint64
	// Confirmed counts, in the confirmation, the answers equal to the recorded outcome.
	Confirmed uint64
}

// Selection counts what is tried.
type Selection struct {
	Hermetic, Derived uint64
}

// Sink takes the events of a run in their order. Its methods are never called at the same time. An error cancels the
// run.
type Sink interface {
	Started(Selection) error
	Progress(Progress) error
	Finding(gate.Finding) error
}

// Report is what a run comes to.
type Report struct {
	gate.Decision
	Evidence gate.Evidence
	Tally    gate.Tally
	// StubsDigest is over the stubs of the version: SHA-256 over a line for each fixture that has any, in ascending order of
	// ids, of its id, a zero byte and the digest of its stubs. Nil where there are none.
	StubsDigest *fixture.Digest
	// Findings are the first MaxFindings of them, in the order in which they were made.
	Findings []gate.Finding
}

// MaxFindings bounds the findings that a Report keeps. All of them are counted, and all go to the Sink.
const MaxFindings = 1000

// Run runs a trial. It always rules: over an empty selection, a cancelled context, a checker that crashes, hangs or
// breaks the contract as well.
//
// An error says that the evidence itself cannot be read (CodeCorrupt) or that a stream could not be opened
// (CodeUnavailable); then there is no ruling, and none may be made up.
func Run(ctx context.Context, t Trial, sink Sink) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.RunTimeout, errRunTimeout)
	defer cancel()
	r := &run{t: t, ctx: ctx, docket: docket{policy: t.Policy, list: gate.NewAllowlist(t.Allowlist, t.Now), sink: sink, cancel: cancel}}
	r.usage.model = r.askedModel
	if len(t.Freezes) > 0 {
		var err error
		if r.freezes, err = gate.NewFreezes(t.Freezes, t.Now, t.Baseline.Description().Digest(), t.Since); err != nil {
			return nil, err
		}
	}
	return r.phases()
}

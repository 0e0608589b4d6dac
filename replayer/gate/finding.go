package gate

import "github.com/retrial-dev/retrial/replayer/fixture"

// Severity says what a finding does to a ruling. The zero value blocks.
type Severity int

// The severities, from the one that blocks to the one that is only told.
const (
	// Blocking: the release may not go out.
	Blocking Severity = iota
	// Tolerated: a flip that the policy lets pass.
	Tolerated
	// Warning: reported, and worth a look before the release.
	Warning
	// Info: reported only. What a derived fixture finds is of this kind (R17).
	Info
)

// Role says which checker a finding is about.
type Role string

// The roles. A finding about the set or the run has none.
const (
	Baseline  Role = "baseline"
	Candidate Role = "candidate"
)

// Finding is anything that bears on a ruling.
type Finding struct {
	Code     Code
	Severity Severity
	// Role is the checker that it is about; empty if it is about neither.
	Role Role
	// Subject is what it is about: a fixture id, a reason code, an allowlist entry.
	Subject string
	// Message is for a person. Text that comes from a checker is bounded and without control characters.
	Message string
	// SourceRowID is the row of the log, where the subject is a fixture (R8).
	SourceRowID string
	// Group is the fixture's group; empty where the subject is none.
	Group fixture.Group
	// Old and New are the two outcomes, where the finding compares two.
	Old, New fixture.Outcome
	// OutputDiffers says that the output documents of Old and New differ, of which those may carry the beginnings alone.
	OutputDiffers bool
	// Class is the class of a flip.
	Class fixture.Class
	// Inputs are the members of the frozen input to show beside it.
	Inputs []ShownInput
	// AllowedBy is the owner of the allowlist entry that covers a flip.
	AllowedBy string
}

// ShownInput is one member of a frozen input.
type ShownInput struct {
	// Path is the member's path, such as "scope.user_id".
	Path string
	// Value is its value as JSON, cut to a bounded length; empty if there is no such member.
	Value string
}

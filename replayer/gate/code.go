package gate

// Code says what kind of finding a Finding is.
type Code string

// The codes. Each has a row in table.
const (
	// Flip: the candidate's outcome differs from the recorded one (R23).
	Flip Code = "FLIP"
	// BaselineMismatch: the baseline does not reproduce the recorded outcome (R22).
	BaselineMismatch Code = "BASELINE_MISMATCH"
	// Nondeterministic: the same input was answered differently when it was asked again (R24).
	Nondeterministic Code = "NONDETERMINISTIC"
	// CheckerError: the checker answered a case with an error, or with something that is no outcome of the set (R25).
	CheckerError Code = "CHECKER_ERROR"
	// AnswerMissing: a case was given to a checker and never answered (R25).
	AnswerMissing Code = "ANSWER_MISSING"
	// StubMissing: the checker asked for a stub that nobody recorded (R19).
	StubMissing Code = "STUB_MISSING"
	// StubUnused: neither checker asked for a stub (R19).
	StubUnused Code = "STUB_UNUSED"
	// StubsBypassed: the set has stubs and a checker asked for none of them, so that nothing pins its model calls (R19). A
	// warning where it is the candidate, which may have given them up.
	StubsBypassed Code = "STUBS_BYPASSED"
	// CheckerFailed: the checker crashed, or its stream ended early.
	CheckerFailed Code = "CHECKER_FAILED"
	// CheckerTimeout: the checker left every case unanswered for too long.
	CheckerTimeout Code = "CHECKER_TIMEOUT"
	// CheckerProtocol: the checker broke the contract: an unknown case, a case answered twice, bytes that are no message.
	CheckerProtocol Code = "CHECKER_PROTOCOL"
	// RunCancelled: the caller went away before the end (R29).
	RunCancelled Code = "RUN_CANCELLED"
	// RunTimeout: the run took longer than it may.
	RunTimeout Code = "RUN_TIMEOUT"
	// NoFixtures: nothing was selected, so nothing was shown (R29).
	NoFixtures Code = "NO_FIXTURES"
	// Incomplete: fewer fixtures were tried than had to be (R29).
	Incomplete Code = "INCOMPLETE"
	// BoundExceeded: more flips of a class than the policy tolerates (R26).
	BoundExceeded Code = "BOUND_EXCEEDED"
	// AllowlistExpired: an entry allows nothing any more (R27).
	AllowlistExpired Code = "ALLOWLIST_EXPIRED"
	// AllowlistUnused: an entry names a flip that did not happen (R27).
	AllowlistUnused Code = "ALLOWLIST_UNUSED"
	// Frozen: the baseline does not reproduce a fixture, and a freeze in force excuses it (S5).
	Frozen Code = "FROZEN"
	// FreezeExpired: a freeze excuses nothing any more (S5).
	FreezeExpired Code = "FREEZE_EXPIRED"
	// FreezeRefused: a freeze never was in force: its evidence is of another baseline or fixture, or the candidate flips what it is
	// about (L7, L8).
	FreezeRefused Code = "FREEZE_REFUSED"
	// FreezeRecheck: there were as many replays since a freeze was proven as it holds for (L7).
	FreezeRecheck Code = "FREEZE_RECHECK"
	// RecordingStale: a stub's value is older than it may be, or is said to come from the future (S2, S3).
	RecordingStale Code = "RECORDING_STALE"
	// RecordingChanged: a stub's value, or the prompt that it answers, is not what was recorded (S2).
	RecordingChanged Code = "RECORDING_CHANGED"
	// ConfigurationMismatch: the baseline decides by another configuration than the set was built against.
	ConfigurationMismatch Code = "CONFIGURATION_MISMATCH"
	// VersionUnapproved: the version needs the approval of a second person, and lacks it (R18).
	VersionUnapproved Code = "VERSION_UNAPPROVED"
	// PolicyOverridden: the run was ruled by another policy than the set's own (R26).
	PolicyOverridden Code = "POLICY_OVERRIDDEN"
	// InstanceLost: an instance of a checker was lost, and another one was asked what it had not answered.
	InstanceLost Code = "INSTANCE_LOST"
	// OneVerdict: every fixture carries the same verdict (R9).
	OneVerdict Code = "ONE_VERDICT"
	// ReasonUnseen: the candidate gave a reason code that no fixture of the set carries (R35).
	ReasonUnseen Code = "REASON_UNSEEN"
	// ReasonUncovered: a checker declares a reason code that no fixture covers (R35).
	ReasonUncovered Code = "REASON_UNCOVERED"
)

// rule is a code's row: how severe its findings are, and the words of its cause in the summary.
type rule struct {
	code     Code
	severity Severity
	one      string // "1 fixture flipped"
	many     string // "17 fixtures flipped"
}

// table has every code in the order in which causes are given, most severe first.
var table = []rule{
	{NoFixtures, Blocking, "no fixture was selected", "no fixture was selected"},
	{RunCancelled, Blocking, "the run was cancelled", "the run was cancelled"},
	{RunTimeout, Blocking, "the run took too long", "the run took too long"},
	{BaselineMismatch, Blocking, "%d fixture not reproduced by the baseline", "%d fixtures not reproduced by the baseline"},
	{Flip, Blocking, "%d fixture flipped", "%d fixtures flipped"},
	{BoundExceeded, Blocking, "%d flip class over its bound", "%d flip classes over their bound"},
	{Nondeterministic, Blocking, "%d fixture answered differently when asked again", "%d fixtures answered differently when asked again"},
	{CheckerFailed, Blocking, "%d checker failed", "%d checkers failed"},
	{CheckerTimeout, Blocking, "%d checker hung", "%d checkers hung"},
	{CheckerProtocol, Blocking, "%d checker broke the contract", "%d checkers broke the contract"},
	{CheckerError, Blocking, "%d fixture ended in a checker error", "%d fixtures ended in a checker error"},
	{StubMissing, Blocking, "%d fixture lacks a stub", "%d fixtures lack a stub"},
	{AnswerMissing, Blocking, "%d fixture got no answer", "%d fixtures got no answer"},
	{Incomplete, Blocking, "not every fixture was tried", "not every fixture was tried"},
	{StubsBypassed, Blocking, "none of the stubs was asked for", "none of the stubs was asked for"},
	{RecordingChanged, Blocking, "%d recording is not what was recorded", "%d recordings are not what was recorded"},
	{RecordingStale, Blocking, "%d recording is stale", "%d recordings are stale"},
	{ConfigurationMismatch, Blocking, "the baseline's configuration is not the set's", "the baseline's configuration is not the set's"},
	{VersionUnapproved, Blocking, "the version lacks its approval", "the version lacks its approval"},
	{AllowlistExpired, Blocking, "%d allowlist entry expired", "%d allowlist entries expired"},
	{AllowlistUnused, Blocking, "%d allowlist entry unused", "%d allowlist entries unused"},
	{FreezeExpired, Blocking, "%d freeze expired", "%d freezes expired"},
	{FreezeRefused, Blocking, "%d freeze refused", "%d freezes refused"},
	{FreezeRecheck, Blocking, "%d freeze is to be proven anew", "%d freezes are to be proven anew"},
	{Frozen, Warning, "%d fixture frozen", "%d fixtures frozen"},
	{PolicyOverridden, Warning, "another policy than the set's own", "another policy than the set's own"},
	{InstanceLost, Warning, "%d instance of a checker was lost", "%d instances of a checker were lost"},
	{OneVerdict, Warning, "every fixture carries one verdict", "every fixture carries one verdict"},
	{ReasonUnseen, Warning, "%d reason code never seen in the set", "%d reason codes never seen in the set"},
	{ReasonUncovered, Warning, "%d declared reason code covered by no fixture", "%d declared reason codes covered by no fixture"},
	{StubUnused, Warning, "%d fixture has a stub nobody asked for", "%d fixtures have stubs nobody asked for"},
}

// Codes lists every code, in the order in which causes are given.
func Codes() []Code {
	codes := make([]Code, len(table))
	for i, r := range table {
		codes[i] = r.code
	}
	return codes
}

// lookup gives a code's row. A code without a row blocks: a finding that nobody has thought about is no pass.
func lookup(c Code) rule {
	for _, r := range table {
		if r.code == c {
			return r
		}
	}
	return rule{code: c, severity: Blocking, one: "%d finding of unknown kind", many: "%d findings of unknown kind"}
}

package replayer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// Checker is the program under trial.
type Checker interface {
	// Description gives what the checker said about itself.
	Description() Description
	// Open begins a stream of cases. The stream ends when ctx does.
	Open(ctx context.Context) (Stream, error)
}

// Description is what a checker says about itself.
type Description struct {
	Name, Version, BuildDigest string
	// Verdicts and ReasonCodes are what it can answer; empty declares nothing.
	Verdicts, ReasonCodes []string
	// ConfigurationVersion is what it decides by; may be empty.
	ConfigurationVersion string
	// Parameters are the values it was opened with, as JSON by name.
	Parameters map[string]string
}

// Digest says which checker this is: over its name, version, build, configuration and parameters, as "sha256:…". Empty where it does
// not say which build it is: then two that differ could not be told apart.
func (d Description) Digest() string {
	if d.BuildDigest == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n%q\n%q\n", d.Name, d.Version, d.BuildDigest, d.ConfigurationVersion)
	for _, name := range slices.Sorted(maps.Keys(d.Parameters)) {
		fmt.Fprintf(h, "%q=%q\n", name, d.Parameters[name])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Stream is one stream of cases. Send and CloseSend belong to one goroutine, Recv to another.
type Stream interface {
	// Send gives the checker a batch, and does not keep the slice. The fixtures and stubs in it stay valid and unchanged until
	// Recv has given their answers. It may block while the checker is busy.
	Send(batch []Request) error
	// CloseSend says that no batch follows.
	CloseSend() error
	// Recv gives the next answers; they are the caller's until the next call. io.EOF says that the checker has ended the stream in order.
	Recv() ([]Answer, error)
}

// Sharer is a Checker behind which several instances share the cases of a stream.
type Sharer interface {
	Checker
	// Losses gives the instances that were lost since the last call, in the order in which they were. It is called when no
	// stream is under way.
	Losses() []Loss
}

// Loss says that an instance of a checker was lost, and that the run has gone on without it.
type Loss struct {
	// Instance is the one that was lost.
	Instance string
	// Cases is how many it had not answered, and To the instance that was asked them instead; empty if there was none.
	Cases int
	To    string
}

// Request is one case as a checker is asked it. It shows nothing of the expected outcome.
type Request struct {
	// CaseID is an opaque handle, unique within the stream.
	CaseID uint64
	// Fixture gives the input, by AppendInput and nothing else.
	Fixture *fixture.Fixture
	// Stubs are the values for the checker's model calls, sorted by call.
	Stubs []Stub
}

// Stub is the value of one model call.
type Stub struct {
	Call  string
	Value []byte
}

// Answer is what a checker says to one case. It has not been checked.
type Answer struct {
	CaseID    uint64
	Outcome   fixture.Outcome
	Err       *CaseError // set instead of Outcome
	StubsUsed []string
}

// CaseError says why a checker cannot decide a case.
type CaseError struct {
	// StubMissing is the call that has no stub, where that is the reason.
	StubMissing string
	Message     string
}

// Fault is what a Stream returns when the checker is to blame: it crashed, or broke the contract.
type Fault struct {
	// Code is gate.CheckerFailed, gate.CheckerTimeout or gate.CheckerProtocol.
	Code gate.Code
	// Message is for a person; bounded, and without control characters but line feeds.
	Message string
	// Lost says that all there is to blame the checker for is that the connection to it was lost.
	Lost bool
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

func faultf(code gate.Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

package cli

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// The exit statuses, as they stand in the README and in the help.
const (
	exitPass        = 0
	exitBlocked     = 1
	exitUsage       = 2
	exitUnconfirmed = 3
	exitUndecided   = 4
	exitInvalid     = 5
)

const exitHelp = `Exit status:
  0  pass
  1  blocked, or no evidence
  2  usage or configuration
  3  baseline unconfirmed
  4  could not decide: a checker or the server is unavailable
  5  invalid fixtures, stubs, policy or attestation`

// exit is an error that has its exit status. Its text may be empty: then all has been said.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(err error) error { return &exit{exitUsage, err} }

// exitStatus gives the status for an error of a command. What it does not know is no pass.
func exitStatus(err error) int {
	var e *exit
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &e):
		return e.status
	}
	if s := statusIn(err); s != nil {
		return statusOf(s.Code())
	}
	if errors.Is(err, retrial.ErrNoDecision) {
		return exitBlocked // the stream was cut, or broke its contract: no evidence
	}
	switch fixture.CodeOf(err) {
	case fixture.CodeInvalid, fixture.CodePrecondition, fixture.CodeCorrupt, fixture.CodeConflict, fixture.CodeExists, fixture.CodeTooLarge:
		return exitInvalid
	case fixture.CodeNotFound:
		return exitUsage
	default:
		return exitUndecided
	}
}

// statusIn finds the gRPC status that an error carries, or nil.
func statusIn(err error) *status.Status {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus()
	}
	return nil
}

func statusOf(code codes.Code) int {
	switch code {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.DataLoss, codes.Aborted, codes.AlreadyExists:
		return exitInvalid
	case codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return exitUsage
	case codes.Canceled:
		return exitBlocked
	default:
		return exitUndecided
	}
}

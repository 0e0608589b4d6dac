//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ShiftsClock says whether this platform can move the clock that one program sees.
const ShiftsClock = false

type (
	clock    struct{}
	listener struct{}
)

// Listener gives what listens behind the program's loopback.
func (p *Plan) Listener() net.Listener { return nil }

// Attributes adds what a level needs to the attributes of a process.
func (p *Plan) Attributes(*syscall.SysProcAttr) {}

// Enter restricts the calling thread.
func (p *Plan) Enter() error {
	if p.Shift != 0 {
		return errors.New("the clock cannot be moved here")
	}
	if p.Level == Off {
		return nil
	}
	return fmt.Errorf("the level %s is Linux's alone: on this platform a checker has the network, the files and the processes of whoever starts it", p.Level)
}

// Release lets the started process go on.
func (p *Plan) Release(int) error { return nil }

// Unshifted says why a running program sees the clock as it is.
func (p *Plan) Unshifted(int) error { return errors.New("the clock cannot be moved here") }

// Close ends what a plan needs while the program runs.
func (p *Plan) Close() error { return nil }

// Unenforced says which promises of a level this platform does not keep.
func Unenforced(Level) []string { return nil }

// Package sandbox starts a program in which little is in reach. What the platform cannot keep of a level is an error of
// Enter or Release: it never promises less than it was asked for.
//
// What a sandbox does not keep from a program: the time, the number of its processors, the kernel's version, what stands in the
// directories that it may read, whether a file is there at all with its size and its times, and how long its own work takes.
package sandbox

import (
	"fmt"
	"net"
	"time"
)

// Level says how much is kept from a program. A higher level keeps all that a lower one does.
type Level int

const (
	// Off keeps nothing but the environment and the terminal.
	Off Level = iota
	// Network has no network, not even the loopback of this machine, no abstract socket, no shared memory of System V and no process
	// of others that it could signal or look into; whatever it starts ends with it.
	Network
	// Strict has beside that no file read but those it is made of and those of the system that programs need to start; no file
	// written, and none given another mode, owner, time or attribute, but that it writes in a directory of its own that goes with it; no
	// connection to a socket by its path, no new privileges, and limits on memory, on what it writes and on open files.
	Strict
)

// Auto asks for the strongest level in which a program starts.
const Auto Level = -1

// Levels gives the names of all levels, from the weakest on.
func Levels() []string { return []string{"off", "network", "strict"} }

func (l Level) String() string {
	if l == Auto {
		return "auto"
	}
	if l < Off || l > Strict {
		return fmt.Sprintf("level %d", int(l))
	}
	return Levels()[l]
}

// ParseLevel is the inverse of String.
func ParseLevel(name string) (Level, error) {
	if name == "auto" {
		return Auto, nil
	}
	for i, known := range Levels() {
		if name == known {
			return Level(i), nil
		}
	}
	return Off, fmt.Errorf("%.40q is none of auto, strict, network, off", name)
}

// Limits of a program at level Strict, each for one process of it.
const (
	// MemoryBytes bounds what it can write to in its memory. Address space that is only reserved does not count: runtimes
	// reserve a great deal. Neither does memory that it shares, with its own processes or with none.
	MemoryBytes = 8 << 30
	// Processes bounds its processes and threads. Linux does not hold root to it.
	Processes = 1024
	// FileBytes bounds one file that it writes in its own directory, of which it can write many.
	FileBytes = 64 << 20
	// OpenFiles bounds its open files.
	OpenFiles = 4096
	// CPUTime bounds the processor time of one process; what runs on is killed.
	CPUTime = 12 * time.Hour
)

// Plan says what becomes of one program. Enter and Release are called by the goroutine that starts it, which is locked to its
// thread and never unlocks it: what Strict restricts is the thread, and what it starts inherits that.
type Plan struct {
	Level Level
	// Read are the files and directories that it may read and run, beside those of the system. What does not exist is left out.
	Read []string
	// Private is the directory that it may write to.
	Private string
	// Shift moves the clock that it sees: the wall clock alone, by this much. Only where ShiftsClock.
	Shift time.Duration
	// Memory is another limit than MemoryBytes, in bytes; zero is none.
	Memory uint64
	// Loopback has the program reach one port, LoopbackHost and LoopbackPort, behind which Listener listens once Release is over: in
	// the levels that give it a network of its own, and not for one whose clock is moved.
	Loopback bool

	clock    *clock
	dialer   *listener
	loopback net.Listener
}

func (p *Plan) memory() uint64 {
	if p.Memory != 0 {
		return p.Memory
	}
	return MemoryBytes
}

// Taints says whether Enter changes the thread for good.
func (p *Plan) Taints() bool { return p.Level >= Strict || p.Shift != 0 || p.listens() }

// listens says whether something listens in the program's network; in that of everybody the caller can.
func (p *Plan) listens() bool { return p.Loopback && p.Level >= Network }

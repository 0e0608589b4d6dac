package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC

// Attributes adds what a level needs to the attributes of a process.
func (p *Plan) Attributes(attr *syscall.SysProcAttr) {
	if p.Level >= Network {
		attr.Cloneflags |= namespaces
	}
	if p.Taints() {
		attr.Ptrace = true // it stops before its first instruction, for Release
		return
	}
	if p.Level >= Network {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

// Enter restricts the calling thread, for good.
func (p *Plan) Enter() error {
	if p.Shift != 0 && p.listens() {
		return errTwoListeners
	}
	if p.Shift != 0 {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no new privileges: %w", err)
		}
		var err error
		if p.clock, err = newClock(p.Shift); err != nil {
			return fmt.Errorf("move the clock: %w", err)
		}
	}
	if p.Level < Strict {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := p.restrictFiles(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := filterCalls(p.Loopback); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	if p.Loopback {
		var err error
		if p.dialer, err = newDialer(); err != nil {
			return fmt.Errorf("connect for it: %w", err)
		}
	}
	return nil
}

// Release lets the started process go on, once all is done that is to be done from outside. It is called by the goroutine that
// started it.
func (p *Plan) Release(pid int) error {
	if !p.Taints() {
		return nil
	}
	var status unix.WaitStatus
	if _, err := wait4(pid, &status); err != nil {
		return fmt.Errorf("wait for its start: %w", err)
	}
	if !status.Stopped() || status.StopSignal() != unix.SIGTRAP {
		return fmt.Errorf("it did not come to its first instruction: wait status %#x", uint32(status))
	}
	// This thread may not open what is to be written: another one does.
	prepared := make(chan error)
	go func() { prepared <- p.prepare(pid) }()
	err := <-prepared
	return errors.Join(err, unix.PtraceDetach(pid))
}

func wait4(pid int, status *unix.WaitStatus) (int, error) {
	for {
		n, err := unix.Wait4(pid, status, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// prepare does what is done to a stopped process.
func (p *Plan) prepare(pid int) error {
	if p.clock != nil {
		if err := hideVDSO(pid); err != nil {
			return fmt.Errorf("move the clock: %w", err)
		}
		var err error
		if p.clock.began, err = os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid)); err != nil {
			return fmt.Errorf("move the clock: %w", err)
		}
	}
	if p.Level >= Network {
		// Its user keeps its number, as a user without privileges: those that it had in its namespace ended with exec.
		for _, m := range []struct{ file, text string }{
			{"setgroups", "deny"},
			{"uid_map", fmt.Sprintf("%d %[1]d 1", os.Getuid())},
			{"gid_map", fmt.Sprintf("%d %[1]d 1", os.Getgid())},
		} {
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, m.file), []byte(m.text), 0); err != nil {
				return err
			}
		}
	}
	if p.listens() {
		var err error
		if p.loopback, err = listenWithin(pid); err != nil {
			return fmt.Errorf("listen within: %w", err)
		}
	}
	if p.Level < Strict {
		return nil
	}
	for _, l := range []struct {
		what  int
		limit uint64
	}{
		{unix.RLIMIT_DATA, p.memory()}, {unix.RLIMIT_NPROC, Processes}, {unix.RLIMIT_FSIZE, FileBytes},
		{unix.RLIMIT_NOFILE, OpenFiles}, {unix.RLIMIT_CPU, uint64(CPUTime.Seconds())}, {unix.RLIMIT_CORE, 0},
	} {
		if err := bound(pid, l.what, l.limit); err != nil {
			return err
		}
	}
	return nil
}

// bound lowers a limit of a process. One that is lower already stays.
func bound(pid, what int, limit uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, what, nil, &now); err != nil {
		return fmt.Errorf("limit %d: %w", what, err)
	}
	limit = min(limit, now.Max)
	if err := unix.Prlimit(pid, what, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		return fmt.Errorf("limit %d: %w", what, err)
	}
	return nil
}

// Close ends what a plan needs while the program runs.
func (p *Plan) Close() error {
	var errs []error
	if p.clock != nil {
		errs = append(errs, p.clock.close())
	}
	if p.loopback != nil {
		_ = p.loopback.Close() // whoever accepts from it may have closed it
	}
	if p.dialer != nil {
		errs = append(errs, p.dialer.close())
	}
	return errors.Join(errs...)
}

// Unenforced says which promises of a level this platform does not keep.
func Unenforced(l Level) []string {
	if l >= Strict && os.Getuid() == 0 {
		return []string{"the number of processes: Linux does not hold root to it"}
	}
	return nil
}

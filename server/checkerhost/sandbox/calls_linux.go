package sandbox

import (
	"fmt"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refuse has a system call fail as one that is not permitted.
const refuse = seccomp.ActionErrno | seccomp.Action(unix.EACCES)

// refused are the system calls that a checker has no use for, and with which it could get out, or reach others. A checker
// listens, and connects to nobody: Landlock does not keep it from a socket whose path it knows.
var refused = []string{
	"connect", "ptrace", "process_vm_readv", "process_vm_writev", "io_uring_setup", "bpf", "perf_event_open", "userfaultfd",
	"keyctl", "add_key", "request_key", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount", "mount_setattr",
	"unshare", "setns", "kexec_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl",
	"open_by_handle_at", "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
}

// The two requests of ptrace by which the process that is started and the one that starts it find each other.
const (
	ptraceTraceMe = 0
	ptraceDetach  = 17
)

// filterCalls has the calling thread, and what it starts, go without these system calls. With a loopback, streams over IPv4 are
// left, and connecting is the dialer's.
func filterCalls(loopback bool) error {
	group := seccomp.SyscallGroup{Action: refuse}
	for _, name := range refused {
		if name == "ptrace" {
			group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{
				{Argument: 0, Operation: seccomp.NotEqual, Value: ptraceTraceMe}, {Argument: 0, Operation: seccomp.NotEqual, Value: ptraceDetach},
			}})
			continue
		}
		if name == "connect" && loopback {
			continue
		}
		group.Names = append(group.Names, name)
	}
	families := seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_UNIX}}
	if loopback {
		families = append(families, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_INET})
	}
	group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: "socket", Conditions: families})
	for _, c := range []seccomp.Condition{
		{Argument: 1, Operation: seccomp.BitsSet, Value: unix.SOCK_DGRAM}, // and SOCK_RAW
		{Argument: 1, Operation: seccomp.BitsSet, Value: 4},               // SOCK_RDM and above
	} {
		group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: "socket", Conditions: seccomp.ArgumentConditions{c}})
	}
	_, err := install(seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}}, 0)
	return err
}

// install adds a filter to the calling thread. With SECCOMP_FILTER_FLAG_NEW_LISTENER it gives the file to listen on.
func install(policy seccomp.Policy, flags uintptr) (int, error) {
	program, err := policy.Assemble()
	if err != nil {
		return 0, fmt.Errorf("assemble: %w", err)
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return 0, fmt.Errorf("assemble: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

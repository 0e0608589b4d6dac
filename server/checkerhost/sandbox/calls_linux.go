package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refuse has a system call fail as one that is not permitted, and unknown as one that the kernel does not have.
const (
	refuse  = seccomp.ActionErrno | seccomp.Action(unix.EACCES)
	unknown = seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)
)

// refused are the system calls that a checker has no use for, and with which it could get out, or reach others. A checker
// listens, and connects to nobody: Landlock does not keep it from a socket whose path it knows. Neither does it keep anybody from
// changing the mode, the owner, the times and the attributes of a file, which those of the system are to a checker that root starts.
var refused = []string{
	"connect", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "io_uring_setup", "bpf", "perf_event_open", "userfaultfd",
	"fanotify_init", "syslog", "keyctl", "add_key", "request_key",
	"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"unshare", "setns", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl",
	"name_to_handle_at", "open_by_handle_at", "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
}

// old are those of them that newer architectures never had.
var old = []string{"chmod", "chown", "lchown", "utime", "utimes", "futimesat"}

// The two requests of ptrace by which the process that is started and the one that starts it find each other.
const (
	ptraceTraceMe = 0
	ptraceDetach  = 17
)

// otherNamespaces are those that no checker is started in. The thread that starts one makes the others by the same filter: so a
// checker can make such namespaces again, in which it has no more than it had.
const otherNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS

// filterCalls has the calling thread, and what it starts, go without these system calls. With a loopback, streams over IPv4 are
// left, and connecting is the dialer's.
func filterCalls(loopback bool) error {
	known, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	group := seccomp.SyscallGroup{Action: refuse}
	when := func(name string, all ...seccomp.Condition) {
		group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: name, Conditions: all})
	}
	for _, name := range refused {
		if _, ok := known.SyscallNames[name]; !ok && slices.Contains(old, name) {
			continue
		}
		if name != "ptrace" && (name != "connect" || !loopback) {
			group.Names = append(group.Names, name)
		}
	}
	when("ptrace", seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: ptraceTraceMe}, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: ptraceDetach})
	when("clone", seccomp.Condition{Argument: 0, Operation: seccomp.BitsSet, Value: otherNamespaces})
	for _, name := range []string{"socket", "socketpair"} { // what is sent over half a pair of datagrams can name another socket by its path
		families := []seccomp.Condition{{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_UNIX}}
		if loopback && name == "socket" {
			families = append(families, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_INET})
		}
		when(name, families...)
		when(name, seccomp.Condition{Argument: 1, Operation: seccomp.BitsSet, Value: unix.SOCK_DGRAM}) // and SOCK_RAW
		when(name, seccomp.Condition{Argument: 1, Operation: seccomp.BitsSet, Value: 4})               // SOCK_RDM and above
	}
	// No filter sees the flags of clone3. C libraries that do not find it use clone.
	hidden := seccomp.SyscallGroup{Action: unknown, Names: []string{"clone3"}}
	_, err = install(seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group, hidden}}, 0)
	return err
}

// onlyNative has the system calls of every other architecture fail. The library lets them through its filters: on amd64 `int 0x80`
// would get out of everything.
func onlyNative() ([]bpf.Instruction, error) {
	native, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	const offset = 4 // of arch in struct seccomp_data
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: offset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(native.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(unknown)},
	}, nil
}

// install adds a filter to the calling thread. With SECCOMP_FILTER_FLAG_NEW_LISTENER it gives the file to listen on.
func install(policy seccomp.Policy, flags uintptr) (int, error) {
	program, err := onlyNative()
	if err != nil {
		return 0, err
	}
	rules, err := policy.Assemble()
	if err != nil {
		return 0, fmt.Errorf("assemble: %w", err)
	}
	raw, err := bpf.Assemble(append(program, rules...))
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

package checkerhost

import (
	"os"
	"syscall"
)

// ownGroup puts a checker into a process group of its own, and has the kernel kill it if this process dies first. An isolated
// one gets namespaces of its own as well: no network but a loopback that is down, no process but its own, which all end with
// it, no shared memory of others.
func ownGroup(isolated bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if isolated {
		attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// isolates says whether this platform can isolate a checker.
const isolates = true

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // fails only if the group is gone

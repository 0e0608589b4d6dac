package checkerhost

import "syscall"

// ownGroup puts a checker into a process group of its own, and has the kernel kill it if this process dies first.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // fails only if the group is gone

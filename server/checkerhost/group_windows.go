package checkerhost

import (
	"os"
	"syscall"
)

// ownGroup keeps the console's signals from a checker. Windows has no process groups that could be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills the checker alone: what it started may outlive it here.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // fails only if it is gone
	}
}

//go:build unix && !linux

package checkerhost

import "syscall"

// ownGroup puts a checker into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // fails only if the group is gone

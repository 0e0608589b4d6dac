//go:build linux

package checkerhost

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// needs ends a test where the kernel has not what a level is made of. It asks the kernel, and not the sandbox: one that broke would
// have its own tests skipped.
func needs(t *testing.T, level sandbox.Level) {
	t.Helper()
	if level >= sandbox.Network {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC}
		if err := cmd.Run(); err != nil {
			t.Skipf("this machine admits no namespaces of one's own: %v", err)
		}
	}
	if level >= sandbox.Strict {
		abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
		if errno != 0 || abi < 3 {
			t.Skipf("this kernel has version %d of Landlock (%v), and 3 is needed", int(abi), errno)
		}
	}
}

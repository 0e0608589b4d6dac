package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// system are the files of a machine that programs need to start, whatever they are written in. None of them is anybody's data.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives", "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki/tls/openssl.cnf", "/etc/java-11-openjdk", "/etc/java-17-openjdk",
	"/etc/java-21-openjdk", "/etc/java-25-openjdk",
	"/proc/meminfo", "/proc/cpuinfo", "/proc/sys/vm", "/proc/sys/kernel/pid_max", "/sys/devices/system/cpu", "/sys/kernel/mm",
}

// devices are those without a state.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// No symbolic links: the host connects to the socket that a checker names in its directory, and would follow one out of it.
	writeTree = writeFile | readTree | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_REFER
)

// minABI is Linux 6.2: older ones do not keep a program from cutting files.
const minABI = 3

// ruleset gives the attributes that a version of Landlock knows: everything that can be denied is.
func ruleset(abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: 1<<15 - 1} // all of version 3
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		// Not LANDLOCK_SCOPE_SIGNAL: a program signals nobody outside its process namespace, and before Linux 6.15 it would keep the
		// thread that starts the program from the other threads of this one, which the Go runtime preempts by signals.
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

// restrictFiles takes from the calling thread all files but those of the plan.
func (p *Plan) restrictFiles() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errno
	}
	if abi < minABI {
		return fmt.Errorf("this kernel has version %d of it, and version %d is needed", abi, minABI)
	}
	attr := ruleset(int(abi))
	size := unsafe.Offsetof(attr.Quiet_access_fs) // what later versions added is not asked for
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd)) // nothing is lost with it
	rules := []struct {
		paths      []string
		file, tree uint64
	}{{system, readFile, readTree}, {p.Read, readFile, readTree}, {devices, writeFile, 0}, {[]string{p.Private}, 0, writeTree}}
	for _, r := range rules {
		for _, path := range r.paths {
			if err := allow(int(fd), path, r.file, r.tree); err != nil {
				return err
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule for a file or a directory with all below it. What is not there needs none.
func allow(ruleset int, path string, file, tree uint64) error {
	if path == "" {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) // it was for reading alone
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	access := file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = tree
	}
	if access == 0 {
		return nil
	}
	// The kernel takes the structure without padding: 8 bytes, then 4.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return &os.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}

//go:build linux

package checkerhost

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// told is a checker that says in its version what it found out.
type told struct{ goodChecker }

var finding string

// Describe implements retrial.Checker.
func (told) Describe() retrial.Description {
	return retrial.Description{Name: "tries", Version: finding}
}

// tries is a checker that first tries what its sandbox should refuse: "done", or the error.
func tries(args []string) int {
	for i, arg := range args { // a star keeps the name of a file from being one of its own
		args[i] = strings.TrimSuffix(arg, "*")
	}
	if err := attempts[args[0]](args[1:]); err == nil {
		finding = "done"
	} else {
		finding = err.Error()
	}
	finding = strings.ToValidUTF8(finding[:min(len(finding), 200)], "")
	return retrial.Serve(told{})
}

// attempts are what a checker can try, by name.
var attempts = map[string]func(args []string) error{
	"nothing": func([]string) error { return nil },
	"dial": func(args []string) error {
		conn, err := net.Dial(args[0], args[1])
		if err == nil {
			err = conn.Close()
		}
		return err
	},
	"datagram": func(args []string) error { // over half a pair, to a socket that is none of it
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: args[0]})
	},
	"read": func(args []string) error {
		_, err := os.ReadFile(args[0])
		return err
	},
	"read-parent": func([]string) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
		return err
	},
	"write": func(args []string) error {
		f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			err = f.Close()
		}
		return err
	},
	"write-own": func([]string) error {
		for _, dir := range []string{os.Getenv("HOME"), os.TempDir()} {
			if err := os.WriteFile(filepath.Join(dir, "own"), []byte("x"), 0o600); err != nil {
				return err
			}
		}
		return nil
	},
	"remove":   func(args []string) error { return os.Remove(args[0]) },
	"truncate": func(args []string) error { return os.Truncate(args[0], 0) },
	"chmod":    func(args []string) error { return os.Chmod(args[0], 0o777) },
	"chmod-open": func(args []string) error {
		f, err := os.Open(args[0])
		if err == nil {
			err = errors.Join(f.Chmod(0o777), f.Close())
		}
		return err
	},
	"times":   func(args []string) error { return os.Chtimes(args[0], time.Unix(1, 0), time.Unix(1, 0)) },
	"xattr":   func(args []string) error { return unix.Setxattr(args[0], "user.retrial", []byte("x"), 0) },
	"symlink": func(args []string) error { return os.Symlink("/etc", filepath.Join(os.TempDir(), "link")) },
	"ptrace": func([]string) error {
		runtime.LockOSThread()
		cmd := exec.Command(os.Args[0], "checker", "half-handshake")
		if err := cmd.Start(); err != nil {
			return err
		}
		err := unix.PtraceAttach(cmd.Process.Pid)
		_ = cmd.Process.Kill() // it is traced or not
		return err
	},
	"io-uring": func([]string) error {
		var params [120]byte
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		return number(errno)
	},
	"unshare": func([]string) error { runtime.LockOSThread(); return unix.Unshare(unix.CLONE_NEWNET) },
	"mount":   func([]string) error { return unix.Mount("none", os.TempDir(), "tmpfs", 0, "") },
	"clone-mount": func([]string) error {
		cmd := exec.Command(os.Args[0], "checker", "no such mode")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
		return cmd.Start()
	},
	"clone3": func([]string) error {
		_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
		return number(errno)
	},
	"keys": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	},
	"privileges": func([]string) error {
		n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if err == nil && n == 1 {
			err = errors.New("no new privileges")
		}
		return err
	},
	"memory": func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return err
	},
	"file": func(args []string) error {
		signal.Ignore(syscall.SIGXFSZ)
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return err
		}
		path := filepath.Join(os.TempDir(), "large")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, n)
	},
	"open": func([]string) error {
		var files []int
		defer func() {
			for _, fd := range files {
				_ = unix.Close(fd) // it is needed to serve
			}
		}()
		for range 100_000 {
			fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
			if err != nil {
				return fmt.Errorf("%d: %w", len(files), err)
			}
			files = append(files, fd)
		}
		return nil
	},
	"processes": func([]string) error {
		var all []*exec.Cmd
		defer func() {
			for _, cmd := range all {
				_ = cmd.Process.Kill() // they are in the way of what serves
				_ = cmd.Wait()
			}
		}()
		for range 3000 {
			cmd := exec.Command("/bin/sleep", "1000")
			if err := cmd.Start(); err != nil {
				return fmt.Errorf("%d: %w", len(all), err)
			}
			all = append(all, cmd)
		}
		return nil
	},
	"int80": int80,
	"environment": func([]string) error {
		var names []string
		for _, v := range os.Environ() {
			if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "PLUGIN_") && !strings.HasPrefix(name, "GORACE") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return errors.New(strings.Join(names, " "))
	},
	"daemon": func(args []string) error { // forks twice, and is nobody's child
		cmd := exec.Command(os.Args[0], append([]string{"checker", "daemon"}, args...)...)
		cmd.Env = append(os.Environ(), args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Run()
	},
	"date": func([]string) error {
		begun, wall := time.Now(), time.Now().Round(0)
		for time.Since(begun) < 20*time.Millisecond {
		}
		if passed := time.Now().Round(0).Sub(wall); passed < 15*time.Millisecond || passed > 10*time.Second {
			return fmt.Errorf("the clocks drift apart: %s", passed)
		}
		return errors.New(time.Now().UTC().Format(time.RFC3339))
	},
}

func number(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// daemon is the first process of the two: it ends once the second one has begun.
func daemon(args []string) int {
	cmd := exec.Command(os.Args[0], append([]string{"checker", "daemon-itself"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

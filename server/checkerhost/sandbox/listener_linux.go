package sandbox

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// listener answers for the kernel some calls of the program that the calling thread starts.
type listener struct {
	fd     int
	answer func(*listener, notification) answer
	done   sync.WaitGroup
	stop   [2]int // a pipe: closing its end wakes the listener
}

// notification is struct seccomp_notif, and answer struct seccomp_notif_resp.
type (
	notification struct {
		id         uint64
		pid, flags uint32
		call       int32
		arch       uint32
		_          uint64
		args       [6]uint64
	}
	answer struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
)

const goOn = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE

// listen has the calls of a group answered, until the program is gone or close is called.
func listen(calls seccomp.SyscallGroup, fn func(*listener, notification) answer) (*listener, error) {
	l := &listener{answer: fn}
	if err := unix.Pipe2(l.stop[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	calls.Action = seccomp.ActionUserNotify
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{calls}}
	// A signal would cut short what waits for its answer, and runtimes signal their threads all the time.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	var err error
	if l.fd, err = install(policy, flags); err != nil {
		return nil, errors.Join(err, unix.Close(l.stop[0]), unix.Close(l.stop[1]))
	}
	unix.CloseOnExec(l.fd)
	l.done.Go(l.run)
	return l, nil
}

func (l *listener) close() error {
	err := unix.Close(l.stop[1])
	l.done.Wait()
	return errors.Join(err, unix.Close(l.stop[0]), unix.Close(l.fd))
}

func (l *listener) run() {
	for {
		files := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.stop[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(files, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || files[1].Revents != 0 || files[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notification
		switch ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) {
		case 0:
		case unix.ENOENT: // whoever asked is gone
			continue
		default:
			return
		}
		a := l.answer(l, n)
		a.id = n.id
		_ = ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // it fails where whoever asked is gone
	}
}

// waits says whether a notification's thread still waits for its answer. One that has ended can have left its number to a thread of
// another program: what was opened by the number before this is of the one that asked.
func (l *listener) waits(n notification) error {
	if errno := ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)); errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

func ioctl(fd int, request uint, arg unsafe.Pointer) unix.Errno {
	for {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg)); errno != unix.EINTR {
			return errno
		}
	}
}

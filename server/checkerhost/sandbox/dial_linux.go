package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// dialer connects in place of a program at level Strict, to its loopback and to nothing else. No filter sees to which address a
// program connects, and Landlock keeps nobody from a socket whose path it knows: so the kernel asks here, and the connection is
// made by this process over the program's own socket, to an address that the program cannot change any more.
type dialer struct {
	fd   int
	done sync.WaitGroup
	stop [2]int // a pipe: closing its end wakes the listener
}

// newDialer has what the calling thread starts connect through it.
func newDialer() (*dialer, error) {
	d := &dialer{}
	if err := unix.Pipe2(d.stop[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{{Action: seccomp.ActionUserNotify, Names: []string{"connect"}}}}
	// A signal would cut short what waits for its answer, and runtimes signal their threads all the time.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	var err error
	if d.fd, err = install(policy, flags); err != nil {
		return nil, errors.Join(err, unix.Close(d.stop[0]), unix.Close(d.stop[1]))
	}
	unix.CloseOnExec(d.fd)
	d.done.Go(d.listen)
	return d, nil
}

func (d *dialer) close() error {
	err := unix.Close(d.stop[1])
	d.done.Wait()
	return errors.Join(err, unix.Close(d.stop[0]), unix.Close(d.fd))
}

// listen answers until the program is gone or close is called.
func (d *dialer) listen() {
	for {
		files := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}, {Fd: int32(d.stop[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(files, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || files[1].Revents != 0 || files[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notification
		if errno := ioctl(d.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			continue // whoever asked is gone
		}
		a := answer{id: n.id}
		if err := d.connect(n); err != nil {
			a.err = -int32(unix.EACCES)
			if errno := unix.Errno(0); errors.As(err, &errno) {
				a.err = -int32(errno)
			}
		}
		_ = ioctl(d.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // it fails where whoever asked is gone
	}
}

var errOtherAddress = errors.New("it is not the loopback's")

// connect connects the socket of whoever asks, if it asks for the loopback.
func (d *dialer) connect(n notification) error {
	// A thread that has ended since can have left its number to one of another program: what is opened by it is held against who waits.
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.pid))
	if err != nil {
		return errOtherAddress
	}
	defer mem.Close() // it was for reading alone
	group, err := groupOf(int(n.pid))
	if err != nil {
		return errOtherAddress
	}
	process, err := unix.PidfdOpen(group, 0)
	if err != nil {
		return errOtherAddress
	}
	defer unix.Close(process)
	if errno := ioctl(d.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)); errno != 0 {
		return errOtherAddress
	}
	to := make([]byte, unix.SizeofSockaddrInet4)
	if n.args[2] != uint64(len(to)) {
		return errOtherAddress
	}
	if _, err := mem.ReadAt(to, int64(n.args[1])); err != nil {
		return unix.EFAULT
	}
	if !bytes.Equal(to[:8], rawLoopback()) {
		return errOtherAddress
	}
	fd, err := unix.PidfdGetfd(process, int(int32(n.args[0])), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // the program has its own
	// One that waits for its connection, and nobody accepts any, would have everybody wait.
	var before unix.Timeval
	if tv, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO); err == nil {
		before = *tv
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return err
	}
	err = unix.Connect(fd, loopbackAddress())
	if again := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &before); err == nil && again != nil {
		err = again
	}
	return err
}

// rawLoopback is the loopback's address as it begins in memory.
func rawLoopback() []byte {
	a := loopbackAddress()
	out := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
	out = binary.BigEndian.AppendUint16(out, uint16(a.Port))
	return append(out, a.Addr[:]...)
}

// groupOf gives the process of a thread.
func groupOf(thread int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("/proc/PID/status is not as it is known")
}

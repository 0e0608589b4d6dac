package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// newDialer has what the calling thread starts at level Strict connect to its loopback and to nothing else. No filter sees to which
// address a program connects, and Landlock keeps nobody from a socket whose path it knows: so the kernel asks here, and the connection
// is made by this process over the program's own socket, to an address that the program cannot change any more.
func newDialer() (*listener, error) {
	return listen(seccomp.SyscallGroup{Names: []string{"connect"}}, func(l *listener, n notification) (a answer) {
		if err := dial(l, n); err != nil {
			a.err = -int32(unix.EACCES)
			if errno := unix.Errno(0); errors.As(err, &errno) {
				a.err = -int32(errno)
			}
		}
		return a
	})
}

var errOtherAddress = errors.New("it is not the loopback's")

// dial connects the socket of whoever asks, if it asks for the loopback.
func dial(l *listener, n notification) error {
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
	if err := l.waits(n); err != nil {
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

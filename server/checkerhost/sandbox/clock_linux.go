package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// ShiftsClock says whether this platform can move the clock that one program sees.
const ShiftsClock = true

// clock answers for the kernel whoever asks for the time. The kernel's own short cut, a page of code in each process, is hidden
// from the program before it starts (hideVDSO), so that it has to ask.
type clock struct {
	fd      int
	shift   time.Duration
	starter int // the thread that starts the program: it is under the filter too, and sees the time as it is
	done    sync.WaitGroup
	stop    [2]int // a pipe: closing its end wakes the listener
	began   []byte // what the kernel told the program when it began
}

// wallClocks are the clocks that show the date.
var wallClocks = []uint64{unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_TAI}

func newClock(shift time.Duration) (*clock, error) {
	group := seccomp.SyscallGroup{Action: seccomp.ActionUserNotify, Names: []string{"gettimeofday"}}
	for _, c := range wallClocks {
		group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: "clock_gettime",
			Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.Equal, Value: c}}})
	}
	if hasTimeCall {
		group.Names = append(group.Names, "time")
	}
	c := &clock{shift: shift, starter: unix.Gettid()}
	if err := unix.Pipe2(c.stop[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	var err error
	// A signal would cut short what waits for its answer, and runtimes signal their threads all the time.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	if c.fd, err = install(seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}}, flags); err != nil {
		return nil, errors.Join(err, unix.Close(c.stop[0]), unix.Close(c.stop[1]))
	}
	unix.CloseOnExec(c.fd)
	c.done.Go(c.listen)
	return c, nil
}

func (c *clock) close() error {
	err := unix.Close(c.stop[1])
	c.done.Wait()
	return errors.Join(err, unix.Close(c.stop[0]), unix.Close(c.fd))
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

// listen answers until the program is gone or close is called.
func (c *clock) listen() {
	for {
		files := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}, {Fd: int32(c.stop[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(files, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || files[1].Revents != 0 || files[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notification
		if errno := ioctl(c.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			continue // whoever asked is gone
		}
		a := answer{id: n.id, flags: goOn}
		if int(n.pid) != c.starter {
			a = c.answer(n)
		}
		_ = ioctl(c.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // it fails where whoever asked is gone
	}
}

func ioctl(fd int, request uint, arg unsafe.Pointer) unix.Errno {
	for {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg)); errno != unix.EINTR {
			return errno
		}
	}
}

func (c *clock) answer(n notification) answer {
	now := time.Now().Add(c.shift)
	var at uint64
	var text []byte
	out := answer{id: n.id}
	seconds := binary.NativeEndian.AppendUint64(nil, uint64(now.Unix()))
	switch {
	case isTimeCall(int(n.call)):
		out.value, at, text = now.Unix(), n.args[0], seconds
	case n.call == unix.SYS_GETTIMEOFDAY:
		at, text = n.args[0], binary.NativeEndian.AppendUint64(seconds, uint64(now.Nanosecond()/1000))
	default:
		at, text = n.args[1], binary.NativeEndian.AppendUint64(seconds, uint64(now.Nanosecond()))
	}
	if at != 0 {
		if err := c.tell(n, at, text); err != nil {
			out.err, out.value = -int32(unix.EFAULT), 0
		}
	}
	return out
}

// tell writes the time to whoever asked. A thread that has ended since can have left its number to one of another program, so
// that the file is opened first, and then held against who waits.
func (c *clock) tell(n notification, at uint64, text []byte) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", n.pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if errno := ioctl(c.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)); errno != 0 {
		return errors.Join(errno, f.Close())
	}
	_, err = f.WriteAt(text, int64(at))
	return errors.Join(err, f.Close())
}

func poke(pid int, at uint64, text []byte) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, int64(at))
	return errors.Join(err, f.Close())
}

// The types of the entries that a program finds behind its environment.
const (
	auxEnd    = 0
	auxIgnore = 1
	auxVDSO   = 33
)

// hideVDSO takes from a program that has not begun the entry that leads to the kernel's page of code.
func hideVDSO(pid int) error {
	stack, err := startOfStack(pid)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close() // what was written was written
	word := func(at uint64) (uint64, error) {
		var b [8]byte
		_, err := mem.ReadAt(b[:], int64(at))
		return binary.NativeEndian.Uint64(b[:]), err
	}
	argc, err := word(stack)
	if err != nil {
		return err
	}
	at := stack + 8 + (argc+1)*8
	for { // the environment, up to its zero
		v, err := word(at)
		if err != nil {
			return err
		}
		if at += 8; v == 0 {
			break
		}
	}
	for ; ; at += 16 {
		switch kind, err := word(at); {
		case err != nil:
			return err
		case kind == auxEnd:
			return nil // it has none
		case kind == auxVDSO:
			return poke(pid, at, binary.NativeEndian.AppendUint64(nil, auxIgnore))
		}
	}
}

// Unshifted says why a running program, or one of the processes that it has, sees the clock as it is, or nil: it has become another
// program since it began, from which nobody has hidden the kernel's page of code. What does that is a script around the program.
func (p *Plan) Unshifted(pid int) error {
	if p.clock == nil {
		return nil
	}
	now, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return err
	}
	if !bytes.Equal(now, p.clock.began) { // a process that was forked has what its parent had
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return errors.Join(fmt.Errorf("it has started %q, which sees the clock as it is: name that program itself", name), err)
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(tasks) == 0 {
		return errors.Join(err, errors.New("this kernel does not tell which processes it has started"))
	}
	for _, t := range tasks {
		children, err := os.ReadFile(t)
		if err != nil {
			continue // that thread is gone
		}
		for _, child := range strings.Fields(string(children)) {
			n, err := strconv.Atoi(child)
			if err == nil {
				err = p.Unshifted(n)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// startOfStack gives where the arguments of a program begin that has not begun.
func startOfStack(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name can have anything in it
	const startstack = 28 - 3
	fields := strings.Fields(rest)
	if len(fields) <= startstack {
		return 0, errors.New("/proc/PID/stat is not as it is known")
	}
	var at uint64
	if _, err := fmt.Sscan(fields[startstack], &at); err != nil || at < 1<<12 {
		return 0, fmt.Errorf("no start of its stack: %w", err)
	}
	return at, nil
}

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
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// ShiftsClock says whether this platform can move the clock that one program sees.
const ShiftsClock = true

// clock answers for the kernel whoever asks for the time. The kernel's own short cut, a page of code in each process, is hidden
// from the program before it starts (hideVDSO), so that it has to ask.
type clock struct {
	*listener
	shift   time.Duration
	starter int    // the thread that starts the program: it is under the filter too, and sees the time as it is
	began   []byte // what the kernel told the program when it began
}

// wallClocks are the clocks that show the date.
var wallClocks = []uint64{unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_TAI}

func newClock(shift time.Duration) (*clock, error) {
	group := seccomp.SyscallGroup{Names: []string{"gettimeofday"}}
	for _, c := range wallClocks {
		group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: "clock_gettime",
			Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.Equal, Value: c}}})
	}
	if hasTimeCall {
		group.Names = append(group.Names, "time")
	}
	c := &clock{shift: shift, starter: unix.Gettid()}
	var err error
	if c.listener, err = listen(group, c.time); err != nil {
		return nil, err
	}
	return c, nil
}

// time answers a question for the time.
func (c *clock) time(l *listener, n notification) answer {
	if int(n.pid) == c.starter {
		return answer{flags: goOn}
	}
	now := time.Now().Add(c.shift)
	var at uint64
	var text []byte
	var out answer
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
		if err := tell(l, n, at, text); err != nil {
			return answer{err: -int32(unix.EFAULT)}
		}
	}
	return out
}

// tell writes the time into the memory of whoever asked.
func tell(l *listener, n notification, at uint64, text []byte) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", n.pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = l.waits(n); err == nil {
		_, err = f.WriteAt(text, int64(at))
	}
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
			_, err := mem.WriteAt(binary.NativeEndian.AppendUint64(nil, auxIgnore), int64(at))
			return err
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

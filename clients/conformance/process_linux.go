package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sockets says which sockets of a network a process in a namespace of its own has, or nil.
func sockets(pid int) error {
	// It is asked over a socket of its own, which these tables must show, or they show nothing.
	unix, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err != nil || strings.Count(string(unix), "\n") < 2 {
		return unobserved{fmt.Sprintf("this kernel does not tell the sockets of a process: %v", err)}
	}
	seen := 0
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		seen++
		if lines := strings.Split(strings.TrimSpace(string(b)), "\n"); len(lines) > 1 {
			return fmt.Errorf("it has %d sockets of %s: %s", len(lines)-1, table, strings.TrimSpace(lines[1]))
		}
	}
	if seen == 0 {
		return unobserved{"this kernel does not tell the sockets of a network"}
	}
	return nil
}

// children says which processes a process has started and that are still there, or nil.
func children(pid int) error {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		return unobserved{"this kernel does not tell the children of a process"}
	}
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, child := range strings.Fields(string(b)) {
			name, _ := os.ReadFile("/proc/" + child + "/comm") // it may be gone
			return fmt.Errorf("it has started process %s, %s", child, strings.TrimSpace(string(name)))
		}
	}
	return nil
}

// writes says which file a process holds open for writing, or nil.
func writes(pid int) error {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	if len(files) == 0 { // it has an output and a socket at least
		return unobserved{"this kernel does not tell the open files of a process"}
	}
	for _, f := range files {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name()))
		if err != nil || !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/memfd:") || strings.HasPrefix(name, "/proc/") {
			continue // closed since, or no file
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, f.Name()))
		if err != nil {
			continue // closed since
		}
		for line := range strings.Lines(string(info)) {
			if value, ok := strings.CutPrefix(line, "flags:"); ok {
				flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 64)
				if err == nil && flags&syscall.O_ACCMODE != syscall.O_RDONLY {
					return fmt.Errorf("it has %s open for writing", name)
				}
			}
		}
	}
	return nil
}

// nothingLeft kills a process with a mark in its environment, and looks for the mark in every other.
func nothingLeft(ctx context.Context, r *runner) error {
	mark := fmt.Sprintf("RETRIAL_CONFORMANCE=%d.%d", os.Getpid(), time.Now().UnixNano())
	h, err := r.start(ctx, mark)
	if err != nil {
		return err
	}
	_, err = r.ask(ctx, plan{host: h, batches: chunks(r.samples(50, 1), 7)})
	if err == nil && len(marked(mark)) == 0 { // where the running one is not seen, neither would be one that is left
		err = unobserved{"the environment of a process cannot be read here"}
	}
	if err := errors.Join(err, h.Close()); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Second); ; {
		left := marked(mark)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("there is still %s", strings.Join(left, ", "))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// marked gives the processes with a variable in their environment.
func marked(variable string) (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(append([]byte{0}, b...), []byte("\x00"+variable+"\x00")) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "comm")) // it may be gone
			out = append(out, fmt.Sprintf("process %s, %s", filepath.Base(filepath.Dir(f)), strings.TrimSpace(string(name))))
		}
	}
	return out
}

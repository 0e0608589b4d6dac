//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long what a test has ended may take to be gone.
const patience = 20 * time.Second

// eventually asks again until done says yes, and gives up after patience.
func eventually(done func() bool) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// checkNothingLeft holds, when the test and all below it have ended, that no child process and no goroutine is left that
// was not there before, and that the directory for sockets is empty. It is called before anything is started.
func checkNothingLeft(t *testing.T, sockets string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if !eventually(func() bool { return len(children()) == 0 }) {
			t.Errorf("child processes are left: %v", children())
		}
		var err error
		for range 8 { // each waits for a good part of a second
			if err = goleak.Find(before); err == nil {
				break
			}
		}
		if err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(sockets); err != nil || len(left) > 0 {
			t.Errorf("left in the directory for sockets: %v, %v", left, err)
		}
		if err := os.RemoveAll(sockets); err != nil {
			t.Error(err)
		}
	})
}

// running is a process as the kernel shows it.
type running struct {
	pid, parent, group int
	state              string
	program            string
}

// processes lists every process of the machine.
func processes() []running {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []running
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it is gone
		}
		// "PID (PROGRAM) STATE PARENT GROUP …"; the program's name may have spaces and brackets in it.
		open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		p := running{pid: pid, program: string(stat[open+1 : end])}
		if _, err := fmt.Sscan(string(stat[end+1:]), &p.state, &p.parent, &p.group); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func children() []running {
	return only(func(p running) bool { return p.parent == os.Getpid() })
}

func only(keep func(running) bool) []running {
	var out []running
	for _, p := range processes() {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// readPids gives the processes that a checker has noted: itself, then what it started.
func readPids(t *testing.T, file string) []int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the checker has noted no pid: %v", err)
	}
	var out []int
	for word := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

// killDaemons ends what a checker has started outside of its process group, which the host does not promise to end.
func killDaemons(t *testing.T, file string) {
	t.Helper()
	for _, pid := range readPids(t, file) {
		for _, p := range only(func(p running) bool {
			return p.pid == pid && p.group == pid && p.parent != os.Getpid() && p.state != "Z"
		}) {
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
}

// checkGone holds that the processes that a checker has noted, and all of its process group, are gone. A zombie whose
// parent is somebody else runs no longer, and is not ours to reap.
func checkGone(t *testing.T, file string) {
	t.Helper()
	pids := readPids(t, file)
	var left []running
	if !eventually(func() bool {
		left = only(func(p running) bool {
			for _, pid := range pids {
				if p.pid == pid || p.group == pid || p.parent == pid {
					return p.state != "Z" || p.parent == os.Getpid()
				}
			}
			return false
		})
		return len(left) == 0
	}) {
		t.Errorf("processes of the checker are left: %+v", left)
	}
}

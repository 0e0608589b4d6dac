package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// command prepares a process that ends with ctx. What it says on stderr becomes part of its error.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &lastWords{}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// lastWords keeps the end of what a process says.
type lastWords struct{ b []byte }

// Write implements io.Writer.
func (w *lastWords) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	if len(w.b) > 8<<10 {
		w.b = bytes.Clone(w.b[len(w.b)-4<<10:])
	}
	return len(p), nil
}

// said adds a process's last words to its error.
func said(cmd *exec.Cmd, err error) error {
	if w, ok := cmd.Stderr.(*lastWords); ok && err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, w.b)
	}
	return err
}

// start starts a server, and gives what ends it.
func start(cmd *exec.Cmd) (stop func() error, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = cmd.Process.Signal(os.Interrupt) // fails only if it has ended
		hard := time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() })
		defer hard.Stop()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			return said(cmd, err)
		}
		return nil
	}, nil
}

// status reads one line of /proc/PID/status, in bytes; 0 where there is no such line.
func status(pid int, name string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// peak polls the anonymous memory of a process until stop is called, which gives the most that was seen.
func peak(pid int) (stop func() int64) {
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		var top int64
		for {
			top = max(top, status(pid, "RssAnon"))
			select {
			case <-tick.C:
			case <-done:
				most <- top
				return
			}
		}
	}()
	return func() int64 { close(done); return <-most }
}

// written gives how many bytes this process has passed to write calls so far.
func written() int64 {
	b, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "wchar:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// machine says what this was measured on.
func machine() string {
	model := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
		_ = f.Close() // it was only read
	}
	return fmt.Sprintf("%d cores (GOMAXPROCS %d) of %s, %s/%s, %s", runtime.NumCPU(), runtime.GOMAXPROCS(0), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(b)); err == nil && len(fields) > 2 {
		return strings.Join(fields[:3], " ")
	}
	return "unknown"
}

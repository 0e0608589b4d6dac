package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// listenWithin makes a socket that listens in the network namespace of a stopped process, behind its loopback, which it brings up.
// A socket stays in the namespace in which it was made, whoever accepts from it.
func listenWithin(pid int) (net.Listener, error) {
	type made struct {
		l   net.Listener
		err error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is in the other namespace, and ends with this goroutine
		l, err := enterAndListen(pid)
		done <- made{l, err}
	}()
	m := <-done
	return m.l, m.err
}

func enterAndListen(pid int) (net.Listener, error) {
	ns, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ns) // it was for reading alone
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter its network (that takes root, and `sandbox: off` does without): %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "loopback")
	defer file.Close() // the listener has its own
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return nil, err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return nil, fmt.Errorf("bring its loopback up: %w", err)
	}
	if err := unix.Bind(fd, loopbackAddress()); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return nil, err
	}
	return net.FileListener(file)
}

func loopbackAddress() *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: LoopbackPort, Addr: [4]byte{127, 0, 0, 1}}
}

// Listener gives what listens behind the program's loopback, for the caller to accept from and to close; nil without one.
func (p *Plan) Listener() net.Listener {
	if p.loopback == nil {
		return nil
	}
	return p.loopback
}

// errTwoListeners says what the kernel does not do: one program has one whom its system calls are told.
var errTwoListeners = errors.New("a program whose clock is moved has no loopback")

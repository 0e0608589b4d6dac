package main

import (
	"errors"
	"os"
	"syscall"
)

// forget has the kernel let go of the pages of a file that nobody has mapped, so that the next read comes from the disk, or
// from whatever caches stand below this machine.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	err = f.Sync()
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		err = errors.Join(err, errno)
	}
	return errors.Join(err, f.Close())
}

// cpu gives the processor time of this process so far, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

//go:build linux && amd64

package checkerhost

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// int80 asks for the process's number as a program of 32 bits does.
func int80([]string) error {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	copy(code, []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x48, 0x98, 0xc3}) // mov eax, 20; int 0x80; cdqe; ret
	at := unsafe.Pointer(&code[0])
	entry := &at
	if got := int((*(*func() uintptr)(unsafe.Pointer(&entry)))()); got < 0 {
		return unix.Errno(-got)
	}
	return nil
}

package retrial

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"strings"
	"sync"
)

// buildDigest gives the digest of this program's content that the Go linker wrote into it, the last part of the build ID: two
// programs that differ have different ones, whatever they were built from. It is empty where there is none.
var buildDigest = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	id := buildID(path)
	if id == "" {
		return ""
	}
	return "go:" + id[strings.LastIndexByte(id, '/')+1:]
})

// buildID reads the build ID of a program: from the note that an ELF file has, or from the beginning of its text.
func buildID(path string) string {
	if f, err := elf.Open(path); err == nil {
		defer f.Close() // read only: there is nothing to lose
		if note := f.Section(".note.go.buildid"); note != nil {
			b, err := note.Data()
			if err != nil || len(b) < 16 {
				return ""
			}
			n := f.ByteOrder.Uint32(b[4:])
			return string(b[16:min(len(b), 16+int(n))])
		}
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // read only: there is nothing to lose
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(f, head)
	if n == 0 && err != nil {
		return ""
	}
	_, rest, found := bytes.Cut(head[:n], []byte("\xff Go build ID: \""))
	id, _, closed := bytes.Cut(rest, []byte{'"'})
	if !found || !closed {
		return ""
	}
	return string(id)
}

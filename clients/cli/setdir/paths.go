package setdir

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// bodyFile is the file of a body that a declaration names, promptFile that of a prompt.
func bodyFile(dir, body string) string { return filepath.Join(dir, stubsDir, filepath.FromSlash(body)) }
func promptFile(dir, prompt string) string {
	return filepath.Join(dir, promptsDir, filepath.FromSlash(prompt))
}

// plain says whether a path is relative, has no dots to lead away, and means the same on every platform: a backslash and a colon
// are a separator and a drive on one, and letters on another.
func plain(p string) bool { return p != "." && fs.ValidPath(p) && !strings.ContainsAny(p, `\:`) }

// linked names the first link on the way from a directory to a path with slashes below it, or nothing. What is not there is no link.
func linked(dir, p string) string {
	at := ""
	for part := range strings.SplitSeq(p, "/") {
		at = path.Join(at, part)
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(at)))
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}

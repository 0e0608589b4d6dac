package checkerhost

import (
	"os"
	"path/filepath"
	"strings"
)

// moduleDepth is how far above a program of JavaScript its package can lie: dist/checker.js, or build/src/main.js.
const moduleDepth = 3

// modules gives what a program in a directory is made of where that lies in a package of Node.js: the packages beside it, and those that
// a link among them leads to, which is how one that lies on the same machine is installed.
func modules(dir string) []string {
	for range moduleDepth + 1 {
		if tooWide(dir) {
			return nil
		}
		manifest := filepath.Join(dir, "package.json")
		if _, err := os.Stat(manifest); err == nil {
			beside := filepath.Join(dir, "node_modules")
			return append([]string{manifest, beside}, linkedPackages(beside, true)...)
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// linkedPackages gives the directories that links in a directory of packages lead to, and in those of its scopes (@name).
func linkedPackages(dir string, scopes bool) (out []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there are none
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				out = append(out, around(path, false)...)
			}
		case scopes && e.IsDir() && strings.HasPrefix(e.Name(), "@"):
			out = append(out, linkedPackages(path, false)...)
		}
	}
	return out
}

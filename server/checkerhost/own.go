package checkerhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// setFiles are what a set's directory has that no checker may see: what it would decide was recorded there.
var setFiles = []string{"retrial.yaml", "fixtures", "stubs", "prompts", "allowlist.json", "quarantine.json", ".retrial"}

// own gives the files that a checker is made of, as far as its command shows: the directory of its program, which for one in a
// bin directory is the one around that (an interpreter with its library, a virtual environment), those of links on the way to it,
// and the directories of the files that its arguments name. The home directory and the root are nobody's own, and in the
// directory of a set everything is but the set.
func (c Command) own(program string) []string {
	out := slices.Clone(c.Read)
	for i, path := range out {
		out[i] = c.absolute(path)
	}
	for range 40 { // as many links as the kernel follows
		out = append(out, program)
		out = append(out, around(filepath.Dir(program), true)...)
		to, err := os.Readlink(program)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(program), to)
		}
		program = to
	}
	if real, err := filepath.EvalSymlinks(program); err == nil { // a directory on the way can be a link too
		out = append(out, real)
		out = append(out, around(filepath.Dir(real), true)...)
	}
	for _, arg := range c.Argv[min(1, len(c.Argv)):] {
		path := c.absolute(arg)
		if _, err := os.Stat(path); err == nil && !strings.HasPrefix(arg, "-") {
			out = append(out, path)
			out = append(out, around(filepath.Dir(path), false)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// absolute gives the path of what stands relative to the checker's directory.
func (c Command) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// around gives what may be read of a directory that has a checker's file in it.
func around(dir string, program bool) []string {
	if program && filepath.Base(dir) == "bin" && !tooWide(filepath.Dir(dir)) {
		dir = filepath.Dir(dir)
	}
	if tooWide(dir) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, setFiles[0])); err != nil {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !slices.Contains(setFiles, e.Name()) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// tooWide says whether a directory has more in it than a checker: the root, what all users share, a home directory or what has
// home directories in it.
func tooWide(dir string) bool {
	if slices.Contains([]string{"/", "/tmp", "/var/tmp", "/etc", "/var", "/home", "/root", "/run", "/dev", "/proc", "/sys", "/mnt", "/srv"}, dir) || dir == filepath.Dir(dir) {
		return true
	}
	home, err := os.UserHomeDir()
	return err == nil && (dir == home || strings.HasPrefix(home, dir+string(filepath.Separator)))
}

package checkerhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// setFiles are what a set's directory has that no checker may see: what it would decide was recorded there.
var setFiles = []string{"retrial.yaml", "fixtures", "stubs", "prompts", "allowlist.json", "quarantine.json", ".retrial", ".git"}

// own gives the files that a checker is made of, as far as its command shows: the directory of its program, which for one in a
// bin directory is the one around that (an interpreter with its library, a virtual environment), those of links on the way to it,
// and the directories that its arguments name, or in which the files that they name lie, with the packages of Node.js around those. The home directory and the root are nobody's
// own, and in the directory of a set, and of one that lies two directories below at most, everything is but the set.
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
		for _, name := range append([]string{arg}, filepath.SplitList(arg)...) { // a class path has several
			out = append(out, c.named(name)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// named gives what a checker is made of by a file or directory that an argument names; nothing where it names none.
func (c Command) named(arg string) []string {
	path := c.absolute(arg)
	info, err := os.Stat(path)
	switch {
	case err != nil || arg == "" || strings.HasPrefix(arg, "-"):
		return nil
	case info.IsDir(): // it can be the set's, or the home directory
		return around(path, false)
	}
	out := append([]string{path}, around(filepath.Dir(path), false)...)
	return append(out, modules(filepath.Dir(path))...)
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
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // or a link to the home directory would give all of it
	}
	if up := filepath.Dir(dir); program && filepath.Base(dir) == "bin" {
		switch {
		case filepath.Base(up) == ".local" && isHome(filepath.Dir(up)): // where programs of a user are, beside everything else of theirs
			return []string{dir, filepath.Join(up, "lib")}
		case !tooWide(up):
			dir = up
		}
	}
	if tooWide(dir) || strings.HasPrefix(dir+"/", "/usr/") { // the latter is the system's, and large
		return nil
	}
	return without(dir, setDepth)
}

// setDepth is how far below a directory the directories of sets are looked for.
const setDepth = 2

// without gives a directory but for the files of the sets in it: the directory itself where it has none.
func without(dir string, depth int) []string {
	_, err := os.Stat(filepath.Join(dir, setFiles[0]))
	isSet := err == nil
	if !isSet && depth == 0 {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{dir} // whoever may not read it is not given it by a rule either
	}
	var out []string
	whole := !isSet
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case isSet && slices.Contains(setFiles, e.Name()):
		case e.Type()&os.ModeSymlink != 0: // a rule for a link is one for what it leads to
			out = append(out, led(dir, path, depth)...)
		case e.IsDir() && depth > 0:
			below := without(path, depth-1)
			whole = whole && len(below) == 1 && below[0] == path
			out = append(out, below...)
		default:
			out = append(out, path)
		}
	}
	if whole {
		return []string{dir}
	}
	return out
}

// led gives what a link in a directory adds to it: nothing where that holds the directory, or is a file of a set.
func led(dir, link string, depth int) []string {
	to, err := filepath.EvalSymlinks(link)
	if err != nil || to == dir || strings.HasPrefix(dir, strings.TrimSuffix(to, "/")+"/") || ofSet(to) {
		return nil
	}
	info, err := os.Stat(to)
	switch {
	case err != nil:
		return nil
	case !info.IsDir():
		return []string{link}
	case depth == 0: // what is below it has not been looked at
		return nil
	}
	if below := without(to, depth-1); len(below) != 1 || below[0] != to {
		return below
	}
	return []string{link}
}

// ofSet says whether a path is a file or directory of a set, or lies in one.
func ofSet(path string) bool {
	for up := filepath.Dir(path); path != up; path, up = up, filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, setFiles[0])); err == nil && slices.Contains(setFiles, filepath.Base(path)) {
			return true
		}
	}
	return false
}

// shared are directories that have more in them than a checker.
var shared = []string{"/", "/tmp", "/var/tmp", "/etc", "/var", "/var/lib", "/home", "/Users", "/root", "/run", "/dev", "/proc", "/sys", "/mnt", "/media", "/srv"}

// tooWide says whether a directory has more in it than a checker: the root, what all users share, a home directory, what has home
// directories in it, or what is everything of a user's but for the name.
func tooWide(dir string) bool {
	up := filepath.Dir(dir)
	if slices.Contains(shared, dir) || dir == up || dir == filepath.Clean(os.TempDir()) || up == "/home" || up == "/Users" || up == "/run/user" {
		return true
	}
	if filepath.Base(dir) == ".local" && isHome(up) {
		return true
	}
	return slices.ContainsFunc(homes(), func(home string) bool {
		return dir == home || strings.HasPrefix(home, dir+string(filepath.Separator))
	})
}

func isHome(dir string) bool {
	return slices.Contains(homes(), dir) || filepath.Dir(dir) == "/home" || filepath.Dir(dir) == "/Users"
}

// homes gives the home directory, as the environment has it and as it is without links.
func homes() (out []string) {
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Clean(home))
		if real, err := filepath.EvalSymlinks(home); err == nil {
			out = append(out, real)
		}
	}
	return out
}

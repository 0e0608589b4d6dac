//go:build unix

package checkerhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files and links ("link -> to") in a new directory, whose path has no link in it.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, to, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(to, path)
		default:
			err = os.WriteFile(path, nil, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// R4: what a checker may read in the sandbox strict is what it is made of: what stands around its program and the files that its
// arguments name, and never the home directory nor a set's files.
func TestOwn(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string
		home    string // below the root
		program string
		args    []string
		dir     string // in which it runs
		read    []string
		want    []string // below the root; the program itself is always there
	}{
		{name: "a program with what lies beside it", files: []string{"app/checker", "app/rules.json"}, program: "app/checker", want: []string{"app"}},
		{name: "a bin directory", files: []string{"app/bin/checker", "app/lib/x"}, program: "app/bin/checker", want: []string{"app"}},
		{name: "a virtual environment", files: []string{"python/bin/python3.12", "python/lib/x", "venv/bin/python -> ../../python/bin/python3.12", "venv/pyvenv.cfg"},
			program: "venv/bin/python", want: []string{"python", "python/bin/python3.12", "venv"}},
		{name: "a link from another directory", files: []string{"app/checker", "links/checker -> ../app/checker"}, program: "links/checker", want: []string{"app", "app/checker", "links"}},
		{name: "a directory that is a link", files: []string{"app/v2/checker", "app/current -> v2"}, program: "app/current/checker", want: []string{"app/v2", "app/v2/checker"}},
		{name: "in the home directory", home: "home", files: []string{"home/checker", "home/secret"}, program: "home/checker"},
		{name: "a link to the home directory", home: "home", files: []string{"home/checker", "app -> home"}, program: "app/checker", want: []string{"home/checker"}},
		{name: "bin of the home directory", home: "home", files: []string{"home/bin/checker", "home/secret"}, program: "home/bin/checker", want: []string{"home/bin"}},
		{name: "what has home directories in it", home: "people/ada", files: []string{"people/checker", "people/ada/secret"}, program: "people/checker"},
		{name: "programs of a user", home: "home", files: []string{"home/.local/bin/checker", "home/.local/lib/x", "home/.local/share/keyrings/x"}, program: "home/.local/bin/checker",
			want: []string{"home/.local/bin", "home/.local/lib"}},
		{name: "a project in the home directory", home: "home", files: []string{"home/project/checker"}, program: "home/project/checker", want: []string{"home/project"}},
		{name: "in the directory of a set", files: []string{"set/checker", "set/rules.json", "set/lib/x", "set/retrial.yaml", "set/fixtures/x", "set/stubs/x", "set/allowlist.json", "set/.git/x"},
			program: "set/checker", want: []string{"set/lib", "set/rules.json"}},
		{name: "in a bin directory of a set", files: []string{"set/bin/checker", "set/retrial.yaml", "set/fixtures/x"}, program: "set/bin/checker", want: []string{"set/bin"}},
		{name: "a set below", files: []string{"project/checker", "project/lib/x", "project/sets/a/retrial.yaml", "project/sets/a/fixtures/x", "project/sets/a/note"},
			program: "project/checker", want: []string{"project/lib", "project/sets/a/note"}},
		{name: "a link to a set's files", files: []string{"set/checker", "set/retrial.yaml", "set/fixtures/x", "set/data -> fixtures", "set/all -> .", "set/one -> fixtures/x", "set/lib/x", "set/more -> lib"},
			program: "set/checker", want: []string{"set/lib", "set/more"}},
		{name: "a link beside the program to a set", files: []string{"app/checker", "app/rules", "app/set/retrial.yaml", "app/set/fixtures/x", "app/set/note", "app/latest -> set", "app/one -> set/fixtures/x", "app/lib -> ../lib", "lib/x"},
			program: "app/checker", want: []string{"app/lib", "app/rules", "app/set/note"}},
		{name: "a link from one set to another", files: []string{"set/checker", "set/retrial.yaml", "set/fixtures/x", "set/other -> ../other", "other/retrial.yaml", "other/fixtures/x", "other/note", "set/data -> ../other/fixtures"},
			program: "set/checker", want: []string{"other/note"}},
		{name: "an argument that is a file", files: []string{"app/checker", "rules/strict.json", "rules/common.json"}, program: "app/checker", args: []string{"../rules/strict.json"}, dir: "app",
			want: []string{"app", "rules", "rules/strict.json"}},
		{name: "an argument that is a set's directory", files: []string{"app/checker", "set/retrial.yaml", "set/fixtures/x", "set/rules.json"}, program: "app/checker", args: []string{"."}, dir: "set",
			want: []string{"app", "set/rules.json"}},
		{name: "an argument that is the home directory", home: "home", files: []string{"app/checker", "home/secret"}, program: "app/checker", args: []string{"home"}, want: []string{"app"}},
		{name: "an argument that is the root", files: []string{"app/checker"}, program: "app/checker", args: []string{"/"}, want: []string{"app"}},
		{name: "an option, and what is no file", files: []string{"app/checker", "-x"}, program: "app/checker", args: []string{"-x", "no such file", ""}, want: []string{"app"}},
		{name: "a package of Node.js", files: []string{"app/node", "p/dist/src/checker.js", "p/package.json", "p/node_modules/x/index.js", "p/secret",
			"p/node_modules/@scope/sdk -> ../../../sdk", "p/node_modules/near -> ../../near", "sdk/index.js", "near/index.js", "p/node_modules/file -> ../secret"}, program: "app/node",
			args: []string{"../p/dist/src/checker.js"}, dir: "app", want: []string{"app", "near", "p/dist/src", "p/dist/src/checker.js", "p/node_modules", "p/package.json", "sdk"}},
		{name: "a package that is the home directory", home: "p", files: []string{"app/node", "p/dist/checker.js", "p/package.json", "p/node_modules/x/index.js"}, program: "app/node",
			args: []string{"../p/dist/checker.js"}, dir: "app", want: []string{"app", "p/dist", "p/dist/checker.js"}},
		{name: "a class path", files: []string{"app/java", "lib/a.jar", "classes/x", "set/retrial.yaml", "set/fixtures/x", "set/b.jar"}, program: "app/java", args: []string{"-cp", "../lib/a.jar:../classes:../set/b.jar:no"}, dir: "app",
			want: []string{"app", "classes", "lib", "lib/a.jar", "set/b.jar"}},
		{name: "what it is given", files: []string{"app/checker", "set/retrial.yaml", "set/fixtures/x"}, program: "app/checker", dir: "set", read: []string{"fixtures"}, want: []string{"app", "set/fixtures"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.files...)
			t.Setenv("HOME", "/nowhere")
			if c.home != "" {
				t.Setenv("HOME", filepath.Join(root, c.home))
			}
			cmd := Command{Argv: append([]string{"checker"}, c.args...), Dir: filepath.Join(root, c.dir), Read: c.read}
			want := []string{filepath.Join(root, c.program)}
			for _, w := range c.want {
				want = append(want, filepath.Join(root, w))
			}
			slices.Sort(want)
			if got := cmd.own(filepath.Join(root, c.program)); !slices.Equal(got, slices.Compact(want)) {
				t.Errorf("it may read\n\t%q, want\n\t%q", got, want)
			}
		})
	}
}

// What is another user's, or everybody's, is no checker's own.
func TestTooWide(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for dir, want := range map[string]bool{"/": true, "/home": true, "/home/ada": true, "/home/bob": true, "/root": true, "/etc": true, "/home/ada/.local": true, "/home/bob/.local": true,
		"/Users/eve": true, os.TempDir(): true, "/run/user/1000": true, "/home/ada/x": false, "/srv/checker": false, "/opt/checker": false} {
		if tooWide(dir) != want {
			t.Errorf("%s: %t", dir, !want)
		}
	}
}

//go:build linux

package checkerhost

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// attempt launches a checker that tries something at a level, and gives what it found out.
func attempt(t *testing.T, level sandbox.Level, what string, args ...string) string {
	t.Helper()
	return attemptBy(t, func(c *Command) { c.Sandbox = level }, what, args...)
}

func attemptBy(t *testing.T, change func(*Command), what string, args ...string) string {
	t.Helper()
	c := command("tries", append([]string{what}, args...)...)
	change(&c)
	h, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	found := h.Description().GetVersion()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	return found
}

// listeners are sockets of the host, of which each kind is in reach of a process in no sandbox.
type listeners struct{ tcp, abstract, path, datagram string }

func listen(t *testing.T) listeners {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rt-") // short
	if err != nil {
		t.Fatal(err)
	}
	l := listeners{path: filepath.Join(dir, "s"), datagram: filepath.Join(dir, "d"), abstract: "@" + dir}
	tcp, tcpErr := net.Listen("tcp", "127.0.0.1:0")
	abstract, abstractErr := net.Listen("unix", l.abstract)
	path, pathErr := net.Listen("unix", l.path)
	datagram, datagramErr := net.ListenPacket("unixgram", l.datagram)
	if err := errors.Join(tcpErr, abstractErr, pathErr, datagramErr); err != nil {
		t.Fatal(err)
	}
	l.tcp = tcp.Addr().String()
	t.Cleanup(func() {
		if err := errors.Join(tcp.Close(), abstract.Close(), path.Close(), datagram.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return l
}

// R4: level Network: no network, not the loopback of the machine, no abstract socket; level Strict: no socket by its path either.
func TestSocketsInASandbox(t *testing.T) {
	needs(t, sandbox.Strict)
	l := listen(t)
	for _, c := range []struct {
		name  string
		what  []string
		first sandbox.Level // that refuses it
	}{
		{"tcp", []string{"dial", "tcp", l.tcp}, sandbox.Network},
		{"abstract", []string{"dial", "unix", l.abstract}, sandbox.Network},
		{"path", []string{"dial", "unix", l.path}, sandbox.Strict},
		{"datagram over a pair", []string{"datagram", l.datagram}, sandbox.Strict},
	} {
		for level := sandbox.Off; level <= sandbox.Strict; level++ {
			t.Run(c.name+"/"+level.String(), func(t *testing.T) {
				if found := attempt(t, level, c.what[0], c.what[1:]...); (found == "done") != (level < c.first) {
					t.Errorf("it found: %s", found)
				}
			})
		}
	}
}

// R4: level Strict: files of others are not read, not even of the home directory, a set or a process; none is written, and none
// given another mode or time.
func TestFilesInASandbox(t *testing.T) {
	needs(t, sandbox.Strict)
	home, set := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	write := func(path string) string {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, rules := write(filepath.Join(home, "secret")), write(filepath.Join(set, "rules.txt"))
	fixtures := write(filepath.Join(set, "fixtures", "all.jsonl"))
	write(filepath.Join(set, "retrial.yaml"))
	environ := fmt.Sprintf("/proc/%d/environ", os.Getpid())
	for _, c := range []struct {
		name, what, file string
		refused          bool
	}{
		{"a file in the home directory", "read", secret, true},
		{"a file of the machine", "read", "/etc/hostname", true},
		{"the environment of a process", "read", environ, true},
		{"a file of its own", "read", rules, false},
		{"the fixtures beside it", "read", fixtures, true},
		{"what it is made of", "read", os.Args[0], false},
		{"written", "write", secret, true},
		{"its own written", "write", rules, true},
		{"made", "write", filepath.Join(set, "new"), true},
		{"cut", "truncate", rules, true},
		{"another mode", "chmod", rules, true},
		{"another mode of an open file", "chmod-open", rules, true},
		{"other times", "times", rules, true},
		{"an attribute", "xattr", rules, true},
		{"removed", "remove", write(filepath.Join(set, "removed")), true},
		{"a link out of its directory", "symlink", "", true},
		{"in its own directory", "write-own", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			strict := attemptBy(t, func(c *Command) { c.Sandbox, c.Dir = sandbox.Strict, set }, c.what, c.file+"*", "rules.txt")
			if (strict != "done") != c.refused {
				t.Errorf("in the sandbox: %s", strict)
			}
			if c.what == "write-own" || c.what == "xattr" || c.file == environ {
				return // outside of it that is in the home directory, or not given to anybody
			}
			if off := attemptBy(t, func(c *Command) { c.Sandbox, c.Dir = sandbox.Off, set; c.Env = append(c.Env, "TMPDIR="+t.TempDir()) }, c.what, c.file+"*", "rules.txt"); off != "done" {
				t.Errorf("it cannot be done at all: %s", off)
			}
		})
	}
}

// R4: level Strict: what leads out of a sandbox, or to others, is refused as such, and not by chance.
func TestCallsInASandbox(t *testing.T) {
	needs(t, sandbox.Strict)
	const denied, missing = "permission denied", "function not implemented"
	for what, says := range map[string]string{
		"ptrace": denied, "io-uring": denied, "unshare": denied, "mount": denied, "clone-mount": denied, "keys": denied,
		"clone3": missing, "int80": missing, "privileges": "no new privileges",
	} {
		t.Run(what, func(t *testing.T) {
			if found := attempt(t, sandbox.Strict, what); !strings.Contains(found, says) {
				t.Errorf("in the sandbox: %s", found)
			}
			if found := attempt(t, sandbox.Network, what); strings.Contains(found, says) && what != "int80" { // a kernel can be without that one
				t.Errorf("it is refused without the rule: %s", found)
			}
		})
	}
}

// R4: level Strict: memory, files and open files have limits.
func TestLimitsInASandbox(t *testing.T) {
	needs(t, sandbox.Strict)
	const large = 512 << 20
	limited := func(memory uint64) func(*Command) {
		return func(c *Command) { c.Sandbox, c.memory = sandbox.Strict, memory }
	}
	if found := attemptBy(t, limited(large), "memory", fmt.Sprint(large)); !strings.Contains(found, "cannot allocate memory") {
		t.Errorf("memory up to its limit: %s", found)
	}
	if found := attemptBy(t, limited(0), "memory", fmt.Sprint(large)); found != "done" {
		t.Errorf("memory below its limit: %s", found)
	}
	for _, c := range []struct {
		size int64
		says string
	}{{sandbox.FileBytes, "done"}, {sandbox.FileBytes + 1, "file too large"}} {
		if found := attempt(t, sandbox.Strict, "file", fmt.Sprint(c.size)); !strings.Contains(found, c.says) {
			t.Errorf("a file of %d bytes: %s", c.size, found)
		}
	}
	var n int
	if found := attempt(t, sandbox.Strict, "open"); !strings.HasSuffix(found, "too many open files") {
		t.Errorf("open files: %s", found)
	} else if _, err := fmt.Sscan(found, &n); err != nil || n > sandbox.OpenFiles || n < sandbox.OpenFiles/2 {
		t.Errorf("it has opened %d files, %v; want nearly %d", n, err, sandbox.OpenFiles)
	}
}

// R4: beside where programs, its own directory and its language are, a checker finds what the handshake needs, and nothing else.
func TestEnvironmentInASandbox(t *testing.T) {
	needs(t, sandbox.Strict)
	t.Setenv("RETRIAL_TEST_SECRET", "hunter2")
	for _, level := range []sandbox.Level{sandbox.Network, sandbox.Strict} {
		found := strings.Fields(attempt(t, level, "environment"))
		for _, name := range found {
			if !slices.Contains([]string{"HOME", "LANG", "PATH", "RETRIAL_CHECKER", "TMPDIR", "TZ"}, name) {
				t.Errorf("%s: it finds %s", level, name)
			}
		}
		if !slices.Contains(found, "TZ") {
			t.Errorf("%s: it finds %q", level, found)
		}
	}
}

// The directory of a checker goes with it, whatever it has put there.
func TestOwnDirectoryIsRemoved(t *testing.T) {
	needs(t, sandbox.Strict)
	c := command("tries", "write-own")
	c.Sandbox = sandbox.Strict
	h, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	dir := h.process.dir
	if _, err := os.Stat(filepath.Join(dir, "own")); err != nil {
		t.Errorf("it has written nothing to its directory: %v, %s", err, h.Description().GetVersion())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// A user without privileges has the same sandbox, with a limit of processes beside.
func TestSandboxOfNobody(t *testing.T) {
	if os.Getuid() != 0 {
		needs(t, sandbox.Strict)
		processes(t)
		return // the other tests run as such a user already
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "rt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, tmp := filepath.Join(dir, "checkerhost.test"), filepath.Join(dir, "t")
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(self, b, 0o755), os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	const tests = "TestSocketsInASandbox|TestFilesInASandbox|TestCallsInASandbox|TestLimitsInASandbox|TestOwnDirectoryIsRemoved|TestDaemonEndsWithItsChecker|TestSandboxOfNobody|TestMovedClock"
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run=^("+tests+")$")
	cmd.Dir, cmd.Env = tmp, []string{"HOME=" + tmp, "TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "\n--- PASS: "); err != nil || n != strings.Count(tests, "|")+1 {
		t.Errorf("%d tests pass for a user without privileges: %v\n%s", n, err, out)
	}
}

// processes holds the limit of processes.
func processes(t *testing.T) {
	t.Helper()
	var n int
	if found := attempt(t, sandbox.Strict, "processes"); !strings.HasSuffix(found, "resource temporarily unavailable") {
		t.Errorf("processes: %s", found)
	} else if _, err := fmt.Sscan(found, &n); err != nil || n < 10 || n > sandbox.Processes {
		t.Errorf("it has started %d processes, %v; the limit of processes and threads is %d", n, err, sandbox.Processes)
	}
}

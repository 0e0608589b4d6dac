//go:build linux

package checkerhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// dialsChecker asks its model endpoint before it says who it is, tries to reach what it should not, and says what came of it.
func dialsChecker(socket, port string) int {
	url := os.Getenv("OPENAI_BASE_URL") + "/models"
	report := []string{asksModel(url, os.Getenv("OPENAI_API_KEY")), asksModel(url, "another")}
	for _, try := range []struct{ network, address string }{{"unix", socket}, {"tcp", "127.0.0.1:" + port}, {"tcp", "127.0.0.2:8080"}, {"tcp", "[::1]:8080"}, {"udp", "127.0.0.1:8080"}} {
		conn, err := net.Dial(try.network, try.address)
		said := "open"
		if err == nil {
			_ = conn.Close()
		} else if errno := syscall.Errno(0); errors.As(err, &errno) {
			said = unix.ErrnoName(errno)
		}
		report = append(report, try.network+" "+said)
	}
	return retrial.Serve(reports{goodChecker{}, strings.Join(report, ", ")})
}

// reports is a checker whose version is what it has to say.
type reports struct {
	goodChecker
	text string
}

// Describe implements retrial.Checker.
func (r reports) Describe() retrial.Description {
	return retrial.Description{Name: "dials", Version: r.text}
}

func asksModel(url, key string) string {
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "refused"
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return res.Status
	}
	b, err := io.ReadAll(res.Body)
	return fmt.Sprint(string(b), err)
}

type answersHost struct{}

func (answersHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, r.URL.Path+" key "+os.Getenv("OPENAI_API_KEY")) // of this process: it has none
}

// A checker with an endpoint reaches it in every level, and what it reaches beside it is what the level says.
func TestModelEndpoint(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	unixListener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer unixListener.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	for level, want := range map[sandbox.Level]string{
		sandbox.Off:     "/v1/models key <nil>, 401 Unauthorized, unix open, tcp open,",
		sandbox.Network: "/v1/models key <nil>, 401 Unauthorized, unix open, tcp ECONNREFUSED, tcp ECONNREFUSED, tcp ECONNREFUSED,",
		sandbox.Strict:  "/v1/models key <nil>, 401 Unauthorized, unix EACCES, tcp EACCES, tcp EACCES, tcp EACCES, udp EACCES",
	} {
		t.Run(level.String(), func(t *testing.T) {
			checkGoroutines(t)
			needs(t, level)
			if level > sandbox.Off && os.Getuid() != 0 {
				t.Skip("only root can listen in a checker's network")
			}
			c := command("dials", socket, port)
			c.Sandbox, c.Model = level, answersHost{}
			c.Env = append(c.Env, "OPENAI_BASE_URL=http://127.0.0.1:1/v1") // its own does not count
			h, err := Launch(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if got := h.Description().GetVersion(); !strings.HasPrefix(got, want) {
				t.Errorf("it says %q, want %q", got, want)
			}
			if h.Model() != (answersHost{}) {
				t.Errorf("its model is %v", h.Model())
			}
		})
	}
}

// Without an endpoint nothing changes: a checker in the sandbox strict connects to nobody, and is told of no model.
func TestNoModelEndpoint(t *testing.T) {
	needs(t, sandbox.Strict)
	c := command("dials", "/no/such", "1")
	c.Sandbox = sandbox.Strict
	h, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got := h.Description().GetVersion(); !strings.HasSuffix(got, "unix EACCES, tcp EACCES, tcp EACCES, tcp EACCES, udp EACCES") || h.Model() != nil {
		t.Errorf("it says %q", got)
	}
}

// A user who may not enter the checker's network is told so, and what to do; auto goes without, and says that.
func TestModelEndpointTakesRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	needs(t, sandbox.Network)
	dir := t.TempDir()
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil { //nolint:gosec // another user reads it
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "tests")
	if err := os.WriteFile(program, self, 0o755); err != nil { //nolint:gosec // another user runs it
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "checker", "launches")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=/tmp", "HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "network: ") || !strings.Contains(string(out), "`sandbox: off` does without") || !strings.Contains(string(out), "auto: off, /v1/models key <nil>") {
		t.Errorf("%v\n%s", err, out)
	}
}

// launches launches a checker with an endpoint, and says what comes of it.
func launches() int {
	c := command("dials", "/no/such", "1")
	c.Sandbox, c.Model = sandbox.Network, answersHost{}
	h, err := Launch(context.Background(), c)
	if err == nil {
		_ = h.Close()
	}
	fmt.Println("network:", err)
	c.Sandbox = sandbox.Auto
	if h, err = Launch(context.Background(), c); err != nil {
		fmt.Println("auto:", err)
		return 1
	}
	level, lacks := h.Sandbox()
	fmt.Printf("auto: %s, %s\nlacks: %s\n", level, h.Description().GetVersion(), lacks)
	_ = h.Close()
	return 0
}

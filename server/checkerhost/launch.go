package checkerhost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
	"github.com/retrial-dev/retrial/server/wire"
)

// startTimeout is how long a checker may take from its start to its handshake.
const startTimeout = 30 * time.Second

// Command says how a checker is started.
type Command struct {
	// Argv is the program and its arguments; at least the program. A program without a slash is looked up in PATH, one
	// with a slash is relative to Dir.
	Argv []string
	// Arg0, if not empty, is what the program is told its own name is.
	Arg0 string
	// Dir is the working directory.
	Dir string
	// Env is added to the minimal environment, as NAME=value.
	Env []string
	// Sandbox says what is kept from it; sandbox.Auto takes the strongest level in which it starts.
	Sandbox sandbox.Level
	// Read are files and directories that it may read in the level Strict, beside those that it is made of (own.go); relative to Dir.
	Read []string
	// Shift moves the wall clock that it sees. CodePrecondition where sandbox.ShiftsClock is not.
	Shift time.Duration
	// Model, if not nil, answers what the checker asks a model of OpenAI's form: it is told of an address on its loopback
	// (OPENAI_BASE_URL) and reaches nothing else by it. In the levels Network and Strict that takes root. Not beside Shift.
	Model http.Handler

	memory uint64 // sandbox.Plan's
}

// Launch starts a checker and asks who it is. CodeUnavailable if it does not start, with what it printed; CodeInvalid
// for a command that is none; ErrConfined is wrapped where its sandbox cannot be had here.
func Launch(ctx context.Context, c Command) (*Host, error) {
	if c.Sandbox != sandbox.Auto {
		return c.launch(ctx, c.Sandbox, "checker", (*Host).describe)
	}
	var weaker []string
	for level := sandbox.Strict; ; level-- {
		h, err := c.launch(ctx, level, "checker", (*Host).describe)
		if err == nil {
			h.weaker = strings.Join(weaker, "; ")
			return h, nil
		}
		if level == sandbox.Off || !errors.Is(err, ErrConfined) && !errors.Is(err, ErrEnded) || ctx.Err() != nil {
			return nil, err
		}
		weaker = append(weaker, fmt.Sprintf("%s: %s", level, fixture.Printable(err.Error(), maxWeaker)))
	}
}

// maxWeaker bounds what is told of why a level could not be had, in bytes.
const maxWeaker = 400

// launch starts a program at one level and has it say who it is. kind is what it is in messages.
func (c Command) launch(ctx context.Context, level sandbox.Level, kind string, ask func(*Host, context.Context) error) (*Host, error) {
	path, err := c.resolve(kind)
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("%s %q", kind, c.Argv[0])
	if c.Shift != 0 && !sandbox.ShiftsClock {
		return nil, fixture.NewError(fixture.CodePrecondition, "launch", where, errors.New("this platform cannot move a checker's clock"))
	}
	dir, err := socketDir()
	if err != nil {
		return nil, fixture.NewError(fixture.CodeUnavailable, "launch", where, err)
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{c.Argv[0]}, c.Argv[1:]...), Dir: c.Dir, Env: environment()}
	if c.Arg0 != "" {
		cmd.Args[0] = c.Arg0
	}
	p := &process{dir: dir, ended: make(chan struct{}), done: make(chan struct{})}
	p.plan = sandbox.Plan{Level: level, Shift: c.Shift, Memory: c.memory, Loopback: c.Model != nil}
	if level >= sandbox.Strict {
		p.plan.Private, p.plan.Read = dir, c.own(path)
		cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir)
	}
	cmd.Env = append(cmd.Env, c.Env...)
	if c.Model != nil {
		if p.model, err = newModel(ctx, c.Model, level); err != nil {
			return nil, errors.Join(fixture.NewError(fixture.CodeUnavailable, "launch", where, err), p.cleanup())
		}
		cmd.Env = append(cmd.Env, p.model.environment()...) // behind its own: it asks nobody else
	}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{ProtocolVersion: wire.ContractVersion, MagicCookieKey: wire.MagicCookieKey, MagicCookieValue: wire.MagicCookieValue},
		Plugins:          plugin.PluginSet{},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true,
		StartTimeout:     startTimeout,
		Logger:           hclog.NewNullLogger(),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			cmd.Env = append(cmd.Env, spec.Env...)
			p.cmd = cmd
			return p, nil
		},
	})
	h := &Host{process: p, where: where}
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	addr, err := client.Start()
	if err != nil {
		err = fixture.NewError(fixture.CodeUnavailable, "launch", where, p.startError(err))
		return nil, errors.Join(err, h.Close())
	}
	h.socket = addr.String()
	// A path can have what means something else in an address: '#', '?', '%'.
	if err := h.open((&url.URL{Scheme: "unix", Path: addr.String()}).String()); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err := ask(h, ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// resolve finds the program. A file that is there but is no program is said to be just that.
func (c Command) resolve(kind string) (string, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", fixture.NewError(fixture.CodeInvalid, "launch "+kind, "", errors.New("the command is empty"))
	}
	name := c.Argv[0]
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir, name)
		if !filepath.IsAbs(name) {
			abs, err := filepath.Abs(name)
			if err != nil {
				return "", fixture.NewError(fixture.CodeInvalid, "launch "+kind, c.Argv[0], err)
			}
			name = abs
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		var e *exec.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return "", fixture.NewError(fixture.CodeUnavailable, "launch "+kind, c.Argv[0], err)
	}
	return path, nil
}

// environment is what every checker gets: where programs and temporary files are, one locale and one time zone. Nothing
// else of ours, so that no secret reaches a checker and no setting of a machine changes what it decides (R4).
func environment() []string {
	env := []string{"LANG=C.UTF-8", "TZ=UTC"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "SYSTEMROOT", "USERPROFILE", "TEMP", "TMP"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// maxSocketDir leaves room in the 104 bytes of the shortest sockaddr_un for what go-plugin puts behind it.
const maxSocketDir = 104 - len("/plugin-dir1234567890/plugin1234567890") - 1

// socketDir makes a private directory for the sockets of one checker, where their paths are short enough.
func socketDir() (string, error) {
	var errs []error
	for _, base := range []string{os.TempDir(), os.Getenv("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp"} {
		if base == "" {
			continue
		}
		if len(base)+len("/retrial-1234567890") > maxSocketDir {
			errs = append(errs, fmt.Errorf("%s: its path is too long for a socket", base))
			continue
		}
		dir, err := os.MkdirTemp(base, "retrial-")
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no directory for its socket: %w", errors.Join(errs...))
}

package checkerhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// exitTimeout is how long the end of a process is waited for whose connection has broken. It is spent only on one that goes
// on all the same.
const exitTimeout = time.Second

// drainTimeout is how long the output of a process that has ended is waited for, where something else holds it open.
const drainTimeout = 250 * time.Millisecond

// process is a launched checker: go-plugin's runner.Runner over a process group of its own.
type process struct {
	cmd *exec.Cmd
	dir string // removed by cleanup

	plan  sandbox.Plan
	model *model // nil without one

	stderr, stdout tail
	handshake      *io.PipeReader
	outputs        sync.WaitGroup
	ended          chan struct{} // closed when the process has ended
	done           chan struct{} // closed when its output is read as well
	waitErr        error         // valid once done is closed

	mu      sync.Mutex // guards started, killed
	started bool
	killed  bool
}

// Start implements runner.Runner.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("it was stopped before it was started")
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, outR.Close(), outW.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = nil, outW, errW
	p.cmd.SysProcAttr = ownGroup()
	p.plan.Attributes(p.cmd.SysProcAttr)

	started := make(chan error)
	go p.supervise(started, outR, errR)
	err = <-started
	closeErr := errors.Join(outW.Close(), errW.Close())
	if err != nil {
		return errors.Join(err, outR.Close(), errR.Close())
	}
	p.started = true
	return closeErr
}

// supervise starts the process and waits for its end, on one thread: where the kernel kills a child whose parent has
// died, it means the thread that started it.
func (p *process) supervise(started chan<- error, outR, errR *os.File) {
	runtime.LockOSThread()
	if !p.plan.Taints() { // or else the thread ends with this goroutine
		defer runtime.UnlockOSThread()
	}
	if err := p.begin(); err != nil {
		close(p.ended)
		close(p.done)
		started <- errors.Join(err, p.plan.Close())
		return
	}
	r, w := io.Pipe()
	p.handshake = r
	p.outputs.Go(func() { p.readStdout(outR, w) })
	p.outputs.Go(func() { _, _ = io.Copy(&p.stderr, errR) }) // ends with the process, or at the deadline below
	started <- nil

	err := p.cmd.Wait()
	close(p.ended)
	killGroup(p.cmd.Process.Pid) // what the checker started ends with it
	deadline := time.Now().Add(drainTimeout)
	_ = outR.SetReadDeadline(deadline) // a pipe of a platform without deadlines ends with the process alone
	_ = errR.SetReadDeadline(deadline)
	p.outputs.Wait()
	p.waitErr = errors.Join(err, outR.Close(), errR.Close(), p.plan.Close())
	close(p.done)
}

// ErrConfined is wrapped by the error of Launch where it is the sandbox that cannot be had here, and not the checker that fails.
var ErrConfined = errors.New("the sandbox cannot be had here")

// begin starts the process in its sandbox.
func (p *process) begin() error {
	if err := p.plan.Enter(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfined, err)
	}
	if err := p.cmd.Start(); err != nil {
		if p.plan.Level > sandbox.Off || p.plan.Taints() {
			err = fmt.Errorf("%w: %w", ErrConfined, err)
		}
		return err
	}
	if err := p.plan.Release(p.cmd.Process.Pid); err != nil {
		killGroup(p.cmd.Process.Pid)
		_ = p.cmd.Wait() // it was killed
		return fmt.Errorf("%w: %w", ErrConfined, err)
	}
	if p.model != nil {
		p.model.serve(p.plan.Listener())
	}
	return nil
}

// readStdout hands go-plugin the first line, without what could make it trip, and keeps the rest.
func (p *process) readStdout(out io.Reader, to *io.PipeWriter) {
	in := bufio.NewReaderSize(io.TeeReader(out, &p.stdout), 4096)
	line, err := in.ReadSlice('\n')
	// Fields behind the protocol are for TLS and multiplexing, which are off: a certificate there would crash the host.
	if parts := strings.Split(strings.TrimSpace(string(line)), "|"); len(parts) > 5 {
		line = []byte(strings.Join(parts[:5], "|") + "\n")
	}
	_, _ = to.Write(line) // fails only if go-plugin no longer listens
	_ = to.Close()
	if err == nil || errors.Is(err, bufio.ErrBufferFull) {
		_, _ = io.Copy(io.Discard, in)
	}
}

// Diagnose implements runner.Runner.
func (p *process) Diagnose(context.Context) string { return "" }

// Stdout implements runner.Runner.
func (p *process) Stdout() io.ReadCloser { return p.handshake }

// Stderr implements runner.Runner. It is kept here, not there.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name implements runner.Runner.
func (p *process) Name() string { return p.cmd.Path }

// ID implements runner.Runner. It is empty for a process that was never started.
func (p *process) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return fmt.Sprint(p.cmd.Process.Pid)
}

// Wait implements runner.Runner.
func (p *process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.waitErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill implements runner.Runner.
func (p *process) Kill(context.Context) error {
	p.kill()
	return nil
}

// kill ends the whole group and waits until its leader is gone. SIGKILL cannot be ignored, so that this ends.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	started := p.started
	p.mu.Unlock()
	if !started {
		return
	}
	if !p.exited() {
		killGroup(p.cmd.Process.Pid)
	}
	<-p.done
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// PluginToHost implements runner.Runner. It takes no address but a socket in our own directory.
func (p *process) PluginToHost(network, addr string) (string, string, error) {
	if network != "unix" || !strings.HasPrefix(filepath.Clean(addr), p.dir+string(filepath.Separator)) {
		return "", "", fmt.Errorf("its handshake names %.20q %.120q, which is no socket in the directory it was given", network, addr)
	}
	return network, addr, nil
}

// HostToPlugin implements runner.Runner.
func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// startError says why a start failed, with what the checker printed. go-plugin has killed what it refuses before it says
// so: how the process ended counts only where there was no handshake to refuse.
func (p *process) startError(err error) error {
	if !p.started {
		return err
	}
	said := p.explainStart(err)
	if p.exited() && exitedByItself(p.waitErr) {
		said = marked{said, ErrEnded}
	}
	return said
}

// ErrEnded is wrapped where a checker has ended by itself.
var ErrEnded = errors.New("it has ended by itself")

// marked is an error that Is another one beside what it says.
type marked struct {
	error
	as error
}

func (m marked) Unwrap() []error { return []error{m.error, m.as} }

// exitedByItself says whether a process ended of itself, be it by a crash: the host kills by SIGKILL alone.
func exitedByItself(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err == nil
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return exit.Exited() || ok && status.Signaled() && status.Signal() != syscall.SIGKILL
}

func (p *process) explainStart(err error) error {
	printed, said := p.stdout.String(), fixture.Printable(err.Error(), 500)
	none := strings.Contains(said, "Unrecognized remote plugin message") || strings.Contains(said, "plugin exited before we could connect")
	switch {
	case printed != "" && (none || strings.Contains(said, "error parsing core protocol version")):
		return p.withStderr("its stdout carries the handshake and nothing else (a checker logs to stderr), but it printed:\n" + printed)
	case none && p.exitedWithin(exitTimeout):
		return p.withStderr("it ended before its handshake: " + exitText(p.waitErr))
	case printed != "":
		return p.withStderr(said + "; it printed on stdout:\n" + printed)
	default:
		return p.withStderr(said)
	}
}

func (p *process) withStderr(msg string) error {
	if last := p.stderr.String(); last != "" {
		msg += "\nits last lines on stderr:\n" + last
	}
	return errors.New(msg)
}

// exitedWithin says whether the process is ending by itself: its sockets close before it can be waited for.
func (p *process) exitedWithin(d time.Duration) bool {
	if p.exited() {
		return true
	}
	select {
	case <-p.ended:
		<-p.done // the output is waited for no longer than drainTimeout
		return true
	case <-time.After(d):
		return false
	}
}

// postMortem says how the process ended, if it has or does so soon; it is empty if it runs, or was killed by us.
func (p *process) postMortem(soon time.Duration) string {
	p.mu.Lock()
	killed := p.killed
	p.mu.Unlock()
	if killed || !p.exitedWithin(soon) {
		return ""
	}
	return p.withStderr("it ended: " + exitText(p.waitErr)).Error()
}

func exitText(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.String()
	default:
		return err.Error()
	}
}

// cleanup removes the sockets, and ends the model endpoint. The process must be gone: then go-plugin holds nothing any more. Its own Kill is not for
// us: it dials the dead process once more and, where that is refused at once, never closes the connection (1.8.0).
func (p *process) cleanup() error { return errors.Join(p.model.close(), os.RemoveAll(p.dir)) }

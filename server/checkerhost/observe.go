package checkerhost

import "google.golang.org/grpc"

// Conn gives the connection, for callers that speak the contract themselves. It is the host's to close.
func (h *Host) Conn() grpc.ClientConnInterface { return h.conn }

// Pid gives the process of a launched checker, which leads a group of its own; 0 for any other.
func (h *Host) Pid() int {
	if h.process == nil || h.process.cmd.Process == nil {
		return 0
	}
	return h.process.cmd.Process.Pid
}

// Printed gives the last lines that a launched checker has written to stdout, the handshake among them, and to stderr.
func (h *Host) Printed() (stdout, stderr string) {
	if h.process == nil {
		return "", ""
	}
	return h.process.stdout.String(), h.process.stderr.String()
}

// Done is closed when a launched checker has ended; it is nil for any other. HowItEnded then says how.
func (h *Host) Done() <-chan struct{} {
	if h.process == nil {
		return nil
	}
	return h.process.done
}

// HowItEnded gives the end of a launched checker in words: "exit status 0", "signal: killed". It may be called once Done is
// closed.
func (h *Host) HowItEnded() string { return exitText(h.process.waitErr) }

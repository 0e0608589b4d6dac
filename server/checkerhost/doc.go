// Package checkerhost reaches checkers: it launches them as child processes, dials them by address or takes a connection that
// there is, and speaks the plugin contract with them. Several instances of one can be asked as one (Group).
//
// It promises that a launched checker is gone when Close returns, with all that is in its process group; that it gets
// a minimal environment and nothing of ours; and that whatever a checker says is bounded, and either an answer or a
// replayer.Fault that names the checker and its last words on stderr. It trusts no checker: not its handshake, not the
// size of its messages, not its silence.
package checkerhost

package checkerhost

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Plugin is a launched program that serves another contract than a checker's: started, watched and ended in the same way, and
// asked by whoever launched it. Safe for concurrent use.
type Plugin struct{ host *Host }

// LaunchPlugin starts a program and has ask find out whether it is what it should be, within the time that a checker has to
// describe itself. kind is what it is called in messages. The sandbox is the one that the command names; Auto is none, since
// there is no weaker level to fall back to that would be tried in silence. CodeUnavailable if it does not start or ask fails, with
// what the program printed.
func LaunchPlugin(ctx context.Context, c Command, kind string, ask func(context.Context, grpc.ClientConnInterface) error) (*Plugin, error) {
	h, err := c.launch(ctx, max(c.Sandbox, 0), kind, func(h *Host, ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, describeTimeout)
		defer cancel()
		if err := ask(ctx, h.conn); err != nil {
			return fixture.NewError(fixture.CodeUnavailable, "describe", h.where, fmt.Errorf("it is no %s of this contract: %w", kind, h.explain(err)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Plugin{h}, nil
}

// Conn is the connection to the program.
func (p *Plugin) Conn() grpc.ClientConnInterface { return p.host.conn }

// String names the program in messages.
func (p *Plugin) String() string { return p.host.where }

// Explain adds to an error of the connection what is known of the process behind it, bounded and printable.
func (p *Plugin) Explain(err error) error { return p.host.explain(err) }

// Close kills the program, which is gone when Close returns.
func (p *Plugin) Close() error { return p.host.Close() }

package checkerhost

import (
	"context"
	"errors"
	"sync"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// Member is one instance of a group.
type Member struct {
	// ID names it in messages.
	ID   string
	Host *Host
}

// Group is a checker behind one or more instances of one build, which share the cases of a run. The hosts are their owner's to
// close, after Wait.
type Group struct {
	members []Member
	streams sync.WaitGroup
}

// NewGroup makes a group of at least one instance. All of them have given the same description.
func NewGroup(members ...Member) *Group { return &Group{members: members} }

// Instances gives how many there are.
func (g *Group) Instances() int { return len(g.members) }

// Description gives what the checker says about itself.
func (g *Group) Description() *checkerv1.DescribeResponse { return g.members[0].Host.Description() }

// Wait waits until nothing of the streams of a run is left. Their contexts must have ended.
func (g *Group) Wait() { g.streams.Wait() }

// Checker makes the group ready for one run with these parameters, as Host.Checker does. With more than one instance the
// checker is a replayer.Sharer: an instance whose connection is lost is not asked again in the run, and another one is asked
// what it has not answered, each case at most once.
func (g *Group) Checker(parameters map[string]string) (replayer.Checker, error) {
	first := g.members[0].Host
	values, err := first.parameters(parameters)
	if err != nil {
		return nil, err
	}
	if len(g.members) == 1 {
		return &checker{h: first, parameters: values}, nil
	}
	s := &sharer{streams: &g.streams}
	for _, m := range g.members {
		s.instances = append(s.instances, &instance{id: m.ID, Checker: &checker{h: m.Host, parameters: values}})
	}
	return s, nil
}

// instance is a member of a group in one run.
type instance struct {
	id string
	replayer.Checker
	lost bool // guarded by the sharer's mu
}

// sharer is a group with its parameters: a replayer.Sharer.
type sharer struct {
	instances []*instance // at least one; all describe themselves alike
	streams   *sync.WaitGroup

	mu     sync.Mutex // guards losses, and lost of every instance
	losses []replayer.Loss
}

// Description implements replayer.Checker.
func (s *sharer) Description() replayer.Description { return s.instances[0].Description() }

// Losses implements replayer.Sharer.
func (s *sharer) Losses() []replayer.Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.losses
	s.losses = nil
	return out
}

// Open implements replayer.Checker. It opens a stream on every instance that has not been lost.
func (s *sharer) Open(ctx context.Context) (replayer.Stream, error) {
	streams, errs := make([]replayer.Stream, len(s.instances)), make([]error, len(s.instances))
	var wg sync.WaitGroup
	for i, in := range s.instances {
		if !s.isLost(in) {
			wg.Go(func() { streams[i], errs[i] = in.Open(ctx) })
		}
	}
	wg.Wait()
	out := &sharing{ctx: ctx, s: s, out: make(chan delivery)}
	var last error = &replayer.Fault{Code: gate.CheckerFailed, Message: "every instance was lost before", Lost: true}
	for i, in := range s.instances {
		switch {
		case streams[i] != nil:
			out.parts = append(out.parts, newPart(in, streams[i], false))
		case isLoss(errs[i]):
			last = errs[i]
		case errs[i] != nil:
			return nil, named(in, errs[i])
		}
	}
	if len(out.parts) == 0 {
		return nil, last
	}
	for i, in := range s.instances {
		if errs[i] != nil {
			s.lose(in, nil, 0)
		}
	}
	out.running = len(out.parts)
	for _, p := range out.parts {
		out.start(p)
	}
	return out, nil
}

func (s *sharer) isLost(in *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return in.lost
}

func (s *sharer) markLost(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.lost = true
}

// lose notes that an instance is lost, and who is asked in its place; nil if there is nothing to ask.
func (s *sharer) lose(in, to *instance, cases int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.lost = true
	loss := replayer.Loss{Instance: in.id, Cases: cases}
	if to != nil {
		loss.To = to.id
	}
	s.losses = append(s.losses, loss)
}

func isLoss(err error) bool {
	var fault *replayer.Fault
	return errors.As(err, &fault) && fault.Lost
}

// named says which instance a fault is about.
func named(in *instance, err error) error {
	var fault *replayer.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return &replayer.Fault{Code: fault.Code, Message: "instance " + in.id + ": " + fault.Message, Lost: fault.Lost}
}

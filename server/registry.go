package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
	"github.com/retrial-dev/retrial/server/modelserver"
)

// Checkers reaches the checkers of a configuration, and those that come by themselves. Safe for concurrent use.
type Checkers struct {
	registryv1.UnimplementedRegistryServiceServer
	checkers                              map[string]CheckerConfig
	dialAllow, attachAllow, registerAllow []string
	instances                             *instances // those that came by themselves
	clock                                 Clock
	admission                             *admission // not written any more once the server is made
	// describing has one for each description under way: each starts or dials a checker.
	describing chan struct{}

	digests checkerhost.Digests // of the programs that were started

	mu     sync.Mutex // guards warm, proofs
	warm   map[string]chan warmed
	proofs map[string]proof // by name; of those of which a level is required
}

type warmed struct {
	host *checkerhost.Host
	err  error
}

// NewCheckers takes a valid configuration. It starts and dials none.
func NewCheckers(c Config) *Checkers { return NewCheckersAt(c, machineClock{}) }

// NewCheckersAt is NewCheckers by another clock than the machine's.
func NewCheckersAt(c Config, clock Clock) *Checkers {
	return &Checkers{
		checkers: c.Checkers, dialAllow: c.DialAllow, attachAllow: c.AttachAllow, registerAllow: c.RegisterAllow,
		instances: newInstances(c.Limits.WithDefaults().Instances, clock), clock: clock,
		describing: make(chan struct{}, maxDescribing), warm: map[string]chan warmed{},
	}
}

// Start begins to open checkers, so that they are ready when a run asks for them. Each is handed to one run; those that
// no run asks for are let go by Close.
func (r *Checkers) Start(ctx context.Context, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		c, ok := r.checkers[name]
		if !ok || r.warm[name] != nil {
			continue
		}
		ready := make(chan warmed, 1)
		r.warm[name] = ready
		go func() {
			h, err := c.Open(ctx)
			ready <- warmed{h, err}
		}()
	}
}

// Close lets go of the checkers that no run has asked for.
func (r *Checkers) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, ready := range r.warm {
		if w := <-ready; w.host != nil {
			errs = append(errs, w.host.Close())
		}
	}
	r.warm = map[string]chan warmed{}
	return errors.Join(errs...)
}

// open reaches the checker that a caller names. It never starts anything but a command of the configuration.
func (r *Checkers) open(ctx context.Context, ref *replayv1.CheckerRef) (*reached, error) {
	switch c := ref.GetChecker().(type) {
	case *replayv1.CheckerRef_Name:
		return r.named(ctx, c.Name)
	case *replayv1.CheckerRef_Address:
		if !admitsAddress(r.dialAllow, c.Address) {
			return nil, fixture.NewError(fixture.CodeDenied, "dial", fmt.Sprintf("%.120q", c.Address), errors.New("the server's configuration (dial_allow) does not admit this address"))
		}
		h, err := checkerhost.Dial(ctx, c.Address)
		return alone(h, err, dialled)
	default:
		return nil, invalid("checker", errors.New("a checker needs a name or an address"))
	}
}

func (r *Checkers) named(ctx context.Context, name string) (*reached, error) {
	c, ok := r.checkers[name]
	if !ok {
		g, err := r.together(ctx, name)
		if g == nil && err == nil {
			err = r.unknown(name)
		}
		return g, err
	}
	how := launched
	if c.Address != "" {
		how = dialled
	}
	r.mu.Lock()
	ready := r.warm[name]
	delete(r.warm, name)
	r.mu.Unlock()
	var h *checkerhost.Host
	var err error
	if ready != nil {
		w := <-ready
		h, err = w.host, w.err
	} else {
		h, err = c.Open(ctx)
	}
	if err == nil {
		if err = r.holdToProof(name, h); err != nil {
			err = errors.Join(err, h.Close())
		}
	}
	return alone(h, err, how)
}

// maxNamed bounds the names that an error lists.
const maxNamed = 20

func (r *Checkers) unknown(name string) error {
	names := r.names()
	known := "it knows none"
	switch {
	case len(names) > maxNamed:
		known = fmt.Sprintf("it knows %s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	case len(names) > 0:
		known = "it knows " + strings.Join(names, ", ")
	}
	return fixture.NewError(fixture.CodeNotFound, "find checker", fmt.Sprintf("%.120q", name), fmt.Errorf("the server has no such checker; %s", known))
}

// names lists all names, in ascending order.
func (r *Checkers) names() []string {
	names := slices.AppendSeq(r.instances.names(), maps.Keys(r.checkers))
	slices.Sort(names)
	return names
}

// admitsName says whether a checker can come by itself under a name.
func (r *Checkers) admitsName(name string) error {
	subject := fmt.Sprintf("%.120q", name)
	if _, ok := r.checkers[name]; ok {
		return fixture.NewError(fixture.CodeExists, "admit", subject, errors.New("the name is one of the server's configuration"))
	}
	if !admits(r.attachAllow, name) {
		return fixture.NewError(fixture.CodeDenied, "admit", subject, errors.New("the server's configuration (attach_allow) does not admit this name"))
	}
	return nil
}

// Open launches or dials the checker. It is the caller's to close.
func (c CheckerConfig) Open(ctx context.Context) (*checkerhost.Host, error) {
	if c.Address != "" {
		return checkerhost.Dial(ctx, c.Address)
	}
	cmd, err := c.command()
	if err != nil {
		return nil, err
	}
	return checkerhost.Launch(ctx, cmd)
}

// command says how the checker is started.
func (c CheckerConfig) command() (checkerhost.Command, error) {
	level, err := c.level()
	if err != nil {
		return checkerhost.Command{}, fixture.NewError(fixture.CodeInvalid, "launch checker", c.Command[0], err)
	}
	cmd := checkerhost.Command{Argv: c.Command, Dir: c.Dir, Env: c.Env, Sandbox: level, Read: c.Read}
	if c.ModelEndpoint {
		cmd.Model = modelserver.New() // it refuses everything until a run has begun
	}
	if c.Command[0] == selfName {
		self, err := os.Executable()
		if err != nil {
			return cmd, fixture.NewError(fixture.CodeUnavailable, "launch checker", selfName, err)
		}
		cmd.Argv = append([]string{self}, c.Command[1:]...)
		cmd.Arg0 = selfName
	}
	return cmd, nil
}

// level gives the sandbox that is asked for.
func (c CheckerConfig) level() (sandbox.Level, error) {
	if c.Sandbox == "" {
		return sandbox.Auto, nil
	}
	return sandbox.ParseLevel(c.Sandbox)
}

// maxDescribing bounds the descriptions under way.
const maxDescribing = 4

// selfName stands for this program in a command: it carries the reference checkers.
const selfName = "retrial"

// describe says how a checker is registered; nil where it is not any more.
func (r *Checkers) describe(name string) *registryv1.RegisteredChecker {
	c, ok := r.checkers[name]
	switch {
	case ok && c.Address != "":
		return &registryv1.RegisteredChecker{Name: name, Transport: registryv1.Transport_TRANSPORT_DIALLED, Address: c.Address}
	case ok:
		return &registryv1.RegisteredChecker{Name: name, Transport: registryv1.Transport_TRANSPORT_LAUNCHED}
	}
	all := r.instances.list(name)
	if len(all) == 0 {
		return nil
	}
	return &registryv1.RegisteredChecker{Name: name, Transport: all[0].GetTransport(), Instances: all}
}

// ListCheckers implements registryv1.RegistryServiceServer.
func (r *Checkers) ListCheckers(_ context.Context, req *registryv1.ListCheckersRequest) (*registryv1.ListCheckersResponse, error) {
	after, err := parseToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(r.names(), func(n string) bool { return n <= after })
	out := &registryv1.ListCheckersResponse{}
	limit := pageSize(req.GetPageSize())
	for _, name := range names[:min(limit, len(names))] {
		if c := r.describe(name); c != nil {
			out.Checkers = append(out.Checkers, c)
		}
	}
	if len(names) > limit {
		out.NextPageToken = token(names[limit-1])
	}
	return out, nil
}

// DescribeChecker implements registryv1.RegistryServiceServer.
func (r *Checkers) DescribeChecker(ctx context.Context, req *registryv1.DescribeCheckerRequest) (*registryv1.DescribeCheckerResponse, error) {
	select {
	case r.describing <- struct{}{}:
		defer func() { <-r.describing }()
	default:
		return nil, fixture.NewError(fixture.CodeBusy, "describe checker", req.GetName(), errors.New("others are being described; try again later"))
	}
	h, err := r.named(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	out := &registryv1.DescribeCheckerResponse{Checker: r.describe(req.GetName()), Description: h.Description()}
	return out, h.Close()
}

// Describe launches or dials a checker, and gives what it says about itself.
func Describe(ctx context.Context, c CheckerConfig) (*checkerv1.DescribeResponse, error) {
	h, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	return h.Description(), h.Close()
}

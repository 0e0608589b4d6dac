package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/retrial-dev/retrial/fixturestore"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// Conformance puts a checker through the cases of the plugin contract, and names those up to the level that it does not keep, each with
// the reason: none where it reaches the level. The error says that it could not be asked. What it says is the checker's text.
type Conformance func(ctx context.Context, c Conformee) (failed []string, err error)

// Conformee is a checker that is to keep the contract.
type Conformee struct {
	// Host is a connection to it, which stays the caller's; without one, Command starts it.
	Host    *checkerhost.Host
	Command checkerhost.Command
	// Level is "contract", "declared", "determinism", "behaviour" or "hermetic"; the last two need a Command.
	Level string
	// Samples are cases that it should be able to decide; without any it is asked made-up ones.
	Samples []Sample
}

// Sample is the input of a fixture, as canonical JSON, with its stubs.
type Sample struct {
	Name  string
	Input []byte
	Stubs []*checkerv1.Stub
}

// The levels of conformance, and how many of them show over a connection alone.
var conformanceLevels = []string{"contract", "declared", "determinism", "behaviour", "hermetic"}

const overConnections = 3

const (
	// conformTimeout bounds how long a checker is put through the cases, and maxConforming how many are at a time that come by
	// themselves: each is asked some ten thousand cases.
	conformTimeout = 3 * time.Minute
	maxConforming  = 2
	// maxSamples bounds the fixtures that it is asked.
	maxSamples = 300
	// maxNamedCases bounds the cases that a refusal names, each of them in bytes.
	maxNamedCases, maxCaseText = 3, 400
)

// checkLevel refuses a level that is none of the first so many, and one that made-up inputs show nothing of.
func checkLevel(level, set string, most int, refuse func(key, format string, args ...any)) {
	at := slices.Index(conformanceLevels, level)
	switch {
	case level == "" && set != "":
		refuse("_set", "without a level nobody is asked its fixtures")
	case level == "":
	case at < 0:
		refuse("_level", "%.40q is none of %s", level, strings.Join(conformanceLevels[:most], ", "))
	case at >= most:
		refuse("_level", "%s shows in a process alone, and what comes by itself is a connection; at most %s", level, conformanceLevels[most-1])
	case at > 0 && set == "":
		refuse("_set", "%s needs a set whose fixtures the checker can decide: made-up inputs show nothing of it", level)
	case set != "":
		if err := checkSetName(set); err != nil {
			refuse("_set", "%w", err)
		}
	}
}

// admission is what checkers that come by themselves must reach. A nil one lets all in.
type admission struct {
	level, set string
	conforms   Conformance
	store      *fixturestore.Store
	places     chan struct{} // one for each checker that is put through the cases
}

func newAdmission(c Config, p Parts) (*admission, error) {
	needed := c.AdmitLevel != "" || slices.ContainsFunc(slices.Collect(maps.Values(c.Checkers)), func(c CheckerConfig) bool { return c.RequireLevel != "" })
	if needed && p.Conformance == nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "configuration", "", errors.New("admit_level or require_level is set, and this program cannot put checkers through the contract's cases"))
	}
	if c.AdmitLevel == "" {
		return nil, nil
	}
	return &admission{c.AdmitLevel, c.AdmitSet, p.Conformance, p.Store, make(chan struct{}, maxConforming)}, nil
}

// admit puts a checker through the cases. It ends with the server.
func (r *Checkers) admit(ctx context.Context, name string, h *checkerhost.Host) error {
	a := r.admission
	if a == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with this call
		select {
		case <-r.instances.stopping:
			cancel()
		case <-done:
		}
	}()
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	case <-ctx.Done():
		return r.notAdmitted(ctx, name, ctx.Err())
	}
	ctx, late := within(ctx, r.clock, conformTimeout) // that it waited for a place is not its time
	defer late()
	samples, err := samplesOf(a.store, a.set)
	if err == nil {
		err = reaches(ctx, a.conforms, Conformee{Host: h, Level: a.level, Samples: samples}, name)
	}
	if err != nil {
		return r.notAdmitted(ctx, name, err)
	}
	return nil
}

func (r *Checkers) notAdmitted(ctx context.Context, name string, err error) error {
	select {
	case <-r.instances.stopping:
		return errStopping()
	default:
	}
	if errors.Is(context.Cause(ctx), errTooLate) {
		return fixture.NewError(fixture.CodePrecondition, "admit", fmt.Sprintf("%.120q", name), fmt.Errorf("it did not get through the cases of the level %s within %s", r.admission.level, conformTimeout))
	}
	return err
}

// reaches says why a checker does not reach a level: by CodeInvalid, so that it does not come again and again, with the first of the
// cases that it does not keep.
func reaches(ctx context.Context, conforms Conformance, c Conformee, name string) error {
	subject := fmt.Sprintf("%.120q", name)
	failed, err := conforms(ctx, c)
	if err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "admit", subject, errors.New(fixture.Printable(err.Error(), maxFailure)))
	}
	if len(failed) == 0 {
		return nil
	}
	named := failed[:min(len(failed), maxNamedCases)]
	for i, text := range named {
		named[i] = fixture.Printable(text, maxCaseText)
	}
	said := strings.Join(named, "; ")
	if more := len(failed) - len(named); more > 0 {
		said += fmt.Sprintf("; and %d more", more)
	}
	return fixture.NewError(fixture.CodeInvalid, "admit", subject, fmt.Errorf("it does not keep the plugin contract up to the level %s, which this server demands: %s", c.Level, said))
}

// samplesOf gives the first fixtures of a set's newest version, and none for no set.
func samplesOf(store *fixturestore.Store, set string) ([]Sample, error) {
	if set == "" {
		return nil, nil
	}
	v, err := version(store, set, 0)
	if err != nil {
		return nil, fmt.Errorf("the fixtures to ask checkers: %w", err)
	}
	blocks, err := store.Blocks(v)
	if err != nil {
		return nil, err
	}
	var out []Sample
	from := &source{blocks}
	for i := 0; i < from.Blocks() && len(out) < maxSamples; i++ {
		err := from.Block(i, func(c replayer.Case) error {
			if len(out) == maxSamples {
				return nil
			}
			s := Sample{Name: c.Fixture.ID, Input: c.Fixture.AppendInput(nil)}
			for _, one := range c.Stubs {
				s.Stubs = append(s.Stubs, &checkerv1.Stub{Call: one.Call, Value: slices.Clone(one.Value)})
			}
			out = append(out, s)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Require puts the checkers of the configuration through the cases of the levels that it requires of them, and says of each that does not
// reach its own which cases it does not keep. Serve wants it called before.
func (s *Server) Require(ctx context.Context) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.checkers.checkers)) {
		c := s.checkers.checkers[name]
		if c.RequireLevel == "" {
			continue
		}
		if err := s.require(ctx, name, c); err != nil {
			errs = append(errs, err)
			continue
		}
		s.log.Info("a checker reaches the level that is required of it", zap.String("checker", name), zap.String("level", c.RequireLevel))
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	s.required.Store(true)
	return nil
}

func (s *Server) require(ctx context.Context, name string, c CheckerConfig) error {
	ctx, cancel := within(ctx, s.checkers.clock, conformTimeout)
	defer cancel()
	samples, err := samplesOf(s.store, c.RequireSet)
	if err != nil {
		return err
	}
	cmd, err := c.command()
	if err != nil {
		return err
	}
	if err = s.checkers.prove(ctx, name, c); err == nil {
		err = reaches(ctx, s.conforms, Conformee{Command: cmd, Level: c.RequireLevel, Samples: samples}, name)
	}
	if err == nil { // what was put through the cases is started anew for each: it must be what was noted, behind them as well
		var again *reached
		if again, err = s.checkers.named(ctx, name); err == nil {
			err = again.Close()
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), errTooLate) {
		err = fixture.NewError(fixture.CodePrecondition, "admit", name, fmt.Errorf("it did not get through the cases of the level %s within %s", c.RequireLevel, conformTimeout))
	}
	return err
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/server/checkerhost"
)

// Sample is a case to ask: the input of a fixture, with the values of its model calls.
type Sample struct {
	Name  string
	Input []byte // canonical JSON
	Stubs []*checkerv1.Stub
}

// Target is the checker under test.
type Target struct {
	// Command starts it; Address is where it listens instead; Host is a connection to it that is there, the caller's to close: what
	// needs a process or a connection of its own does not apply to it. Exactly one is set.
	Command checkerhost.Command
	Address string
	Host    *checkerhost.Host
	// UpTo is the last level whose cases are run; all where it is empty.
	UpTo Level
	// Samples are cases that it can decide. Without any it is asked made-up ones, which it may refuse one by one.
	Samples []Sample
	// Parameters are the values of its parameters as JSON, by name; those that are not there take their defaults.
	Parameters map[string]string
	// Patience is how long one case of the suite may take. Zero is 30 s.
	Patience time.Duration
	// Progress is called before each case; may be nil.
	Progress func(done, of int, name string)
}

// Run runs every case against a checker. The error says that it could not be started or reached at all.
func Run(ctx context.Context, t Target) (report *Report, err error) {
	if t.Patience == 0 {
		t.Patience = 30 * time.Second
	}
	r := &runner{t: t, given: len(t.Samples) > 0}
	if !r.given {
		r.t.Samples = madeUp()
	}
	main, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	r.main = main
	defer func() { err = errors.Join(err, r.close()) }()
	report = &Report{Checker: main.Description().GetName(), Version: main.Description().GetVersion(), Build: main.Description().GetBuildDigest()}
	all := cases()
	if t.UpTo != "" {
		last := slices.Index(Levels(), t.UpTo)
		all = slices.DeleteFunc(all, func(c testCase) bool { return slices.Index(Levels(), c.level) > last })
	}
	for i, c := range all {
		if t.Progress != nil {
			t.Progress(i, len(all), c.name)
		}
		report.Results = append(report.Results, r.try(ctx, c))
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
	}
	report.settle()
	return report, nil
}

// madeUp are inputs that no checker needs to understand.
func madeUp() (out []Sample) {
	for i, in := range []string{`{}`, `{"a":1}`, `{"a":"x","b":[1,2,3],"scope":{"user_id":"u-1"}}`} {
		out = append(out, Sample{Name: fmt.Sprint("made up ", i), Input: []byte(in)})
	}
	return out
}

// testCase is one case of the suite.
type testCase struct {
	name  string
	level Level
	says  string
	fn    func(ctx context.Context, r *runner) error
}

// unobserved is an error that says why there was nothing to see.
type unobserved struct{ why string }

// Error implements error.
func (u unobserved) Error() string { return u.why }

// inapplicable is an error that says what this checker does not have.
type inapplicable struct{ why string }

// Error implements error.
func (u inapplicable) Error() string { return u.why }

// cases lists the whole suite in its order.
func cases() []testCase {
	return slices.Concat(describeCases(), streamCases(), inputCases(), stubCases(), hostileCases(), declaredCases(), determinismCases(), behaviourCases(), hermeticCases())
}

// Cases gives the names of all cases, by level.
func Cases() map[Level][]string {
	out := map[Level][]string{}
	for _, c := range cases() {
		out[c.level] = append(out[c.level], c.name)
	}
	return out
}

// runner runs the cases against one checker.
type runner struct {
	t     Target
	main  *checkerhost.Host
	given bool // the samples are a set's, which the checker can decide
}

// start starts or dials another instance, with these variables on top of the environment.
func (r *runner) start(ctx context.Context, env ...string) (*checkerhost.Host, error) {
	switch {
	case r.t.Host != nil:
		return r.t.Host, nil
	case r.t.Address != "":
		return checkerhost.Dial(ctx, r.t.Address)
	}
	c := r.t.Command
	c.Env = append(slices.Clone(c.Env), env...)
	return checkerhost.Launch(ctx, c)
}

// close lets go of the checker, but of one that was there before.
func (r *runner) close() error {
	if r.t.Host != nil {
		return nil
	}
	return r.main.Close()
}

// launched says why the process of the checker cannot be looked at, or nil.
func (r *runner) launched() error {
	if r.t.Host != nil {
		return inapplicable{"there is a connection to the checker, and nothing else"}
	}
	if r.t.Address != "" {
		return unobserved{"the checker was dialled: its process is out of sight"}
	}
	return nil
}

func (r *runner) try(ctx context.Context, c testCase) Result {
	out := Result{Case: c.name, Level: c.level, Says: c.says, Status: Passed}
	ctx, cancel := context.WithTimeout(ctx, r.t.Patience)
	defer cancel()
	begun := time.Now()
	err := r.alive(ctx)
	if err == nil {
		err = c.fn(ctx, r)
	}
	out.Took = time.Since(begun)
	var nothing unobserved
	var absent inapplicable
	switch {
	case errors.As(err, &absent):
		out.Status, out.Message = Inapplicable, absent.why
	case errors.As(err, &nothing):
		out.Status, out.Message = Unobserved, nothing.why
	case err != nil:
		out.Status, out.Message = Failed, err.Error()
	}
	return out
}

// alive makes sure that there is a checker to ask: one that a case has killed is started again, so that the next one is asked.
func (r *runner) alive(ctx context.Context) error {
	quick, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := checkerv1.NewCheckerServiceClient(r.main.Conn()).Describe(quick, &checkerv1.DescribeRequest{}); err == nil {
		return nil
	}
	if r.t.Host != nil {
		return errors.New("the checker is gone, and nobody can start it again")
	}
	if err := r.main.Close(); err != nil {
		return err
	}
	again, err := r.start(ctx)
	if err != nil {
		return fmt.Errorf("the checker is gone, and cannot be started again: %w", err)
	}
	r.main = again
	return nil
}

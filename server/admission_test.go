//go:build linux

package server_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrial-dev/retrial/clients/conformance"
	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/fixturestore"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/server"
)

// conforms is the suite as a program that serves hands it to a server.
func conforms(ctx context.Context, c server.Conformee) (failed []string, err error) {
	t := conformance.Target{Host: c.Host, Command: c.Command, UpTo: conformance.Level(c.Level), Patience: 10 * time.Second}
	for _, s := range c.Samples {
		t.Samples = append(t.Samples, conformance.Sample(s))
	}
	report, err := conformance.Run(ctx, t)
	if err != nil || report.AtLeast(t.UpTo) {
		return nil, err
	}
	for _, r := range report.Results {
		if r.Status == conformance.Failed || r.Status == conformance.Unobserved {
			failed = append(failed, r.Case+": "+r.Message)
		}
	}
	return failed, nil
}

// sdk is a checker of the Go SDK that reproduces the plain set, and breaks one level of the contract by its mode.
type sdk struct {
	mode  string
	asked *atomic.Int64
}

// Describe implements retrial.Checker.
func (c sdk) Describe() retrial.Description {
	d := retrial.Description{Name: "sdk", Version: "1", BuildDigest: "sha256:1", Verdicts: []string{"keep", "drop"}, ReasonCodes: []string{"fresh", "old", "spam"}}
	if c.mode == "undeclared" {
		d.ReasonCodes = d.ReasonCodes[:2]
	}
	return d
}

// Check implements retrial.Checker.
func (c sdk) Check(_ context.Context, in *retrial.Case) (retrial.Outcome, error) {
	n, err := retrial.Member[int](in, "n")
	if err != nil {
		return retrial.Outcome{}, err
	}
	o := right(n)
	out := retrial.Outcome{Verdict: o.GetVerdict(), ReasonCode: o.GetReasonCode()}
	if c.mode == "random" && c.asked.Add(1)%7 == 0 {
		out.ReasonCode = "old"
	}
	return out, nil
}

// A checker that comes by itself is listed once it has been seen to reach the level that the configuration demands; one that does not is
// refused, and told the first cases that it does not keep.
func TestAdmitLevel(t *testing.T) {
	b := newAttachBench(t, nil, func(c *server.Config) { c.AdmitLevel, c.AdmitSet = "determinism", plainSet })
	target := b.listenHere(t)
	for mode, says := range map[string]string{"undeclared": "declared-reasons", "random": "order-independent"} {
		t.Run(mode, func(t *testing.T) {
			err := retrial.Attach(t.Context(), target, "next", sdk{mode, new(atomic.Int64)})
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "up to the level determinism") || !strings.Contains(err.Error(), says) {
				t.Errorf("attached: %v", err)
			}
			if n := len(b.instances(t, "next")); n != 0 {
				t.Errorf("%d instances are listed", n)
			}
		})
	}
	t.Run("registered", func(t *testing.T) {
		address, _ := b.listen(t, "c", &own{version: "1", digest: "d", behaviour: behaviour{each: func(s *session, c *checkerv1.Case) error {
			return s.send(outcome(c, right(0))) // it takes any input and any parameter
		}}})
		_, err := b.registry().Register(t.Context(), &registryv1.RegisterRequest{Name: "next", Address: address})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "input-no-json") {
			t.Errorf("registered: %v", err)
		}
		if n := len(b.instances(t, "next")); n != 0 {
			t.Errorf("%d instances are listed", n)
		}
	})
	t.Run("good", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		came, ended := make(chan *registryv1.Instance, 1), make(chan error, 1)
		go func() {
			ended <- retrial.Attach(ctx, target, "next", sdk{}, retrial.OnAttached(func(in *registryv1.Instance) { came <- in }))
		}()
		select {
		case <-came:
		case err := <-ended:
			t.Fatal(err)
		}
		if r := b.tried(t); r.err != nil || !retrial.Passed(r.decision) {
			t.Errorf("tried: %v, %v", r.decision.GetSummary(), r.err) // over the connection that the cases went over
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("it was told to stop: %v", err)
		}
		b.await(t, "next", 0)
	})
}

// Nobody is admitted by fixtures that are not there.
func TestAdmitSetIsMissing(t *testing.T) {
	b := newAttachBench(t, nil, func(c *server.Config) { c.AdmitLevel, c.AdmitSet = "declared", "nowhere" })
	if err := retrial.Attach(t.Context(), b.listenHere(t), "next", sdk{}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("attached: %v", err)
	}
}

// A checker that never gets through the cases is let go of in time.
func TestAdmissionEnds(t *testing.T) {
	clock := newTestClock()
	b := newAttachBench(t, clock, func(c *server.Config) { c.AdmitLevel = "contract" })
	asked := make(chan struct{}, 1)
	address, _ := b.listen(t, "c", &own{version: "1", digest: "d", behaviour: behaviour{batch: func(s *session, _ []*checkerv1.Case) error {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-s.stream.Context().Done()
		return s.stream.Context().Err()
	}}})
	go func() {
		<-asked
		clock.pass(t, time.Hour)
	}()
	_, err := b.registry().Register(t.Context(), &registryv1.RegisterRequest{Name: "next", Address: address})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "did not get through the cases") {
		t.Errorf("registered: %v", err)
	}
}

// A server that requires a level of its own checkers serves none before it has seen them reach it.
func TestRequireLevel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	command := func(mode, level string) server.CheckerConfig {
		return server.CheckerConfig{Command: []string{os.Args[0], "sdk", mode}, Env: []string{"GORACE=atexit_sleep_ms=0"}, RequireLevel: level}
	}
	for name, c := range map[string]struct {
		checkers map[string]server.CheckerConfig
		says     []string
	}{
		"good":   {map[string]server.CheckerConfig{"next": command("", "contract"), "other": command("", "")}, nil},
		"broken": {map[string]server.CheckerConfig{"next": command("", "contract"), "dies": {Command: []string{os.Args[0], "faulty", "right", t.TempDir() + "/pids"}, RequireLevel: "contract"}}, []string{"dies", "input-no-json"}},
		"absent": {map[string]server.CheckerConfig{"next": {Command: []string{"/no/such/program"}, RequireLevel: "contract"}}, []string{"next", "no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := server.Config{Checkers: c.checkers}
			if err := config.Validate(); err != nil {
				t.Fatal(err)
			}
			store, err := fixturestore.Open(t.TempDir()+"/retrial.db", fixturestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := server.New(config, server.Parts{Store: store, Checkers: server.NewCheckers(config), Log: zap.NewNop(), Conformance: conforms})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Serve(bufconn.Listen(1)); err == nil {
				t.Error("it serves checkers that nobody has seen")
			}
			err = s.Require(t.Context())
			if (err == nil) != (c.says == nil) {
				t.Errorf("required: %v", err)
			}
			for _, w := range c.says {
				if !strings.Contains(fmt.Sprint(err), w) {
					t.Errorf("the error lacks %q: %v", w, err)
				}
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(bufconn.Listen(1)) }()
			if err != nil {
				if err := <-served; err == nil {
					t.Error("it serves")
				}
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if err == nil {
				if err := <-served; err != nil {
					t.Error(err)
				}
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What cannot be seen is not demanded.
func TestLevelsOfTheConfiguration(t *testing.T) {
	command := []string{"checker"}
	for name, c := range map[string]struct {
		config server.Config
		says   string
	}{
		"contract":                 {server.Config{AdmitLevel: "contract"}, ""},
		"determinism":              {server.Config{AdmitLevel: "determinism", AdmitSet: "s"}, ""},
		"no set":                   {server.Config{AdmitLevel: "declared"}, "admit_set: declared needs a set"},
		"a set alone":              {server.Config{AdmitSet: "s"}, "admit_set: without a level"},
		"no name of a set":         {server.Config{AdmitLevel: "declared", AdmitSet: "S S"}, "admit_set"},
		"a process":                {server.Config{AdmitLevel: "behaviour", AdmitSet: "s"}, "admit_level: behaviour shows in a process alone"},
		"no level":                 {server.Config{AdmitLevel: "best"}, `admit_level: "best" is none of contract, declared, determinism`},
		"of a command":             {server.Config{Checkers: map[string]server.CheckerConfig{"c": {Command: command, RequireLevel: "hermetic", RequireSet: "s"}}}, ""},
		"of a command without set": {server.Config{Checkers: map[string]server.CheckerConfig{"c": {Command: command, RequireLevel: "hermetic"}}}, "checkers.c.require_set: hermetic needs a set"},
		"of an address":            {server.Config{Checkers: map[string]server.CheckerConfig{"c": {Address: "unix:/c", RequireLevel: "contract"}}}, "are for a command"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.config.Validate(); (err == nil) != (c.says == "") || !strings.Contains(fmt.Sprint(err), c.says) {
				if c.says != "" || err != nil {
					t.Errorf("%v, want %q", err, c.says)
				}
			}
		})
	}
	config := server.Config{AdmitLevel: "contract"}
	store, err := fixturestore.Open(t.TempDir()+"/retrial.db", fixturestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(config, server.Parts{Store: store, Checkers: server.NewCheckers(config), Log: zap.NewNop()}); err == nil {
		t.Error("a server without the cases takes a level")
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

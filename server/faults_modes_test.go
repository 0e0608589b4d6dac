//go:build linux

package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// behaviours are the modes that shake hands in order, by name.
var behaviours = map[string]behaviour{
	// Keeping the contract in ways of their own.
	"right": {},
	"reversed-batches": {batch: func(s *session, cases []*checkerv1.Case) error {
		return s.send(backwards(cases)...)
	}},
	"at-the-end-reversed": {
		each: func(s *session, c *checkerv1.Case) error { s.kept = append(s.kept, c); return nil },
		end:  func(s *session) error { return s.send(backwards(s.kept)...) },
	},
	"empty-messages-between": {each: func(s *session, c *checkerv1.Case) error {
		return first(s.send(), s.right(c), s.send())
	}},
	"loud": {each: func(s *session, c *checkerv1.Case) error {
		fmt.Println(strings.Repeat("on stdout ", 200))
		fmt.Fprintln(os.Stderr, strings.Repeat("on stderr ", 200))
		return s.right(c)
	}},
	"grandchild": {open: func(s *session) error { s.grandchild(nil); return nil }},
	"daemon":     {open: func(s *session) error { s.grandchild(&syscall.SysProcAttr{Setsid: true}); return nil }},

	// Dying and hanging.
	"exits": except(func(*session, *checkerv1.Case) error {
		fmt.Fprintln(os.Stderr, "no more disk: \x1b[31mgiving up\x1b[0m")
		os.Exit(3)
		return nil
	}),
	"exits-with-grandchild": except(func(s *session, _ *checkerv1.Case) error {
		s.grandchild(nil)
		fmt.Fprintln(os.Stderr, "leaving a child behind")
		os.Exit(3)
		return nil
	}),
	"exits-with-daemon": except(func(s *session, _ *checkerv1.Case) error {
		s.grandchild(&syscall.SysProcAttr{Setsid: true})
		fmt.Fprintln(os.Stderr, "leaving a daemon behind")
		os.Exit(3)
		return nil
	}),
	"exits-at-the-end": {end: func(*session) error {
		os.Exit(0)
		return nil
	}},
	"killed": except(func(*session, *checkerv1.Case) error {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}),
	"reads-nothing": {open: func(*session) error { select {} }},
	"hangs":         except(func(*session, *checkerv1.Case) error { select {} }),
	"stopped": except(func(*session, *checkerv1.Case) error {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {}
	}),
	"empty-messages-for-ever": except(func(s *session, _ *checkerv1.Case) error {
		for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
			if err := s.send(); err != nil {
				return err
			}
		}
	}),
	"keeps-stream-open": {end: func(*session) error { select {} }},
	// It tells the test when it has come to a case of a stream, and goes no further.
	"waits": {each: func(s *session, c *checkerv1.Case) error {
		if fmt.Sprint(s.nth) == s.args[1] && fmt.Sprint(number(c)) == s.args[2] {
			s.tell()
			select {}
		}
		return s.right(c)
	}},
	"hangs-when-asked-again": {open: func(s *session) error {
		if s.nth == 2 {
			select {}
		}
		return nil
	}},

	// Miscounting.
	"ends-at-once": {open: func(*session) error { return errEnd }},
	"ends-early":   except(func(*session, *checkerv1.Case) error { return errEnd }),
	"skips":        except(func(*session, *checkerv1.Case) error { return nil }),
	"skips-and-waits": {
		each: except(func(*session, *checkerv1.Case) error { return nil }).each,
		end:  func(*session) error { select {} },
	},
	"twice-in-a-message": except(func(s *session, c *checkerv1.Case) error {
		return s.send(outcome(c, right(marked)), outcome(c, right(marked)))
	}),
	"twice": except(func(s *session, c *checkerv1.Case) error {
		return first(s.right(c), s.right(c))
	}),
	"unknown-id": except(func(s *session, c *checkerv1.Case) error {
		c.CaseId += 2
		return s.right(c)
	}),
	"future-id": except(func(s *session, c *checkerv1.Case) error {
		c.CaseId += 1 << 20
		return s.right(c)
	}),
	"zero-id": except(func(s *session, c *checkerv1.Case) error {
		c.CaseId = 0
		return s.right(c)
	}),

	// Answering what is no outcome.
	"unknown-verdict": instead(func(o *checkerv1.Outcome) { o.Verdict = "maybe" }),
	"no-verdict":      instead(func(o *checkerv1.Outcome) { o.Verdict = "" }),
	"no-reason":       instead(func(o *checkerv1.Outcome) { o.ReasonCode = "" }),
	"unknown-reason":  instead(func(o *checkerv1.Outcome) { o.ReasonCode = "mood" }),
	"rude-reason":     instead(func(o *checkerv1.Outcome) { o.ReasonCode = "\x1b[2J\u202espam" }),
	"huge-reason":     instead(func(o *checkerv1.Outcome) { o.ReasonCode = strings.Repeat("r", 5<<20) }),
	"huge-output":     instead(func(o *checkerv1.Outcome) { o.Output = hugeJSON(5 << 20) }),
	"bad-output":      instead(func(o *checkerv1.Outcome) { o.Output = []byte(`{"a":1,"a":2}`) }),
	"neither": except(func(s *session, c *checkerv1.Case) error {
		return s.send(&checkerv1.Result{CaseId: c.GetCaseId()})
	}),
	"rude-error": except(func(s *session, c *checkerv1.Case) error {
		e := &checkerv1.CaseError{Message: "\x1b]0;title\a" + strings.Repeat("e", 3<<20)}
		return s.send(&checkerv1.Result{CaseId: c.GetCaseId(), Answer: &checkerv1.Result_Error{Error: e}})
	}),
	"many-large-outputs": {each: func(s *session, c *checkerv1.Case) error {
		o := right(number(c))
		o.Output = hugeJSON(2 * messageBytes / plainCount)
		return s.send(outcome(c, o))
	}},

	// Deciding by something else than the case.
	"random": {each: func(s *session, c *checkerv1.Case) error {
		return s.send(outcome(c, right(rand.IntN(plainCount))))
	}},
	"clock": {each: func(s *session, c *checkerv1.Case) error {
		return s.send(outcome(c, []*checkerv1.Outcome{right(0), right(3)}[time.Now().Nanosecond()%2]))
	}},
	// It answers by a counter what stands in the set at that place: right, as long as it is asked in order.
	"order": {each: func(s *session, c *checkerv1.Case) error {
		return s.send(outcome(c, right(s.asked)))
	}},
	"other-mind-when-asked-again": {each: func(s *session, c *checkerv1.Case) error {
		if s.nth == 2 && number(c) == marked {
			return s.send(outcome(c, right(3)))
		}
		return s.right(c)
	}},
	"error-when-asked-again": {each: func(s *session, c *checkerv1.Case) error {
		if s.nth == 2 && number(c) == marked {
			return s.send(&checkerv1.Result{CaseId: c.GetCaseId(), Answer: &checkerv1.Result_Error{Error: &checkerv1.CaseError{Message: "out of memory"}}})
		}
		return s.right(c)
	}},

	// Breaking the protocol below.
	"garbage":      except(func(s *session, _ *checkerv1.Case) error { return s.stream.SendMsg(raw("\xff\xff\xff\xff no message")) }),
	"huge-message": except(func(s *session, _ *checkerv1.Case) error { return s.stream.SendMsg(raw(make([]byte, 17<<20))) }),
	"many-results": except(func(s *session, _ *checkerv1.Case) error {
		return s.stream.SendMsg(raw(strings.Repeat("\x0a\x00", 7<<20)))
	}),
	"rude-status": except(func(*session, *checkerv1.Case) error {
		return status.Error(codes.Internal, "\x1b[2J"+strings.Repeat("s", 3000))
	}),
	"huge-status": except(func(*session, *checkerv1.Case) error {
		return status.Error(codes.Internal, strings.Repeat("s", 3<<20))
	}),
	"huge-header": {open: func(s *session) error {
		return s.stream.SendHeader(metadata.Pairs("say", strings.Repeat("h", 12<<20)))
	}},
	"huge-trailer": {end: func(s *session) error {
		s.stream.SetTrailer(metadata.Pairs("say", strings.Repeat("t", 12<<20)))
		return nil
	}},
	"cancelled-status": except(func(*session, *checkerv1.Case) error {
		return status.Error(codes.Canceled, "the checker says that somebody cancelled")
	}),
	"deadline-status": except(func(*session, *checkerv1.Case) error {
		return status.Error(codes.DeadlineExceeded, "the checker says that time is over")
	}),

	// Stubs.
	"claims-stub": except(func(s *session, c *checkerv1.Case) error {
		r := outcome(c, right(marked))
		r.StubsUsed = append(r.StubsUsed, "oracle")
		return s.send(r)
	}),
	"missing-stub": except(func(s *session, c *checkerv1.Case) error {
		e := &checkerv1.CaseError{Code: checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, Message: "no stub", Call: "oracle"}
		return s.send(&checkerv1.Result{CaseId: c.GetCaseId(), Answer: &checkerv1.Result_Error{Error: e}})
	}),
	"uses-no-stub": {each: func(s *session, c *checkerv1.Case) error {
		r := outcome(c, right(number(c)))
		r.StubsUsed = nil
		return s.send(r)
	}},

	// Describing itself in breach of the contract.
	"describe-hangs":    {silent: true},
	"no-name":           {describe: func(d *checkerv1.DescribeResponse) { d.Name = "" }},
	"no-version":        {describe: func(d *checkerv1.DescribeResponse) { d.Version = "" }},
	"contract-9":        {describe: func(d *checkerv1.DescribeResponse) { d.ContractVersion = 9 }},
	"rude-name":         {describe: func(d *checkerv1.DescribeResponse) { d.Name = "nice\x1b[2J\nname" }},
	"huge-name":         {describe: func(d *checkerv1.DescribeResponse) { d.Name = strings.Repeat("n", 1<<20) }},
	"untyped-parameter": {describe: func(d *checkerv1.DescribeResponse) { d.Parameters = []*checkerv1.Parameter{{Name: "limit"}} }},
	"bad-default": {describe: func(d *checkerv1.DescribeResponse) {
		d.Parameters = []*checkerv1.Parameter{{Name: "limit", Type: checkerv1.ParameterType_PARAMETER_TYPE_INTEGER, DefaultJson: []byte(`"ten"`)}}
	}},
	"same-parameter-twice": {describe: func(d *checkerv1.DescribeResponse) {
		p := &checkerv1.Parameter{Name: "limit", Type: checkerv1.ParameterType_PARAMETER_TYPE_INTEGER, DefaultJson: []byte("1")}
		d.Parameters = []*checkerv1.Parameter{p, p}
	}},
	"huge-description": {describe: func(d *checkerv1.DescribeResponse) { d.ReasonCodes = []string{strings.Repeat("r", 17<<20)} }},
	"mandatory-parameter": {describe: func(d *checkerv1.DescribeResponse) {
		d.Parameters = []*checkerv1.Parameter{{Name: "limit", Type: checkerv1.ParameterType_PARAMETER_TYPE_INTEGER}}
	}},
	"many-reasons": {
		describe: func(d *checkerv1.DescribeResponse) {
			for i := range 5000 {
				d.ReasonCodes = append(d.ReasonCodes, fmt.Sprintf("reason-%d", i))
			}
		},
		each: instead(func(o *checkerv1.Outcome) { o.ReasonCode = "spam" }).each,
	},
}

func backwards(cases []*checkerv1.Case) []*checkerv1.Result {
	var out []*checkerv1.Result
	for _, c := range slices.Backward(cases) {
		out = append(out, outcome(c, right(number(c))))
	}
	return out
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func hugeJSON(n int) []byte { return fmt.Appendf(nil, "%q", strings.Repeat("j", n)) }

// grandchild starts a process that holds stdout and stderr and ignores every signal that can be ignored.
func (s *session) grandchild(attr *syscall.SysProcAttr) {
	cmd := exec.Command(os.Args[0], "faulty", "sleeper", s.pids)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	s.note(cmd.Process.Pid)
}

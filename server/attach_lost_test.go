//go:build linux

package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

// fuse is what the first instance does that is asked the marked case in a stream of theirs; the others decide it.
type fuse struct {
	stream int64
	once   sync.Once
	blown  *own // who it was
}

// instance makes a checker that flips every fiftieth case, and does what the fuse is for.
func (f *fuse) instance(blow func(*own, *session) error) *own {
	o := &own{version: "1", digest: "sha256:1"}
	o.each = func(s *session, c *checkerv1.Case) (err error) {
		if number(c) == marked && (f.stream == 0 || s.nth == f.stream) {
			mine := false
			f.once.Do(func() { mine, f.blown = true, o })
			if mine {
				return blow(o, s)
			}
		}
		if number(c)%50 == 0 {
			return s.send(outcome(c, right(3)))
		}
		return s.right(c)
	}
	return o
}

// vanishes breaks the connection off, and answers no more.
func vanishes(o *own, s *session) error {
	_ = o.conn.Close()
	<-s.stream.Context().Done()
	return s.stream.Context().Err()
}

// The only instance of a name that is lost in a run blocks it, in whichever pass.
func TestOnlyInstanceIsLost(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	for stream := range int64(2) {
		t.Run(fmt.Sprintf("stream-%d", stream+1), func(t *testing.T) {
			o := (&fuse{stream: stream + 1}).instance(vanishes)
			b.attach(t, "next", o)
			r := b.tried(t)
			b.checkNoPass(t, plainSet, r)
			found := r.decision.GetFindings()
			if last := found[len(found)-1]; last.GetCode() != "CHECKER_FAILED" || !strings.Contains(last.GetMessage(), "cases in flight") {
				t.Errorf("findings: %v", codesOf(found))
			}
			_ = o.wait(t)
			b.await(t, "next", 0)
		})
	}
}

// Of two instances one is lost in a run: the other one is asked what it had not answered, once, the run says so, and the decision is
// that of a run without the loss.
func TestOneOfTwoInstancesIsLost(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	whole := (&fuse{stream: -1}).instance(nil)
	b.attach(t, "next", whole)
	alone := b.tried(t)
	whole.vanish(t)
	b.await(t, "next", 0)
	for stream := range int64(2) {
		t.Run(fmt.Sprintf("stream-%d", stream+1), func(t *testing.T) {
			f := &fuse{stream: stream + 1}
			ids := map[*own]string{}
			for range 2 {
				o := f.instance(vanishes)
				ids[o] = b.attach(t, "next", o).GetInstanceId()
				defer o.vanish(t)
			}
			r := b.tried(t)
			checkSameDecision(t, alone, r)
			lost := withCode(r.findings, "INSTANCE_LOST")
			if len(lost) != 1 || len(withCode(r.decision.GetFindings(), "INSTANCE_LOST")) != 1 {
				t.Fatalf("the stream says %v, the decision %v", codesOf(r.findings), codesOf(r.decision.GetFindings()))
			}
			l := lost[0]
			if l.GetSeverity() != gatev1.Severity_SEVERITY_WARNING || l.GetSubject() != ids[f.blown] {
				t.Errorf("lost: %v, of %v", l, ids)
			}
			for o, id := range ids {
				if o != f.blown {
					checkSays(t, []string{l.GetMessage()}, []string{"candidate", "cases that it had not answered were given to instance " + id})
				}
			}
			b.await(t, "next", 1)
		})
	}
}

// What is no loss of the connection is the checker's fault, however many instances there are.
func TestWhatIsNoLossIsNotHandedOver(t *testing.T) {
	for name, f := range map[string]struct {
		blow func(*own, *session) error
		code string
		says string
	}{
		"says-unavailable": {func(*own, *session) error { return status.Error(codes.Unavailable, "error reading from server: EOF") }, "CHECKER_FAILED", "instance i-"},
		"ends-the-stream":  {func(*own, *session) error { return errEnd }, "ANSWER_MISSING", "ended its stream without an answer"},
		"unknown-case": {func(_ *own, s *session) error {
			return s.send(&checkerv1.Result{CaseId: 12345, Answer: &checkerv1.Result_Outcome{Outcome: right(1)}})
		}, "CHECKER_PROTOCOL", "it answered case 12345"},
		"garbage": {func(_ *own, s *session) error { return s.stream.SendMsg(raw("\xff\xff\xff\xff no message")) }, "CHECKER_PROTOCOL", "instance i-"},
		"no-grpc": {func(o *own, s *session) error {
			o.inTunnel([]byte(strings.Repeat("no frame of HTTP/2 ", 100)))
			<-s.stream.Context().Done()
			return nil
		}, "CHECKER_FAILED", "instance i-"},
		"oversized-part": {func(o *own, s *session) error {
			o.inTunnel(make([]byte, 1<<20))
			<-s.stream.Context().Done()
			return nil
		}, "CHECKER_PROTOCOL", "over the limit of 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newAttachBench(t, nil, nil)
			fuse := &fuse{}
			for range 2 {
				b.attachRaw(t, "next", fuse.instance(f.blow))
			}
			r := b.tried(t)
			b.checkNoPass(t, plainSet, r)
			if r.err != nil || len(withCode(r.findings, "INSTANCE_LOST")) > 0 || len(withCode(r.findings, f.code)) == 0 {
				t.Fatalf("findings %v, %v", codesOf(r.findings), r.err)
			}
			checkSays(t, []string{withCode(r.findings, f.code)[0].GetMessage()}, []string{f.says})
		})
	}
}

// An instance that answers what the other one was asked is to blame, and its answer does not count.
func TestInstanceAnswersForAnother(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	overheard := make(chan uint64, 1)
	var who atomic.Int64
	instance := func() *own {
		me := who.Add(1)
		o := &own{version: "1", digest: "sha256:1"}
		var first sync.Once
		o.each = func(s *session, c *checkerv1.Case) error {
			begins := false
			first.Do(func() { begins = true })
			switch {
			case begins && me == 1:
				overheard <- c.GetCaseId()
				return nil // leave it to the other one
			case begins:
				select {
				case id := <-overheard:
					return s.send(&checkerv1.Result{CaseId: id, Answer: &checkerv1.Result_Outcome{Outcome: right(0)}})
				case <-s.stream.Context().Done():
					return s.stream.Context().Err()
				}
			}
			return s.right(c)
		}
		return o
	}
	for range 2 {
		b.attach(t, "next", instance())
	}
	r := b.tried(t)
	b.checkNoPass(t, plainSet, r)
	found := withCode(r.findings, "CHECKER_PROTOCOL")
	if len(found) != 1 {
		t.Fatalf("findings: %v", r.findings)
	}
	checkSays(t, []string{found[0].GetMessage()}, []string{"never asked or has answered before"})
}

// A process that attaches by the Go SDK, without a port, is tried; where it exits, the run is blocked.
func TestAttachedProcessExits(t *testing.T) {
	b := newAttachBench(t, nil, nil)
	target := b.listenHere(t)
	cmd := exec.Command(os.Args[0], "faulty", "sdk-exits", b.pids("attached"))
	cmd.Env = append(os.Environ(), "RETRIAL_ATTACH="+target, "RETRIAL_ATTACH_NAME=next", "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.await(t, "next", 1)
	r := b.tried(t)
	b.checkNoPass(t, plainSet, r)
	if len(withCode(r.findings, "CHECKER_FAILED")) != 1 {
		t.Errorf("findings: %v, %v", r.findings, r.err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the checker did not fail")
	}
	b.await(t, "next", 0)
}

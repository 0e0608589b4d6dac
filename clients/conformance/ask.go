package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/server/checkerhost"
)

// plan is one stream of cases.
type plan struct {
	host       *checkerhost.Host
	parameters map[string][]byte // instead of the target's
	batches    [][]*checkerv1.Case
	onePerTurn bool // wait for a batch's answers before the next is sent
}

// callOptions let answers be as large as a host lets them.
func callOptions() []grpc.CallOption {
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(16 << 20), grpc.MaxCallSendMsgSize(32 << 20)}
}

// open opens a stream and sends its first request.
func (r *runner) open(ctx context.Context, h *checkerhost.Host, parameters map[string][]byte) (checkerv1.CheckerService_CheckClient, error) {
	if parameters == nil {
		parameters = r.parameters(h)
	}
	s, err := checkerv1.NewCheckerServiceClient(h.Conn()).Check(ctx, callOptions()...)
	if err != nil {
		return nil, err
	}
	return s, s.Send(&checkerv1.CheckRequest{Open: &checkerv1.Open{Parameters: parameters}})
}

// parameters gives every declared parameter its value.
func (r *runner) parameters(h *checkerhost.Host) map[string][]byte {
	out := map[string][]byte{}
	for _, p := range h.Description().GetParameters() {
		if v, ok := r.t.Parameters[p.GetName()]; ok {
			out[p.GetName()] = []byte(v)
		} else if p.DefaultJson != nil {
			out[p.GetName()] = p.GetDefaultJson()
		}
	}
	return out
}

// ask runs a plan to its end, and holds that every case is answered exactly once, by something that is an answer.
func (r *runner) ask(ctx context.Context, p plan) (map[uint64]*checkerv1.Result, error) {
	if p.host == nil {
		p.host = r.main
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := r.open(ctx, p.host, p.parameters)
	if err != nil {
		return nil, err
	}
	turns := make(chan struct{}, len(p.batches)+1)
	sent := make(chan error, 1)
	go func() {
		for _, b := range p.batches {
			if err := s.Send(&checkerv1.CheckRequest{Cases: b}); err != nil {
				sent <- ignoreEOF(err)
				return
			}
			if p.onePerTurn {
				select {
				case <-turns:
				case <-ctx.Done():
					sent <- ctx.Err()
					return
				}
			}
		}
		sent <- s.CloseSend()
	}()
	out, err := receive(s, p, turns)
	cancel()
	return out, errors.Join(err, ignoreCancelled(<-sent))
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil // Recv says why
	}
	return err
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// receive takes answers up to the end of the stream.
func receive(s checkerv1.CheckerService_CheckClient, p plan, turns chan<- struct{}) (map[uint64]*checkerv1.Result, error) {
	asked, left := map[uint64]int{}, make([]int, len(p.batches))
	for i, b := range p.batches {
		left[i] = len(b)
		for _, c := range b {
			asked[c.GetCaseId()] = i
		}
	}
	out := map[uint64]*checkerv1.Result{}
	for {
		res, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, fmt.Errorf("the stream ended after %d of %d answers: %w", len(out), len(asked), err)
		}
		for _, one := range res.GetResults() {
			batch, known := asked[one.GetCaseId()]
			switch {
			case !known:
				return out, fmt.Errorf("case %d was answered, and never asked", one.GetCaseId())
			case out[one.GetCaseId()] != nil:
				return out, fmt.Errorf("case %d was answered twice", one.GetCaseId())
			}
			if err := wellFormed(one); err != nil {
				return out, fmt.Errorf("case %d: %w", one.GetCaseId(), err)
			}
			out[one.GetCaseId()] = one
			if left[batch]--; left[batch] == 0 {
				turns <- struct{}{}
			}
		}
	}
	if len(out) != len(asked) {
		return out, fmt.Errorf("%d of %d cases were answered before the stream ended", len(out), len(asked))
	}
	return out, nil
}

// maxMessage bounds what a checker says about one case, in bytes.
const maxMessage = 64 << 10

// wellFormed says why a result is no answer, or nil.
func wellFormed(res *checkerv1.Result) error {
	for i, call := range res.GetStubsUsed() {
		if slices.Contains(res.GetStubsUsed()[:i], call) {
			return fmt.Errorf("stub %q is reported twice", call)
		}
	}
	switch a := res.GetAnswer().(type) {
	case *checkerv1.Result_Outcome:
		o := a.Outcome
		switch {
		case o.GetVerdict() == "":
			return errors.New("an outcome without a verdict")
		case !clean(o.GetVerdict()) || !clean(o.GetReasonCode()):
			return fmt.Errorf("verdict %q or reason code %q has control characters", o.GetVerdict(), o.GetReasonCode())
		case o.Output != nil && !json.Valid(o.GetOutput()):
			return errors.New("its output is no JSON")
		}
	case *checkerv1.Result_Error:
		if a.Error.GetMessage() == "" {
			return errors.New("an error without a message")
		}
		if len(a.Error.GetMessage()) > maxMessage {
			return fmt.Errorf("an error message of %d bytes", len(a.Error.GetMessage()))
		}
	default:
		return errors.New("neither an outcome nor an error")
	}
	return nil
}

func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// shown gives an answer as two of them are compared.
func shown(res *checkerv1.Result) string {
	used := slices.Sorted(slices.Values(res.GetStubsUsed()))
	if o := res.GetOutcome(); o != nil {
		var doc bytes.Buffer
		if o.Output != nil {
			_ = json.Compact(&doc, o.GetOutput()) // it is valid
		}
		return fmt.Sprintf("%s/%s %s, stubs %q", o.GetVerdict(), o.GetReasonCode(), doc.String(), used)
	}
	return fmt.Sprintf("%s of call %q, stubs %q", res.GetError().GetCode(), res.GetError().GetCall(), used)
}

// samples makes cases of the target's samples, at most n, again from the first where there are fewer. Ids count from first.
func (r *runner) samples(n int, first uint64) []*checkerv1.Case {
	out := make([]*checkerv1.Case, n)
	for i := range out {
		s := r.t.Samples[i%len(r.t.Samples)]
		out[i] = &checkerv1.Case{CaseId: first + uint64(i), Input: s.Input, Stubs: s.Stubs}
	}
	return out
}

// some is how many samples a comparison asks: all of a small set.
func (r *runner) some() int { return min(len(r.t.Samples), 300) }

// chunks cuts cases into batches of a size.
func chunks(cases []*checkerv1.Case, size int) [][]*checkerv1.Case {
	return slices.Collect(slices.Chunk(cases, size))
}

// one asks a single case, which must be answered.
func (r *runner) one(ctx context.Context, c *checkerv1.Case) error {
	_, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{{c}}})
	return err
}

// alike holds that two sets of answers are the same; key gives the id that a case had in the second.
func alike(a, b map[uint64]*checkerv1.Result, key func(uint64) uint64, what string) error {
	for id, x := range a {
		if y := b[key(id)]; shown(x) != shown(y) {
			return fmt.Errorf("case %d was answered %s, and %s %s", id, shown(x), what, shown(y))
		}
	}
	return nil
}

func sameID(id uint64) uint64 { return id }

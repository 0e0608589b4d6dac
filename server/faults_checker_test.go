//go:build linux

package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/server/wire"
)

// process is a faulty checker's view of itself.
type process struct {
	mode string
	pids string // the file that it notes its process id in
	args []string
}

// faulty is the main function of a faulty checker. Modes of the handshake come first, then those of the Go SDK, then
// those that keep to the contract until they are asked.
func faulty(p process) int {
	p.note(os.Getpid())
	if start, ok := starts[p.mode]; ok {
		return start(p)
	}
	if check, ok := sdkModes[p.mode]; ok {
		return serveSDK(p.mode, check)
	}
	b, ok := behaviours[p.mode]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no mode %q\n", p.mode)
		return 2
	}
	l, err := p.listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	shakeHands(l.Addr().String())
	return serveRaw(p, l, b)
}

func (p process) note(pid int) {
	f, err := os.OpenFile(p.pids, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, pid)
	}
	if err != nil {
		panic(err)
	}
	_ = f.Close()
}

// listen opens a socket in the directory that the host gave.
func (p process) listen() (net.Listener, error) {
	return net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
}

// shakeHands says where the checker listens, as hashicorp/go-plugin does.
func shakeHands(path string) { fmt.Printf("1|1|unix|%s|grpc\n", path) }

func serveRaw(p process, l net.Listener, b behaviour) int {
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}), grpc.MaxRecvMsgSize(64<<20))
	checkerv1.RegisterCheckerServiceServer(s, &faultyService{name: p.mode, process: p, behaviour: b})
	if err := s.Serve(l); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// raw is a message whose bytes are sent as they are.
type raw []byte

type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// behaviour is what a checker does over the raw contract. What is nil is done right: each case is answered on its own, as
// soon as it is read, and the stream is ended in order.
type behaviour struct {
	describe func(*checkerv1.DescribeResponse)
	silent   bool // never answers Describe
	open     func(*session) error
	batch    func(*session, []*checkerv1.Case) error
	each     func(*session, *checkerv1.Case) error
	end      func(*session) error
}

// faultyService is the contract with a behaviour.
type faultyService struct {
	checkerv1.UnimplementedCheckerServiceServer
	process
	behaviour
	name    string
	streams atomic.Int64
}

// Describe implements the contract.
func (f *faultyService) Describe(ctx context.Context, _ *checkerv1.DescribeRequest) (*checkerv1.DescribeResponse, error) {
	if f.silent {
		<-ctx.Done()
		select {}
	}
	d := &checkerv1.DescribeResponse{Name: f.name, Version: "1", ContractVersion: wire.ContractVersion}
	if f.describe != nil {
		f.describe(d)
	}
	return d, nil
}

// session is one stream of cases.
type session struct {
	process
	stream checkerService_Check
	// nth counts the streams of this process from 1: the candidate's second one is the probe.
	nth   int64
	asked int // cases so far
	kept  []*checkerv1.Case
}

type checkerService_Check = grpc.BidiStreamingServer[checkerv1.CheckRequest, checkerv1.CheckResponse]

// Check implements the contract.
func (f *faultyService) Check(stream checkerService_Check) error {
	s := &session{process: f.process, stream: stream, nth: f.streams.Add(1)}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if f.open != nil {
		if err := f.open(s); err != nil {
			return ended(err)
		}
	}
	for {
		in, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && f.end != nil:
			return f.end(s)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := f.answer(s, in.GetCases()); err != nil {
			return ended(err)
		}
	}
}

func (f *faultyService) answer(s *session, cases []*checkerv1.Case) error {
	if f.batch != nil {
		return f.batch(s, cases)
	}
	for _, c := range cases {
		do := (*session).right
		if f.each != nil {
			do = f.each
		}
		if err := do(s, c); err != nil {
			return err
		}
		s.asked++
	}
	return nil
}

// errEnd ends a stream with OK.
var errEnd = errors.New("the stream is to end")

func ended(err error) error {
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

// number gives the member "n" of a case's input.
func number(c *checkerv1.Case) int {
	var in struct{ N int }
	if err := json.Unmarshal(c.GetInput(), &in); err != nil {
		panic(err)
	}
	return in.N
}

func outcome(c *checkerv1.Case, o *checkerv1.Outcome) *checkerv1.Result {
	r := &checkerv1.Result{CaseId: c.GetCaseId(), Answer: &checkerv1.Result_Outcome{Outcome: o}}
	for _, s := range c.GetStubs() {
		r.StubsUsed = append(r.StubsUsed, s.GetCall())
	}
	return r
}

func (s *session) send(results ...*checkerv1.Result) error {
	return s.stream.Send(&checkerv1.CheckResponse{Results: results})
}

// right answers a case as its fixture records it.
func (s *session) right(c *checkerv1.Case) error { return s.send(outcome(c, right(number(c)))) }

// except answers every case right but the marked one.
func except(do func(*session, *checkerv1.Case) error) behaviour {
	return behaviour{each: func(s *session, c *checkerv1.Case) error {
		if number(c) == marked {
			return do(s, c)
		}
		return s.right(c)
	}}
}

// instead gives the marked case another outcome than its own.
func instead(change func(*checkerv1.Outcome)) behaviour {
	return except(func(s *session, c *checkerv1.Case) error {
		o := right(marked)
		change(o)
		return s.send(outcome(c, o))
	})
}

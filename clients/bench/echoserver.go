package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/server/wire"
)

const (
	rolePlain = "bench-plain"
	roleRaw   = "bench-raw"
)

// transport is what the product sets on both ends of its streams: the bare ones are not to lose by smaller windows.
func transport() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(32 << 20), grpc.MaxSendMsgSize(32 << 20), grpc.InitialWindowSize(4 << 20), grpc.InitialConnWindowSize(8 << 20),
		grpc.ReadBufferSize(64 << 10), grpc.WriteBufferSize(64 << 10),
	}
}

func listen(socket string, s *grpc.Server) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, s.Stop)
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err == nil {
		err = s.Serve(l)
	}
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// plain is the service as a Go program has it that knows nothing but the generated code.
type plain struct {
	checkerv1.UnimplementedCheckerServiceServer
}

// servePlain is the role rolePlain: SOCKET.
func servePlain(args []string) int {
	s := grpc.NewServer(transport()...)
	checkerv1.RegisterCheckerServiceServer(s, plain{})
	return listen(args[0], s)
}

// Check implements the contract. It does not look at the inputs.
func (plain) Check(stream grpc.BidiStreamingServer[checkerv1.CheckRequest, checkerv1.CheckResponse]) error {
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(in.GetCases()) == 0 {
			continue // the opening
		}
		out := &checkerv1.CheckResponse{Results: make([]*checkerv1.Result, len(in.GetCases()))}
		for i, c := range in.GetCases() {
			out.Results[i] = answerTo(c.GetCaseId())
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

func answerTo(id uint64) *checkerv1.Result {
	return &checkerv1.Result{CaseId: id, Answer: &checkerv1.Result_Outcome{Outcome: &checkerv1.Outcome{Verdict: promoted, ReasonCode: fresh}}}
}

// serveRaw is the role roleRaw: SOCKET CASES. It takes every message for a batch of so many cases and answers it with
// the same bytes, so that nothing is left but gRPC.
func serveRaw(args []string) int {
	cases, err := strconv.Atoi(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out := &checkerv1.CheckResponse{}
	for i := range cases {
		out.Results = append(out.Results, answerTo(caseID(i)))
	}
	answer, err := proto.Marshal(out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return listen(args[0], grpc.NewServer(append(transport(), grpc.ForceServerCodecV2(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var in received
		for opened := false; ; opened = true {
			err := stream.RecvMsg(&in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && opened {
				err = stream.SendMsg(ready(answer))
			}
			if err != nil {
				return err
			}
		}
	}))...))
}

// ready is a message that was encoded before. received is one that is thrown away; where count is set, its fields are
// counted first.
type (
	ready    []byte
	received struct {
		count  bool
		fields int
	}
)

// rawCodec passes bytes on.
type rawCodec struct{}

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(ready)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*received)
	if !ok {
		return fmt.Errorf("cannot receive a %T", v)
	}
	in.fields = 0
	if !in.count {
		return nil
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	w := wire.Over(buf.ReadOnlyData())
	for w.Next() {
		in.fields++
	}
	return w.Err
}

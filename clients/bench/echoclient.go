package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/clients/retrial"
	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

const (
	batchCases = 512 // what a replay settles at with a checker that is fast
	inFlight   = 8   // batches that are sent and not answered
)

// traffic is what a bare client sends: batches that were encoded before.
type traffic struct {
	open    ready
	batches []ready
	cases   int
	bytes   int // of batches
	// documents are the bytes of the fixtures, with what no checker is sent.
	documents int
}

// caseID gives ids that are as long on the wire as those of a replay.
func caseID(i int) uint64 { return (uint64(i) | 1<<63) * 0x9E3779B97F4A7C15 }

// caseIndex gives the i of an id; something absurd for an id that caseID never gave.
func caseIndex(id uint64) uint64 { return id*0xF1DE83E19937733D ^ 1<<63 }

func encode(n int) (*traffic, error) {
	t := &traffic{cases: n}
	var err error
	if t.open, err = proto.Marshal(&checkerv1.CheckRequest{Open: &checkerv1.Open{}}); err != nil {
		return nil, err
	}
	batch := &checkerv1.CheckRequest{}
	for i := range n {
		f, err := decode(i, n)
		if err != nil {
			return nil, err
		}
		t.documents += len(f.Canonical())
		batch.Cases = append(batch.Cases, &checkerv1.Case{CaseId: caseID(i), Input: f.AppendInput(nil)})
		if len(batch.Cases) < batchCases && i+1 < n {
			continue
		}
		b, err := proto.Marshal(batch)
		if err != nil {
			return nil, err
		}
		t.batches = append(t.batches, b)
		t.bytes += len(b)
		batch.Cases = batch.Cases[:0]
	}
	return t, nil
}

// pair is two server processes of one kind.
type pair struct {
	conns [2]*grpc.ClientConn
	stops [2]func() error
}

// pair starts two servers by a role of this program.
func (b *bench) pair(ctx context.Context, role string, args ...string) (*pair, error) {
	p := &pair{}
	for i := range p.conns {
		socket := filepath.Join(b.dir, fmt.Sprintf("%s-%d", role, i))
		cmd := command(ctx, b.self, append([]string{role, socket}, args...)...)
		if role == roleChecker {
			cmd.Args = cmd.Args[:2]
			cmd.Env = append(cmd.Environ(), retrial.ListenVariable+"=unix:"+socket)
		}
		var err error
		if p.stops[i], err = start(cmd); err != nil {
			return p, err
		}
		if p.conns[i], err = dial("unix:" + socket); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *pair) close() (errs []error) {
	for i := range p.conns {
		if p.conns[i] != nil {
			errs = append(errs, p.conns[i].Close())
		}
		if p.stops[i] != nil {
			errs = append(errs, p.stops[i]())
		}
	}
	return errs
}

func dial(target string) (*grpc.ClientConn, error) {
	return grpc.NewClient(target,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(32<<20), grpc.WaitForReady(true)),
		grpc.WithInitialWindowSize(4<<20), grpc.WithInitialConnWindowSize(8<<20), grpc.WithReadBufferSize(64<<10), grpc.WithWriteBufferSize(64<<10))
}

// alone sends all traffic to one of two servers, and gives the cases a second.
func (p *pair) alone(ctx context.Context, t *traffic) (float64, error) {
	start := time.Now()
	err := t.echo(ctx, p.conns[0])
	return float64(t.cases) / time.Since(start).Seconds(), err
}

// both sends all traffic to each of two servers at the same time, and gives the cases a second of both together.
func (p *pair) both(ctx context.Context, t *traffic) (float64, error) {
	start := time.Now()
	errs := make([]error, len(p.conns))
	var wg sync.WaitGroup
	for i, conn := range p.conns {
		wg.Go(func() { errs[i] = t.echo(ctx, conn) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(2*t.cases) / time.Since(start).Seconds(), nil
}

// echo sends all batches over one stream, as fast as inFlight allows, and takes the answers.
func (t *traffic) echo(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s, err := conn.NewStream(ctx, &checkerv1.CheckerService_ServiceDesc.Streams[0], checkerv1.CheckerService_Check_FullMethodName, grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		return err
	}
	room := make(chan struct{}, inFlight)
	sent := make(chan error, 1)
	go func() {
		err := s.SendMsg(t.open)
		for _, b := range t.batches {
			if err != nil {
				break
			}
			select {
			case room <- struct{}{}:
				err = s.SendMsg(b)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err == nil {
			err = s.CloseSend()
		}
		sent <- err
	}()
	answers := 0
	for in := (received{count: true}); ; {
		err := s.RecvMsg(&in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		// A checker may answer a batch in parts: what counts is every case.
		for before := answers / batchCases; before < (answers+in.fields)/batchCases; before++ {
			<-room
		}
		answers += in.fields
	}
	if answers < t.cases {
		return fmt.Errorf("%d of %d cases were answered", answers, t.cases)
	}
	return <-sent
}

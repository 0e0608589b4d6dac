package retrial_test

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// scripted is a service that sends what a test tells it to.
type scripted struct {
	replayv1.UnimplementedReplayServiceServer
	events []*replayv1.ReplayResponse
	err    error
}

func (s *scripted) Replay(_ *replayv1.ReplayRequest, stream grpc.ServerStreamingServer[replayv1.ReplayResponse]) error {
	for _, e := range s.events {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	return s.err
}

// WatchReplay sends the same events as Replay.
func (s *scripted) WatchReplay(_ *replayv1.WatchReplayRequest, stream grpc.ServerStreamingServer[replayv1.WatchReplayResponse]) error {
	for _, e := range s.events {
		w := &replayv1.WatchReplayResponse{}
		switch e := e.GetEvent().(type) {
		case *replayv1.ReplayResponse_Started:
			w.Event = &replayv1.WatchReplayResponse_Started{Started: e.Started}
		case *replayv1.ReplayResponse_Finding:
			w.Event = &replayv1.WatchReplayResponse_Finding{Finding: e.Finding}
		case *replayv1.ReplayResponse_Decision:
			w.Event = &replayv1.WatchReplayResponse_Decision{Decision: e.Decision}
		}
		if err := stream.Send(w); err != nil {
			return err
		}
	}
	return s.err
}

func serve(t *testing.T, register func(*grpc.Server), opts ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(opts...)
	register(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := conn.Close()
		s.Stop()
		if err := errors.Join(err, <-done); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func started(id string, n uint64) *replayv1.ReplayResponse {
	return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Started{Started: &replayv1.Started{ReplayId: id, HermeticCount: n}}}
}

func decided(d *gatev1.Decision) *replayv1.ReplayResponse {
	return &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Decision{Decision: d}}
}

func pass(id string, n uint64) *gatev1.Decision {
	return &gatev1.Decision{ReplayId: id, Ruling: gatev1.Ruling_RULING_PASS, Expected: n, Confirmed: n, Evaluated: n}
}

var aFinding = &replayv1.ReplayResponse{Event: &replayv1.ReplayResponse_Finding{Finding: &gatev1.Finding{Code: "FLIP"}}}

// R29: whatever a stream lacks or has too much of, without a sound decision there is none, and that is a block.
func TestStreamContract(t *testing.T) {
	type events = []*replayv1.ReplayResponse
	short := pass("r", 9)
	short.Evaluated = 8
	excused := func(confirmed, excused uint64) *replayv1.ReplayResponse {
		d := pass("r", 9)
		d.Confirmed, d.Excused = confirmed, excused
		return decided(d)
	}
	for _, tt := range []struct {
		name   string
		events events
		err    error
		want   string // "" for a decision
	}{
		{"in order", events{started("r", 9), aFinding, decided(pass("r", 9))}, nil, ""},
		{"a block", events{started("r", 9), decided(&gatev1.Decision{ReplayId: "r", Ruling: gatev1.Ruling_RULING_BLOCK})}, nil, ""},
		{"nothing", nil, nil, "the stream ended without one"},
		{"cut", events{started("r", 9), aFinding}, nil, "the stream ended without one"},
		{"an error", events{started("r", 9)}, status.Error(codes.DataLoss, "damaged"), "damaged"},
		{"an error behind the decision", events{started("r", 9), decided(pass("r", 9))}, status.Error(codes.Unavailable, "gone"), "gone"},
		{"no start", events{decided(pass("r", 9))}, nil, "does not begin with the start"},
		{"a finding first", events{aFinding, started("r", 9)}, nil, "does not begin with the start"},
		{"two starts", events{started("r", 9), started("r", 9), decided(pass("r", 9))}, nil, "started twice"},
		{"two decisions", events{started("r", 9), decided(pass("r", 9)), decided(pass("r", 9))}, nil, "went on behind the decision"},
		{"a finding behind the decision", events{started("r", 9), decided(pass("r", 9)), aFinding}, nil, "went on behind the decision"},
		{"a decision of another replay", events{started("r", 9), decided(pass("s", 9))}, nil, `the decision is of replay "s"`},
		{"a decision about another release", events{started("r", 9), decided(&gatev1.Decision{ReplayId: "r", Release: "v1", Ruling: gatev1.Ruling_RULING_BLOCK})}, nil, `is about release "v1"`},
		{"a decision about another set", events{started("r", 9), decided(&gatev1.Decision{ReplayId: "r", Set: "s", Ruling: gatev1.Ruling_RULING_BLOCK})}, nil, `is about set "s"`},
		{"an unknown event", events{started("r", 9), {}}, nil, "does not know"},
		{"a pass over nothing", events{started("r", 0), decided(pass("r", 0))}, nil, "is none"},
		{"a pass that is short", events{started("r", 9), decided(short)}, nil, "is none"},
		{"a pass over fewer than were to be tried", events{started("r", 9), decided(pass("r", 8))}, nil, "is none"},
		{"a pass with what is excused", events{started("r", 9), excused(1, 8)}, nil, ""},
		{"a pass with all excused", events{started("r", 9), excused(0, 9)}, nil, "is none"},
		{"a pass with too many excused", events{started("r", 9), excused(9, 1)}, nil, "is none"},
		{"a pass with too few excused", events{started("r", 9), excused(7, 1)}, nil, "is none"},
		{"a pass whose counts go round", events{started("r", 9), excused(10, math.MaxUint64)}, nil, "is none"},
	} {
		conn := serve(t, func(s *grpc.Server) {
			replayv1.RegisterReplayServiceServer(s, &scripted{events: tt.events, err: tt.err})
		})
		for how, start := range map[string]func(context.Context) (*retrial.Replay, error){
			"run": func(ctx context.Context) (*retrial.Replay, error) {
				return retrial.StartReplay(ctx, conn, &replayv1.ReplayRequest{})
			},
			"watch": func(ctx context.Context) (*retrial.Replay, error) { return retrial.WatchReplay(ctx, conn, "r") },
		} {
			if how == "watch" && strings.Contains(tt.name, "another release") {
				continue // who watches has asked for none
			}
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				r, err := start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for range r.Events() {
				}
				d, err := r.Decision()
				if tt.want == "" {
					if err != nil || d == nil {
						t.Errorf("got %v, %v", d, err)
					}
					return
				}
				if d != nil || !errors.Is(err, retrial.ErrNoDecision) || !strings.Contains(err.Error(), tt.want) || retrial.Passed(d) {
					t.Errorf("got %v, %v; want %q", d, err, tt.want)
				}
			})
		}
	}
}

// A caller that does not read to the end has no decision, even if one was seen.
func TestUnreadStreamHasNoDecision(t *testing.T) {
	conn := serve(t, func(s *grpc.Server) {
		replayv1.RegisterReplayServiceServer(s, &scripted{events: []*replayv1.ReplayResponse{started("r", 9), decided(pass("r", 9)), aFinding}})
	})
	r, err := retrial.StartReplay(context.Background(), conn, &replayv1.ReplayRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for e := range r.Events() {
		if e.GetDecision() != nil {
			break
		}
	}
	if d, err := r.Decision(); d != nil || !errors.Is(err, retrial.ErrNoDecision) {
		t.Errorf("got %v, %v", d, err)
	}
}

func TestPassed(t *testing.T) {
	partial := pass("r", 9)
	partial.Partial = true
	for name, tt := range map[string]struct {
		d    *gatev1.Decision
		want bool
	}{"none": {nil, false}, "a pass": {pass("r", 9), true}, "a partial one": {partial, false}, "no ruling": {&gatev1.Decision{}, false}} {
		if got := retrial.Passed(tt.d); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

package retrial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	recorderv1 "github.com/retrial-dev/retrial/gen/retrial/recorder/v1"
	"github.com/retrial-dev/retrial/server/wire"
)

// Recorder asks models, so that their answers can be recorded (S9). It is launched by `retrial stubs record`.
type Recorder interface {
	// Describe says who the recorder is. It calls no model, and gives the same answer every time.
	Describe() RecorderDescription
	// Record asks a model once. It is called by several goroutines at once and ends when ctx does.
	//
	// It does not try again by itself. An error that Temporary made is worth another attempt; any other is final.
	Record(ctx context.Context, q Question) (Answer, error)
}

// RecorderDescription is what a recorder says about itself.
type RecorderDescription struct {
	// Name and Version are mandatory.
	Name, Version string
	// Models are those that it reaches, by the names that recordings give them; empty declares nothing.
	Models []string
}

// Question is what a model is asked.
type Question struct {
	// RecordingID is for logs: an answer that depends on it is not the model's.
	RecordingID string
	Model       string
	// Prompt has the bytes of the prompt's file.
	Prompt []byte
	// Schema is the JSON Schema that the answer must keep; nil where there is none.
	Schema []byte
}

// Answer is what a model answered.
type Answer struct {
	// Value is the value that the call has in a replay, as JSON.
	Value []byte
	// Model is how the model names itself, such as a dated release. Optional.
	Model string
	// InputTokens were read and OutputTokens written. Optional.
	InputTokens, OutputTokens uint64
}

// Temporary marks an error of Record as worth another attempt, such as a limit or a connection that broke.
func Temporary(err error) error { return status.Error(codes.Unavailable, err.Error()) }

// ServeRecorder runs a recorder that was launched by Retrial until it is told to stop, and gives the exit status for main. It
// writes nothing to stdout but the handshake.
func ServeRecorder(r Recorder) int {
	d := r.Describe()
	if d.Name == "" || d.Version == "" {
		fmt.Fprintln(os.Stderr, "retrial: this recorder's description is not usable: name and version are mandatory")
		return 2
	}
	if os.Getenv(wire.MagicCookieKey) != wire.MagicCookieValue {
		fmt.Fprintf(os.Stderr, "%s %s is a recorder for Retrial. Name this program with retrial stubs record --recorder.\n", d.Name, d.Version)
		return 2
	}
	servePlugin("recorder", func(begin func()) plugin.Plugin { return &recorderPlugin{recorder: r, begin: begin} })
	return 0
}

type recorderPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	recorderv1.UnimplementedRecorderServiceServer
	recorder Recorder
	begin    func() // called once the server answers calls
}

// GRPCServer implements plugin.GRPCPlugin.
func (p *recorderPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	recorderv1.RegisterRecorderServiceServer(s, p)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *recorderPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a recorder has no client side")
}

// Describe implements the contract.
func (p *recorderPlugin) Describe(context.Context, *recorderv1.DescribeRequest) (*recorderv1.DescribeResponse, error) {
	p.begin()
	d := p.recorder.Describe()
	return &recorderv1.DescribeResponse{Name: d.Name, Version: d.Version, ContractVersion: wire.ContractVersion, Models: d.Models}, nil
}

// Record implements the contract.
func (p *recorderPlugin) Record(ctx context.Context, in *recorderv1.RecordRequest) (*recorderv1.RecordResponse, error) {
	a, err := p.recorder.Record(ctx, Question{RecordingID: in.GetRecordingId(), Model: in.GetModel(), Prompt: in.GetPrompt(), Schema: in.GetSchema()})
	switch {
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, err // a status keeps its code, anything else is unknown, and final
	case !json.Valid(a.Value):
		return nil, status.Error(codes.DataLoss, "the recorder's answer is no JSON")
	}
	return &recorderv1.RecordResponse{Value: a.Value, Model: a.Model, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens}, nil
}

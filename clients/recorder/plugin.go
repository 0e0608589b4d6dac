package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	recorderv1 "github.com/retrial-dev/retrial/gen/retrial/recorder/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/server/wire"
)

// Plugin is a program that serves RecorderService.
type Plugin struct {
	process *checkerhost.Plugin
	desc    *recorderv1.DescribeResponse
}

// Launch starts a recorder and asks who it is. It is in no sandbox, since it is there to use the network, and gets the minimal
// environment of a checker beside what the command names. CodeUnavailable if it does not start or is none.
func Launch(ctx context.Context, c checkerhost.Command) (*Plugin, error) {
	p := &Plugin{}
	var err error
	p.process, err = checkerhost.LaunchPlugin(ctx, c, "recorder", func(ctx context.Context, conn grpc.ClientConnInterface) error {
		d, err := recorderv1.NewRecorderServiceClient(conn).Describe(ctx, &recorderv1.DescribeRequest{})
		if err != nil {
			return err
		}
		p.desc = d
		return checkDescription(d)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// maxModels bounds what a recorder declares.
const maxModels = 10_000

func checkDescription(d *recorderv1.DescribeResponse) error {
	if v := d.GetContractVersion(); v != wire.ContractVersion {
		return fmt.Errorf("contract_version: it speaks version %d, this release speaks %d", v, wire.ContractVersion)
	}
	if n := len(d.GetModels()); n > maxModels {
		return fmt.Errorf("models: it declares %d, over the limit of %d", n, maxModels)
	}
	var errs []error
	for _, m := range append([]string{d.GetName(), d.GetVersion()}, d.GetModels()...) {
		if err := fixture.CheckName(m, fixture.MaxIDBytes); err != nil {
			errs = append(errs, fmt.Errorf("name, version, models: %w", err))
		}
	}
	return errors.Join(errs...)
}

// String names the recorder in messages.
func (p *Plugin) String() string { return "recorder " + p.desc.GetName() + " " + p.desc.GetVersion() }

// Reaches says whether it declares a model, or declares none at all.
func (p *Plugin) Reaches(model string) bool {
	return len(p.desc.GetModels()) == 0 || slices.Contains(p.desc.GetModels(), model)
}

// Close kills the recorder.
func (p *Plugin) Close() error { return p.process.Close() }

// Ask implements Model.
func (p *Plugin) Ask(ctx context.Context, q Question) (Answer, error) {
	out, err := recorderv1.NewRecorderServiceClient(p.process.Conn()).Record(ctx, &recorderv1.RecordRequest{
		RecordingId: q.ID, Model: q.Model, Prompt: q.Prompt, Schema: q.Schema,
	})
	if err != nil {
		f := &Failure{Err: p.process.Explain(err)}
		s := status.Convert(err)
		switch s.Code() {
		case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted:
			f.Temporary = true
		}
		for _, d := range s.Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok {
				f.RetryAfter = max(0, delay(r.GetRetryDelay()))
			}
		}
		return Answer{}, f
	}
	return Answer{Value: out.GetValue(), Model: out.GetModel(), InputTokens: out.GetInputTokens(), OutputTokens: out.GetOutputTokens()}, nil
}

func delay(d *durationpb.Duration) (none time.Duration) {
	if d.IsValid() {
		return d.AsDuration()
	}
	return none
}

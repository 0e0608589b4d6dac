package checkerhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
	"github.com/retrial-dev/retrial/server/wire"
)

const (
	// maxReceiveBytes bounds one message of a checker, in bytes, and maxSendBytes one to it: a batch of 1 MiB with one
	// fixture of the largest size and its stubs on top.
	maxReceiveBytes = 16 << 20
	maxSendBytes    = 32 << 20
	// maxHeaderBytes bounds the headers and trailers of a checker, error texts included.
	maxHeaderBytes = 64 << 10
	// describeTimeout bounds the first call, which also waits for the connection.
	describeTimeout = 10 * time.Second
)

// Host is a checker that can be asked. Safe for concurrent use.
type Host struct {
	conn    *grpc.ClientConn
	process *process // nil for a checker that was not launched
	socket  string   // of a launched checker
	link    *link    // nil for a launched checker
	where   string   // for messages
	desc    *checkerv1.DescribeResponse
	weaker  string // why a launched checker has no stronger sandbox
	// described is how many connections there had been when the checker last said who it is.
	described atomic.Int64

	closing sync.Once
}

// Dial reaches a checker that listens at an address of grpc-go's form, such as "unix:/run/checker.sock" or
// "127.0.0.1:9000", and asks who it is. CodeUnavailable if it cannot be reached.
func Dial(ctx context.Context, address string) (*Host, error) {
	h := &Host{where: "checker at " + address, link: &link{}}
	if err := h.connect(ctx, address, grpc.WithContextDialer(h.link.dial)); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Over reaches a checker over a connection that is there, and asks who it is. where is for messages. Without the connection
// the checker is lost: it is never dialled again. The connection is the host's to close, also where it fails.
func Over(ctx context.Context, conn net.Conn, where string) (*Host, error) {
	h := &Host{where: where, link: &link{single: true}}
	defer func() {
		if h.conn == nil {
			_ = conn.Close() // nothing was said over it
		}
	}()
	if err := h.connect(ctx, "passthrough:tunnel", grpc.WithContextDialer(h.link.only(conn)), grpc.WithIdleTimeout(0)); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// connect reaches a checker and asks who it is.
func (h *Host) connect(ctx context.Context, target string, opts ...grpc.DialOption) error {
	if err := h.open(target, opts...); err != nil {
		return err
	}
	return h.describe(ctx)
}

// open makes the connection, over which nothing is said yet.
func (h *Host) open(target string, opts ...grpc.DialOption) error {
	conn, err := grpc.NewClient(target, append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceiveBytes), grpc.MaxCallSendMsgSize(maxSendBytes)),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithInitialWindowSize(4<<20), grpc.WithInitialConnWindowSize(8<<20),
		grpc.WithReadBufferSize(64<<10), grpc.WithWriteBufferSize(64<<10),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	)...)
	if err != nil {
		return fixture.NewError(fixture.CodeInvalid, "dial", target, err)
	}
	h.conn = conn
	return nil
}

// describe asks the checker who it is, and holds what it says against the contract.
func (h *Host) describe(ctx context.Context) error {
	d, err := h.ask(ctx)
	h.described.Store(h.link.connections())
	if err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "describe", h.where, h.explain(err))
	}
	if err := checkDescription(d); err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "describe", h.where, fmt.Errorf("what it says about itself breaks the contract: %w", err))
	}
	h.desc = d
	return nil
}

func (h *Host) ask(ctx context.Context) (*checkerv1.DescribeResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	return checkerv1.NewCheckerServiceClient(h.conn).Describe(ctx, &checkerv1.DescribeRequest{})
}

// Bounds of what a checker can say about itself.
const (
	maxParameters   = 256
	maxDeclared     = 10_000
	maxDefaultBytes = 4 << 10 // and of a value that a run gives
	// maxParameterBytes bounds all that a run gives: it stands in the decision.
	maxParameterBytes = 64 << 10
)

func checkDescription(d *checkerv1.DescribeResponse) error {
	var errs []error
	name := func(field, value string) {
		if err := fixture.CheckName(value, fixture.MaxIDBytes); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	name("name", d.GetName())
	name("version", d.GetVersion())
	for field, value := range map[string]string{"build_digest": d.GetBuildDigest(), "configuration_version": d.GetConfigurationVersion()} {
		if value != "" {
			name(field, value)
		}
	}
	if v := d.GetContractVersion(); v != wire.ContractVersion {
		errs = append(errs, fmt.Errorf("contract_version: it speaks version %d, this release speaks %d", v, wire.ContractVersion))
	}
	if n := len(d.GetVerdicts()) + len(d.GetReasonCodes()); n > maxDeclared {
		return fmt.Errorf("it declares %d verdicts and reason codes, over the limit of %d", n, maxDeclared)
	}
	if n := len(d.GetParameters()); n > maxParameters {
		return fmt.Errorf("it declares %d parameters, over the limit of %d", n, maxParameters)
	}
	for field, words := range map[string][]string{"verdicts": d.GetVerdicts(), "reason_codes": d.GetReasonCodes()} {
		for _, w := range words {
			if w != "" || field == "verdicts" {
				name(field, w)
			}
		}
	}
	seen := map[string]bool{}
	for _, p := range d.GetParameters() {
		name("parameters", p.GetName())
		if seen[p.GetName()] {
			errs = append(errs, fmt.Errorf("parameters: %.80q stands there twice", p.GetName()))
		}
		seen[p.GetName()] = true
		if len(p.GetDefaultJson()) > maxDefaultBytes {
			errs = append(errs, fmt.Errorf("parameters: the default of %.80q has %d bytes, over the limit of %d", p.GetName(), len(p.GetDefaultJson()), maxDefaultBytes))
			continue
		}
		if p.GetType() == checkerv1.ParameterType_PARAMETER_TYPE_UNSPECIFIED {
			errs = append(errs, fmt.Errorf("parameters: %.80q has no type", p.GetName()))
		}
		if p.DefaultJson != nil {
			if err := checkParameter(p, p.GetDefaultJson()); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// String names the checker in messages.
func (h *Host) String() string { return h.where }

// Description gives what the checker says about itself.
func (h *Host) Description() *checkerv1.DescribeResponse { return h.desc }

// Checker makes the checker ready for a run with these parameters, values as JSON by name. CodeInvalid for a parameter
// that it does not take, that has another type, or that is missing.
func (h *Host) Checker(parameters map[string]string) (replayer.Checker, error) {
	values, err := h.parameters(parameters)
	if err != nil {
		return nil, err
	}
	return &checker{h: h, parameters: values}, nil
}

func (h *Host) parameters(given map[string]string) (map[string][]byte, error) {
	var errs []error
	refuse := func(name string, err error) {
		errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "configure checker", Subject: h.desc.GetName(), Field: name, Err: err})
	}
	total := 0
	for name, value := range given {
		if total += len(name) + len(value); len(value) > maxDefaultBytes {
			refuse(name, fmt.Errorf("its value has %d bytes, over the limit of %d", len(value), maxDefaultBytes))
		}
	}
	if total > maxParameterBytes {
		refuse("", fmt.Errorf("the parameters have %d bytes, over the limit of %d", total, maxParameterBytes))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err // nothing of it is repeated
	}
	out := map[string][]byte{}
	var known []string
	for _, p := range h.desc.GetParameters() {
		known = append(known, p.GetName())
		value, ok := given[p.GetName()]
		switch {
		case ok:
			out[p.GetName()] = []byte(value)
			if err := checkParameter(p, []byte(value)); err != nil {
				refuse(p.GetName(), err)
			}
		case p.DefaultJson != nil:
			out[p.GetName()] = p.GetDefaultJson()
		default:
			refuse(p.GetName(), errors.New("the checker has no default for this parameter, and the run gives no value"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			refuse(name, fmt.Errorf("the checker takes no such parameter; it takes: %s", strings.Join(known, ", ")))
		}
	}
	return out, errors.Join(errs...)
}

func checkParameter(p *checkerv1.Parameter, value []byte) error {
	doc, err := fixture.Canonicalize(nil, value)
	if err != nil {
		return fmt.Errorf("parameter %q: %.80q is not JSON: %w", p.GetName(), value, err)
	}
	var ok bool
	switch want := p.GetType(); want {
	case checkerv1.ParameterType_PARAMETER_TYPE_STRING:
		ok = doc[0] == '"'
	case checkerv1.ParameterType_PARAMETER_TYPE_BOOLEAN:
		ok = string(doc) == "true" || string(doc) == "false"
	case checkerv1.ParameterType_PARAMETER_TYPE_INTEGER, checkerv1.ParameterType_PARAMETER_TYPE_NUMBER:
		number := json.Number(doc)
		_, floatErr := number.Float64()
		ok = floatErr == nil && (want == checkerv1.ParameterType_PARAMETER_TYPE_NUMBER || !strings.ContainsAny(string(doc), ".eE"))
	}
	if !ok {
		kind := strings.ToLower(strings.TrimPrefix(p.GetType().String(), "PARAMETER_TYPE_"))
		return fmt.Errorf("parameter %q: %.80s is not of type %s", p.GetName(), doc, kind)
	}
	return nil
}

// explain adds to an error of the connection what is known of the process behind it.
func (h *Host) explain(err error) error {
	if h.process != nil {
		soon := time.Duration(0)
		if status.Code(err) == codes.Unavailable {
			soon = exitTimeout // the connection is gone: the first sign of a process that ends
		}
		if last := h.process.postMortem(soon); last != "" {
			return marked{fmt.Errorf("%s (%s)", last, statusText(err)), ErrEnded}
		}
		if tail := h.process.stderr.String(); tail != "" {
			return fmt.Errorf("%s; its last lines on stderr:\n%s", statusText(err), tail)
		}
	}
	return errors.New(statusText(err))
}

// statusText bounds what a checker can make us say.
func statusText(err error) string {
	s := status.Convert(err)
	msg := fixture.Printable(s.Message(), 500)
	if s.Code() == codes.OK || s.Code() == codes.Unknown {
		return msg
	}
	return fmt.Sprintf("%s: %s", s.Code(), msg)
}

// Connect makes another connection to a launched checker, for others to speak with it over. It is the caller's to close.
func (h *Host) Connect(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", h.socket)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeUnavailable, "connect to", h.where, err)
	}
	return conn, nil
}

// Ended says how the process of a launched checker has ended by itself, or does so soon, with its last words. It is empty where
// it runs, and where Close has killed it.
func (h *Host) Ended(soon time.Duration) string {
	if h.process == nil {
		return ""
	}
	return h.process.postMortem(soon)
}

// Sandbox says what is kept from a launched checker, and what is not of what a stronger level would: in words, empty where there
// is nothing to say. What was not launched here is in no sandbox of ours.
func (h *Host) Sandbox() (level sandbox.Level, without string) {
	if h.process == nil {
		return sandbox.Off, "it was not launched here"
	}
	level = h.process.plan.Level
	var all []string
	if h.weaker != "" {
		all = append(all, h.weaker)
	}
	return level, strings.Join(append(all, sandbox.Unenforced(level)...), "; ")
}

// Unshifted says why a launched checker that runs sees the clock as it is, although its command moves it; nil where it does not.
func (h *Host) Unshifted() error {
	if h.process == nil {
		return errors.New("it was not launched here")
	}
	return h.process.plan.Unshifted(h.process.cmd.Process.Pid)
}

// Close lets go of the checker. A launched one is killed, and gone when Close returns.
func (h *Host) Close() error {
	var err error
	h.closing.Do(func() {
		if h.process != nil {
			h.process.kill()
		}
		if h.conn != nil {
			err = h.conn.Close()
		}
		if h.process != nil {
			err = errors.Join(err, h.process.cleanup())
		}
	})
	return err
}

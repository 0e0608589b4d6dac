package retrial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/server/wire"
)

// The environment variables that say how Serve serves a checker that nobody has launched.
const (
	// ListenVariable has it listen: "unix:/run/checker.sock" or "127.0.0.1:9000".
	ListenVariable = "RETRIAL_LISTEN"
	// AttachVariable is the address of the server that it attaches to, and AttachNameVariable the name under which it does.
	AttachVariable     = "RETRIAL_ATTACH"
	AttachNameVariable = "RETRIAL_ATTACH_NAME"
	// CAVariable is the path of the authorities of that server's certificate, as PEM; "system" stands for those that the system
	// trusts. Without it nothing is encrypted.
	CAVariable = "RETRIAL_CA"
	// TokenVariable is the token that says who attaches.
	TokenVariable = "RETRIAL_TOKEN"
)

const (
	maxMessageBytes = 32 << 20
	stopTimeout     = 5 * time.Second
)

// Serve runs a checker until it is told to stop, and gives the exit status for main. Where the process was launched by
// Retrial, it serves Retrial; where ListenVariable is set, it listens there; where AttachVariable is, it attaches to the server
// there, again whenever it is cut off; otherwise it says how it is meant to run.
// It writes nothing to stdout but the handshake, and what goes wrong to stderr.
func Serve(c Checker) int {
	if err := check(c.Describe()); err != nil {
		fmt.Fprintln(os.Stderr, "retrial: this checker's description is not usable:", err)
		return 2
	}
	address, target, name := os.Getenv(ListenVariable), os.Getenv(AttachVariable), os.Getenv(AttachNameVariable)
	switch {
	case os.Getenv(wire.MagicCookieKey) == wire.MagicCookieValue:
		servePlugin("checker", func(begin func()) plugin.Plugin { return &grpcPlugin{checker: c, begin: begin} })
		return 0
	case address != "" && target != "":
		fmt.Fprintf(os.Stderr, "retrial: %s and %s exclude each other\n", ListenVariable, AttachVariable)
		return 2
	case (target == "") != (name == ""):
		fmt.Fprintf(os.Stderr, "retrial: %s and %s go together\n", AttachVariable, AttachNameVariable)
		return 2
	case address != "":
		return untilSignal(func(ctx context.Context) error { return Listen(ctx, c, address) })
	case target != "":
		return untilSignal(func(ctx context.Context) error { return keepAttached(ctx, target, name, c) })
	default:
		d := c.Describe()
		fmt.Fprintf(os.Stderr, "%s %s is a checker for Retrial. Name this program as a checker's command in retrial.yaml,\nor set %s to an address for it to listen at, such as unix:/run/checker.sock or 127.0.0.1:9000,\nor %s and %s to the address of a server and a name of its own there.\n",
			d.Name, d.Version, ListenVariable, AttachVariable, AttachNameVariable)
		return 2
	}
}

// untilSignal serves until the process is told to stop, and gives the exit status.
func untilSignal(serve func(context.Context) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "retrial:", err)
		return 1
	}
	return 0
}

// keepAttached attaches a checker again whenever it is cut off, and says on stderr when it is attached.
func keepAttached(ctx context.Context, target, name string, c Checker) error {
	access := Access{CA: os.Getenv(CAVariable), Token: os.Getenv(TokenVariable), InsecureToken: wire.Local(target)}
	if access.CA == "system" {
		access.TLS, access.CA = true, ""
	}
	opts, err := access.DialOptions()
	if err != nil {
		return err
	}
	return Reattach(ctx, os.Stderr, func(ctx context.Context, attached func()) error {
		return Attach(ctx, target, name, c, OnAttached(func(in *registryv1.Instance) {
			attached()
			fmt.Fprintf(os.Stderr, "%s is attached to %s as %s, instance %s\n", c.Describe().Name, target, name, in.GetInstanceId())
		}), WithDialOptions(opts...))
	})
}

// servePlugin serves whoever launched this process. made gets a function that the plugin calls once it answers calls.
func servePlugin(kind string, made func(begin func()) plugin.Plugin) {
	// An interrupt from the terminal is meant for the host, which ends its checkers itself.
	signal.Ignore(os.Interrupt)
	// go-plugin puts pipes in the place of both, which a host is to read by a call of its own. Nobody does here: what the
	// plugin logs would be lost, and block it once a pipe is full.
	stdout, stderr := os.Stdout, os.Stderr
	restore := sync.OnceFunc(func() { os.Stdout, os.Stderr = stdout, stderr })
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: wire.ContractVersion, MagicCookieKey: wire.MagicCookieKey, MagicCookieValue: wire.MagicCookieValue},
		Plugins:         plugin.PluginSet{kind: made(restore)},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			s := grpc.NewServer(append(opts, serverOptions()...)...)
			go func() {
				<-told
				hard := time.AfterFunc(stopTimeout, s.Stop)
				defer hard.Stop()
				s.GracefulStop()
			}()
			return s
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
	})
}

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.InitialWindowSize(4 << 20), grpc.InitialConnWindowSize(8 << 20),
		grpc.ReadBufferSize(64 << 10), grpc.WriteBufferSize(64 << 10),
	}
}

type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	checker Checker
	begin   func() // called once the server answers calls
}

// GRPCServer implements plugin.GRPCPlugin.
func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	checkerv1.RegisterCheckerServiceServer(s, &service{checker: p.checker, begin: p.begin})
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *grpcPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a checker has no client side")
}

// Listen serves a checker at an address until ctx ends: "unix:/path" or "host:port". A socket that nobody listens at any
// more is replaced. Once it accepts calls, it says so on stderr.
func Listen(ctx context.Context, c Checker, address string) error {
	if err := check(c.Describe()); err != nil {
		return err
	}
	l, err := wire.Listen(ctx, address)
	if err != nil {
		return err
	}
	s := grpc.NewServer(serverOptions()...)
	checkerv1.RegisterCheckerServiceServer(s, &service{checker: c})
	healthv1.RegisterHealthServer(s, health.NewServer())
	fmt.Fprintf(os.Stderr, "%s listens at %s\n", c.Describe().Name, wire.Display(l.Addr()))
	stop := context.AfterFunc(ctx, func() {
		hard := time.AfterFunc(stopTimeout, s.Stop)
		defer hard.Stop()
		s.GracefulStop()
	})
	defer stop()
	return s.Serve(l)
}

func check(d Description) error {
	if d.Name == "" || d.Version == "" {
		return errors.New("name and version are mandatory")
	}
	for _, p := range d.Parameters {
		if parameterType(p.Default) == checkerv1.ParameterType_PARAMETER_TYPE_UNSPECIFIED {
			return fmt.Errorf("parameter %q: its default is a %T, and must be a string, a bool, an int or a float64", p.Name, p.Default)
		}
	}
	return nil
}

func parameterType(v any) checkerv1.ParameterType {
	switch v.(type) {
	case string:
		return checkerv1.ParameterType_PARAMETER_TYPE_STRING
	case bool:
		return checkerv1.ParameterType_PARAMETER_TYPE_BOOLEAN
	case int:
		return checkerv1.ParameterType_PARAMETER_TYPE_INTEGER
	case float64:
		return checkerv1.ParameterType_PARAMETER_TYPE_NUMBER
	default:
		return checkerv1.ParameterType_PARAMETER_TYPE_UNSPECIFIED
	}
}

func describe(d Description) (*checkerv1.DescribeResponse, error) {
	out := &checkerv1.DescribeResponse{
		Name: d.Name, Version: d.Version, BuildDigest: d.BuildDigest, ContractVersion: wire.ContractVersion,
		Verdicts: d.Verdicts, ReasonCodes: d.ReasonCodes, CallsStubs: d.CallsStubs, ConfigurationVersion: d.ConfigurationVersion,
	}
	if out.BuildDigest == "" {
		out.BuildDigest = buildDigest()
	}
	for _, p := range d.Parameters {
		value, err := json.Marshal(p.Default)
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, &checkerv1.Parameter{Name: p.Name, Type: parameterType(p.Default), DefaultJson: value, Description: p.Description})
	}
	return out, nil
}

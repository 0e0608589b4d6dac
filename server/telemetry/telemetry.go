// Package telemetry makes a server visible: metrics that Prometheus scrapes, traces that go out by OTLP, and the HTTP
// endpoint for both a scraper and an orchestrator. A nil *Telemetry observes nothing and costs nothing.
package telemetry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// scope names what this package measures with, and the service, unless OTEL_SERVICE_NAME says otherwise.
const (
	scope   = "github.com/retrial-dev/retrial/server"
	service = "retrial"
)

// Bounds of a scrape.
const (
	maxScrapes    = 4
	scrapeTimeout = 5 * time.Second
)

// Options say what is observed. The zero value observes nothing.
type Options struct {
	// Metrics has metrics kept, for MetricsHandler to show.
	Metrics bool
	// Spans takes what is traced, and is shut down with the rest; nil traces nothing. See SpansByEnvironment.
	Spans sdktrace.SpanProcessor
	// Version is the release of this program; may be empty.
	Version string
}

// Telemetry observes one server. Safe for concurrent use; all methods take a nil receiver, and then do nothing.
type Telemetry struct {
	meters   metric.MeterProvider
	traces   trace.TracerProvider
	tracer   trace.Tracer
	meter    metric.Meter
	gathered *prometheus.Registry // nil without metrics
	measured instruments
	sets     *bounded
	stops    []func(context.Context) error
}

// New makes what the options ask for; nil if that is nothing. The caller ends it with Shutdown.
//
// Errors: CodeInvalid where OTEL_RESOURCE_ATTRIBUTES cannot be read.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	if !o.Metrics && o.Spans == nil {
		return nil, nil
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		if o.Spans != nil {
			err = errors.Join(err, o.Spans.Shutdown(ctx))
		}
		return nil, fixture.NewError(fixture.CodeInvalid, "environment", "OTEL_RESOURCE_ATTRIBUTES", err)
	}
	t := &Telemetry{meters: nometric.NewMeterProvider(), traces: notrace.NewTracerProvider(), sets: newBounded(maxSets)}
	if o.Spans != nil {
		p := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSpanProcessor(o.Spans))
		t.traces, t.stops = p, append(t.stops, p.Shutdown)
	}
	if o.Metrics {
		if err := t.gather(about); err != nil {
			return nil, errors.Join(err, t.Shutdown(ctx))
		}
	}
	t.meter, t.tracer = t.meters.Meter(scope), t.traces.Tracer(scope)
	if t.measured, err = newInstruments(t.meter); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

// gather keeps metrics in a registry of its own: the global one belongs to the process, and two servers may share that.
func (t *Telemetry) gather(about *resource.Resource) error {
	t.gathered = prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(t.gathered), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return err
	}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(exporter))
	t.meters, t.stops = p, append(t.stops, p.Shutdown)
	return errors.Join(t.gathered.Register(collectors.NewGoCollector()),
		t.gathered.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
}

// MetricsHandler shows the metrics in the text format of Prometheus; nil without metrics.
func (t *Telemetry) MetricsHandler() http.Handler {
	if t == nil || t.gathered == nil {
		return nil
	}
	return promhttp.HandlerFor(t.gathered, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout})
}

// ServerOption has a gRPC server observed: a span and a duration for each call of a method that known admits. What it does
// not admit leaves no trace, so that a caller that makes up methods makes no metrics.
func (t *Telemetry) ServerOption(known func(fullMethod string) bool) grpc.ServerOption {
	if t == nil {
		return grpc.EmptyServerOption{}
	}
	return grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.traces), otelgrpc.WithMeterProvider(t.meters), otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool { return known(info.FullMethodName) }),
	))
}

// Shutdown hands out what has been traced and not yet sent, for as long as ctx lasts, and ends the rest.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, stop := range t.stops {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

// ReportTo has OpenTelemetry's own errors logged, such as a collector that is not there. It is a setting of the process,
// for its main program to make once.
func ReportTo(log *zap.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", zap.Error(err)) }))
}

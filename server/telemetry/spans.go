package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// SpansByEnvironment sends spans by OTLP over gRPC to where OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT says; nil where neither is set, or OTEL_SDK_DISABLED is "true", or
// OTEL_TRACES_EXPORTER "none". The other variables of the OpenTelemetry specification (OTEL_EXPORTER_OTLP_…, OTEL_BSP_…,
// OTEL_TRACES_SAMPLER) hold as they stand there. Nothing is dialled before there is a span to send.
//
// Errors: CodeInvalid for another protocol than grpc, which would not be understood where it goes.
func SpansByEnvironment(ctx context.Context) (sdktrace.SpanProcessor, error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" ||
		os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	const general, special = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	name, protocol := special, os.Getenv(special)
	if protocol == "" {
		name, protocol = general, os.Getenv(general)
	}
	if protocol != "" && protocol != "grpc" {
		return nil, fixture.NewError(fixture.CodeInvalid, "environment", name, fmt.Errorf("traces are sent by grpc alone, not by %.40q", protocol))
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "environment", "OTEL_EXPORTER_OTLP_ENDPOINT", errors.Join(errors.New("traces cannot be sent"), err))
	}
	return sdktrace.NewBatchSpanProcessor(exporter), nil
}

package telemetry

import (
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Spans go where the environment says, by the protocol of OTLP, before Shutdown has ended.
func TestSpansGoWhereTheEnvironmentSays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan string, 8)
	collector := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		called <- method
		return nil
	}))
	served := make(chan error, 1)
	go func() { served <- collector.Serve(l) }()
	defer func() {
		collector.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	spans, err := SpansByEnvironment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tel, err := New(t.Context(), Options{Spans: spans})
	if err != nil {
		t.Fatal(err)
	}
	observeReplay(t, tel, "memory")
	// The collector answers nothing, which is an error; that it was called is what counts.
	_ = tel.Shutdown(t.Context())
	select {
	case method := <-called:
		if method != "/opentelemetry.proto.collector.trace.v1.TraceService/Export" {
			t.Errorf("called %s", method)
		}
	default:
		t.Error("nothing was sent")
	}
}

// No endpoint, no exporter; nor where the environment says none, or a protocol that there is no exporter for.
func TestSpansAreOffByDefault(t *testing.T) {
	for _, tt := range []struct {
		name    string
		set     []string
		refused bool
	}{
		{"nothing", nil, false},
		{"disabled", []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317", "OTEL_SDK_DISABLED", "true"}, false},
		{"no exporter", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4317", "OTEL_TRACES_EXPORTER", "none"}, false},
		{"another protocol", []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
			for i := 0; i < len(tt.set); i += 2 {
				t.Setenv(tt.set[i], tt.set[i+1])
			}
			spans, err := SpansByEnvironment(t.Context())
			if spans != nil || (err != nil) != tt.refused {
				t.Fatalf("got %v, %v", spans, err)
			}
			var e *fixture.Error
			if err != nil && (!errors.As(err, &e) || e.Code != fixture.CodeInvalid || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_PROTOCOL")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

package cli

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/telemetry"
	"github.com/retrial-dev/retrial/server/wire"
)

// telemetryTimeout is how long a server that has stopped waits for a scrape under way, and for traces to be sent.
const telemetryTimeout = 5 * time.Second

// visible is what a server shows of itself, from before its store is open until after its last call.
type visible struct {
	telemetry *telemetry.Telemetry // nil if nothing is kept
	endpoint  *telemetry.Endpoint  // nil if nobody can ask
	server    atomic.Pointer[server.Server]
}

// show begins to show what the configuration and the environment ask for.
func show(ctx context.Context, c server.Config, log *zap.Logger) (*visible, error) {
	telemetry.ReportTo(log)
	spans, err := telemetry.SpansByEnvironment(ctx)
	if err != nil {
		return nil, usage(err)
	}
	version, _ := buildVersion()
	v := &visible{}
	v.telemetry, err = telemetry.New(ctx, telemetry.Options{Metrics: c.Telemetry.Listen != "", Spans: spans, Version: version})
	if err != nil {
		return nil, usage(err)
	}
	if c.Telemetry.Listen == "" {
		return v, nil
	}
	l, err := wire.Listen(ctx, c.Telemetry.Listen)
	if err != nil {
		return nil, &exit{exitUndecided, errors.Join(err, v.telemetry.Shutdown(ctx))}
	}
	v.endpoint = telemetry.NewEndpoint(v.telemetry, v.ready, log)
	v.endpoint.Start(l)
	log.Info("visible", zap.String("address", wire.Display(l.Addr())))
	return v, nil
}

// ready asks the server, where there is one already.
func (v *visible) ready(ctx context.Context) error {
	if s := v.server.Load(); s != nil {
		return s.Ready(ctx)
	}
	return errors.New("starting: the store is not open yet")
}

// hide ends what show began, when the server has stopped. Traces that cannot be sent are no reason to fail.
func (v *visible) hide(log *zap.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTimeout)
	defer cancel()
	var err error
	if v.endpoint != nil {
		err = v.endpoint.Stop(ctx)
	}
	if lost := v.telemetry.Shutdown(ctx); lost != nil {
		log.Warn("telemetry is lost", zap.Error(lost))
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// windowBatches of batchCases is what a replay has in flight at most.
const windowBatches = 4

// contender is the promotion checker, written with one SDK and launched.
type contender struct {
	sdk     sdk
	host    *checkerhost.Host
	checker replayer.Checker
	started float64 // seconds from its launch until it said who it is
	cold    float64 // fixtures a second of the first pass
	warm    series
}

// sdks is part s. Every checker is launched once, and asked in turn, round after round.
func (b *bench) sdks(ctx context.Context) (err error) {
	all, err := b.findSDKs(ctx)
	if err != nil {
		return err
	}
	set, err := readPromotion(all.root, b.asked)
	if err != nil {
		return err
	}
	var contenders []*contender
	defer func() {
		for _, c := range contenders {
			err = errors.Join(err, c.host.Close())
		}
	}()
	for i, s := range all.sdks {
		if s.missing != nil {
			continue
		}
		c, err := launch(ctx, s)
		if err != nil {
			all.sdks[i].missing = err
			continue
		}
		contenders = append(contenders, c)
	}
	if err := all.lacking(b.strict); err != nil {
		return err
	}
	for round := range b.rounds + 1 {
		for _, c := range contenders {
			rate, err := set.ask(ctx, c.checker)
			if err != nil {
				return fmt.Errorf("the checker in %s: %w", c.sdk.language, err)
			}
			if round == 0 {
				c.cold = rate // and to warm up
			} else {
				c.warm = append(c.warm, rate)
			}
		}
	}
	b.reportSDKs(all, contenders)
	return nil
}

// launch starts a checker as `retrial run` does, and takes the time.
func launch(ctx context.Context, s sdk) (*contender, error) {
	start := time.Now()
	h, err := checkerhost.Launch(ctx, checkerhost.Command{Argv: s.command, Sandbox: sandbox.Auto})
	if err != nil {
		return nil, err
	}
	c := &contender{sdk: s, host: h, started: time.Since(start).Seconds()}
	if c.checker, err = h.Checker(nil); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return c, nil
}

// ask asks a checker the whole set over one stream, holds its answers against what is recorded, and gives the fixtures a second.
func (s *promotionSet) ask(ctx context.Context, checker replayer.Checker) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	stream, err := checker.Open(ctx)
	if err != nil {
		return 0, err
	}
	room := make(chan struct{}, windowBatches)
	sent := make(chan error, 1)
	go func() { sent <- s.send(ctx, stream, room) }()
	err = s.receive(stream, room)
	took := time.Since(start).Seconds()
	cancel() // a sender that waits for room waits no more
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	return float64(len(s.requests)) / took, err
}

func (s *promotionSet) send(ctx context.Context, stream replayer.Stream, room chan<- struct{}) error {
	for from := 0; from < len(s.requests); from += batchCases {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := stream.Send(s.requests[from:min(from+batchCases, len(s.requests))]); err != nil {
			return err
		}
	}
	return stream.CloseSend()
}

func (s *promotionSet) receive(stream replayer.Stream, room <-chan struct{}) error {
	answered := 0
	for {
		answers, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i := range answers {
			if err := s.check(&answers[i]); err != nil {
				return err
			}
			if answered++; answered%batchCases == 0 {
				<-room
			}
		}
	}
	if answered != len(s.requests) {
		return fmt.Errorf("%d of %d fixtures were answered", answered, len(s.requests))
	}
	return nil
}

// check holds an answer against the recorded outcome: what is fast and wrong is not to be compared with.
func (s *promotionSet) check(a *replayer.Answer) error {
	i := caseIndex(a.CaseID)
	if i >= uint64(len(s.requests)) {
		return fmt.Errorf("it answers case %d, which nobody asked", a.CaseID)
	}
	f := s.requests[i].Fixture
	if a.Err != nil {
		return fmt.Errorf("%s ended in an error: %s%s", f.ID, a.Err.Message, a.Err.StubMissing)
	}
	if a.Outcome.Verdict != f.Expected.Verdict || a.Outcome.ReasonCode != f.Expected.ReasonCode {
		return fmt.Errorf("%s is recorded as %s/%s, and it answers %s/%s",
			f.ID, f.Expected.Verdict, f.Expected.ReasonCode, a.Outcome.Verdict, a.Outcome.ReasonCode)
	}
	return nil
}

func (b *bench) reportSDKs(all *found, contenders []*contender) {
	note := fmt.Sprintf(`The promotion checker, written with each SDK, launched as a plugin in the sandbox of `+"`retrial run`"+`, and asked the same %d fixtures by the
same host over one stream: batches of %d, %d of them in flight. Every answer is held against the recorded one. All are there for the
whole part and asked in turn: median (min..max). COLD is the first pass of a new process, START the seconds until it says who it is.`,
		b.asked, batchCases, windowBatches)
	sec := b.report.section("s. SDKs", note, "SDK", "THOUSAND FIXTURES A SECOND", "COLD", "START")
	measured := map[string]*contender{}
	for _, c := range contenders {
		measured[c.sdk.language] = c
	}
	for _, s := range all.sdks {
		c := measured[s.language]
		if c == nil {
			sec.row(s.language, "not measured: "+s.missing.Error(), "", "")
			continue
		}
		thousands := make(series, len(c.warm))
		for i, v := range c.warm {
			thousands[i] = v / 1000
		}
		sec.row(s.language, thousands.text(1), fmt.Sprintf("%.1f", c.cold/1000), fmt.Sprintf("%.2f s", c.started))
		if reference := measured[languageGo]; reference != nil && c != reference {
			b.report.ratio("promotion checker in "+s.language+" / in Go", c.warm.over(reference.warm), "")
		}
	}
}

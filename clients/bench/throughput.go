package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/retrial-dev/retrial/server"
)

// speeds are the cases a second of part a.
type speeds struct {
	raw, plain, sdk          series // one stream to one process
	rawTwo, plainTwo, sdkTwo series // two processes at the same time
	rawAll, plainAll, sdkAll series // two at the same time, then one again: the three passes of a replay
	probe, pair, whole       series // a replay
	ready                    series // seconds to the first event
	cpu                      series // microseconds of the host for each case
}

// throughput is part a.
func (b *bench) throughput(ctx context.Context) error {
	store := filepath.Join(b.dir, "throughput.db")
	if err := importSet(store, b.count); err != nil {
		return err
	}
	t, err := encode(b.count)
	if err != nil {
		return err
	}
	var s speeds
	raw, err := b.pair(ctx, roleRaw, fmt.Sprint(batchCases))
	defer func() { _ = errors.Join(raw.close()...) }()
	if err != nil {
		return err
	}
	plain, err := b.pair(ctx, rolePlain)
	defer func() { _ = errors.Join(plain.close()...) }()
	if err != nil {
		return err
	}
	sdk, err := b.pair(ctx, roleChecker)
	defer func() { _ = errors.Join(sdk.close()...) }()
	if err != nil {
		return err
	}
	for round := range b.rounds + 1 {
		if round == 1 {
			s = speeds{} // the first was to warm up
		}
		if err := b.replayed(ctx, store, &s); err != nil {
			return err
		}
		for _, k := range []struct {
			p             *pair
			one, two, all *series
		}{{sdk, &s.sdk, &s.sdkTwo, &s.sdkAll}, {plain, &s.plain, &s.plainTwo, &s.plainAll}, {raw, &s.raw, &s.rawTwo, &s.rawAll}} {
			two, err := k.p.both(ctx, t)
			if err != nil {
				return err
			}
			one, err := k.p.alone(ctx, t)
			if err != nil {
				return err
			}
			*k.one, *k.two = append(*k.one, one), append(*k.two, two)
			*k.all = append(*k.all, 3/(2/two+1/one)) // 3N cases in the time of both
		}
	}
	b.reportSpeeds(&s, t)
	return nil
}

// replayed runs one replay in a process of its own.
func (b *bench) replayed(ctx context.Context, store string, s *speeds) error {
	cmd := command(ctx, b.self, roleReplay, store)
	out, err := cmd.Output()
	if err != nil {
		return said(cmd, err)
	}
	var r replayed
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	n := float64(b.count)
	s.probe, s.pair, s.whole = append(s.probe, r.ProbeCases/r.Probe), append(s.pair, 2*n/r.Pair), append(s.whole, 3*n/r.Decided)
	s.ready, s.cpu = append(s.ready, r.Ready), append(s.cpu, r.CPU*1e6/(3*n))
	return nil
}

func (b *bench) reportSpeeds(s *speeds, t *traffic) {
	k := func(v series) string {
		out := make(series, len(v))
		for i := range v {
			out[i] = v[i] / 1000
		}
		return out.text(0)
	}
	note := fmt.Sprintf(`%d fixtures of %d bytes; what a checker is sent of each is %d bytes, its case id included. Thousands of cases a second: median (min..max).
"One" is one stream to one process, "two" two streams to two processes at the same time, "three" both, one after the
other: what a replay asks for, since it runs baseline and candidate side by side and then the candidate again.
Raw echo: grpc-go on both sides, batches of %d that were encoded before, %d in flight, answers of the right size that were
encoded before. Standard codec: the same client; the server unmarshals into generated types and marshals its answers.
Same checker: the same client; the server is the very checker of the replay, built with the Go SDK. Each case is counted.
Replay: the Replay call to the embedded server over an in-memory listener in a fresh process, store in a file, both checkers
launched. "One" is the probe, "two" confirmation and candidate, "three" all between the first event and the decision.
Launching and the preflight, which reads and hashes the whole version once, come before the first event: %s s.
The host used %s microseconds of processor time a case, its checkers left out.`,
		t.cases, t.documents/t.cases, t.bytes/t.cases, batchCases, inFlight, s.ready.text(2), s.cpu.text(2))
	sec := b.report.section("a. Throughput", note, "STREAM", "ONE", "TWO", "THREE")
	sec.row("raw echo (the limit)", k(s.raw), k(s.rawTwo), k(s.rawAll))
	sec.row("standard codec, bare client", k(s.plain), k(s.plainTwo), k(s.plainAll))
	sec.row("same checker, bare client", k(s.sdk), k(s.sdkTwo), k(s.sdkAll))
	sec.row("replay", k(s.probe), k(s.pair), k(s.whole))

	// The echo of grpc-go as it comes, with its own codec, is what is promised against. The SDK's checker under a bare client shows
	// what is left to win: its decoding is several times as fast.
	b.report.ratio("replay / echo with grpc-go's own codec, three passes", s.whole.over(s.plainAll), ">= 0.7")
	b.report.ratio("replay / same checker by a bare client, three passes", s.whole.over(s.sdkAll), "")
	b.report.ratio("replay / same checker by a bare client, two side by side", s.pair.over(s.sdkTwo), "")
	b.report.ratio("replay / same checker by a bare client, one pass", s.probe.over(s.sdk), "")
	b.report.ratio("replay / raw echo, three passes", s.whole.over(s.rawAll), "")
	b.report.ratio("Go SDK / standard codec, one stream", s.sdk.over(s.plain), ">= 3")
	b.report.ratio("Go SDK / raw echo, one stream", s.sdk.over(s.raw), "")
}

// importSet makes a store with a set of n fixtures, signed as a server's is: or else none would open it.
func importSet(path string, n int) error {
	s, _, err := server.OpenStore(path, "")
	if err != nil {
		return err
	}
	c, err := s.Begin(draft(0, "bench", time.Unix(0, 0)))
	if err != nil {
		return errors.Join(err, s.Close())
	}
	for i := 0; i < n && err == nil; i++ {
		f, decodeErr := decode(i, n)
		if err = decodeErr; err == nil {
			err = c.Add(f, nil)
		}
	}
	if err == nil {
		_, err = c.Seal(uint64(n), "")
	}
	return errors.Join(err, c.Abort(), s.Close())
}

package replayer

import (
	"sync"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// docket weighs, counts, keeps and passes on what a run finds. Safe for concurrent use.
type docket struct {
	policy gate.Policy
	list   *gate.Allowlist
	cancel func()

	mu       sync.Mutex // guards all below, and orders the calls of sink
	sink     Sink
	sinkErr  error
	tally    gate.Tally
	findings []gate.Finding
}

// file takes a finding. It is told to the sink even if nobody listens any more: what counts is that it is counted.
func (d *docket) file(f gate.Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f = d.policy.Weigh(f, d.list)
	d.tally.Add(f)
	if len(d.findings) < MaxFindings {
		d.findings = append(d.findings, f)
	}
	d.tell(d.sink.Finding(f))
}

// retract takes a flip back that has turned out to be something else. The something else blocks.
func (d *docket) retract(f gate.Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tally.Retract(d.policy.Weigh(f, d.list))
}

func (d *docket) started(s Selection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell(d.sink.Started(s))
}

func (d *docket) progress(p Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sinkErr == nil {
		d.tell(d.sink.Progress(p))
	}
}

// tell cancels the run on the first error of the sink.
func (d *docket) tell(err error) {
	if err != nil && d.sinkErr == nil {
		d.sinkErr = err
		d.cancel()
	}
}

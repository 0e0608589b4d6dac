package replayer_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var vocabulary = fixture.Vocabulary{Verdicts: []string{"promoted", "dropped"}, Permissive: "promoted"}

// set is a version in memory.
type set struct {
	cases []replayer.Case
	tally fixture.Tally
	sum   *fixture.Checksum
}

// newSet makes n fixtures: every third one dropped/small, the others promoted/large. change alters a document.
func newSet(t testing.TB, n int, change func(i int, doc string) string) *set {
	t.Helper()
	s := &set{sum: fixture.NewChecksum(vocabulary)}
	for i := range n {
		verdict, reason := "promoted", "large"
		if i%3 == 0 {
			verdict, reason = "dropped", "small"
		}
		doc := fmt.Sprintf(`{"fixture_id":"f-%05d","source_row_id":"row-%d","verdict":%q,"reason_code":%q,"decided_at":"2026-01-01T00:00:00Z","i":%d}`, i, i, verdict, reason, i)
		if change != nil {
			doc = change(i, doc)
		}
		f, err := fixture.Decode([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, replayer.Case{Position: uint64(i), Fixture: f, Digest: f.Digest()})
	}
	return s
}

func (s *set) add(t testing.TB, c replayer.Case) {
	t.Helper()
	if err := s.tally.Add(c.Fixture); err != nil {
		t.Fatal(err)
	}
	if err := s.sum.Add(c.Fixture.ID, c.Digest, c.StubDigest); err != nil {
		t.Fatal(err)
	}
	s.cases = append(s.cases, c)
}

const block = 100

func (s *set) Blocks() int { return (len(s.cases) + block - 1) / block }

func (s *set) Block(i int, fn func(replayer.Case) error) error {
	for _, c := range s.cases[i*block : min(len(s.cases), (i+1)*block)] {
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

// faithful decides as the fixtures of newSet were decided.
func faithful(r replayer.Request) replayer.Answer {
	var i int
	if _, err := fmt.Sscanf(string(r.Fixture.Shown("i")), "%d", &i); err != nil {
		panic(err)
	}
	o := fixture.Outcome{Verdict: "promoted", ReasonCode: "large"}
	if i%3 == 0 {
		o = fixture.Outcome{Verdict: "dropped", ReasonCode: "small"}
	}
	a := replayer.Answer{CaseID: r.CaseID, Outcome: o}
	for _, s := range r.Stubs {
		a.StubsUsed = append(a.StubsUsed, s.Call)
	}
	return a
}

// checker answers in memory. Its fields bend it; the zero value but for decide is an honest one.
type checker struct {
	name   string
	decide func(replayer.Request) replayer.Answer
	desc   replayer.Description
	// answers makes the answers to a batch; nil decides each case in turn.
	answers func(stream int, batch []replayer.Request) ([]replayer.Answer, error)
	// hang keeps everything unanswered.
	hang bool
	// openErr is what Open gives.
	openErr error

	mu      sync.Mutex
	streams int
	asked   []string // ids, in the order in which they came
	batches []int
}

func (c *checker) Description() replayer.Description {
	d := c.desc
	d.Name = c.name
	return d
}

func (c *checker) Open(ctx context.Context) (replayer.Stream, error) {
	if c.openErr != nil {
		return nil, c.openErr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams++
	return &stream{c: c, ctx: ctx, n: c.streams, out: make(chan result)}, nil
}

type result struct {
	answers []replayer.Answer
	err     error
}

type stream struct {
	c   *checker
	ctx context.Context
	n   int
	out chan result
	wg  sync.WaitGroup
}

func (s *stream) Send(batch []replayer.Request) error {
	s.c.mu.Lock()
	s.c.batches = append(s.c.batches, len(batch))
	for _, r := range batch {
		s.c.asked = append(s.c.asked, r.Fixture.ID)
	}
	s.c.mu.Unlock()
	if s.c.hang {
		return nil
	}
	var res result
	if s.c.answers != nil {
		res.answers, res.err = s.c.answers(s.n, batch)
	} else {
		for _, r := range batch {
			res.answers = append(res.answers, s.c.decide(r))
		}
	}
	s.wg.Go(func() {
		select {
		case s.out <- res:
		case <-s.ctx.Done():
		}
	})
	return nil
}

func (s *stream) CloseSend() error {
	if s.c.hang {
		return nil
	}
	go func() {
		s.wg.Wait()
		close(s.out)
	}()
	return nil
}

func (s *stream) Recv() ([]replayer.Answer, error) {
	select {
	case r, ok := <-s.out:
		if !ok {
			return nil, io.EOF
		}
		return r.answers, r.err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func honest(name string) *checker { return &checker{name: name, decide: faithful} }

// events records what a run tells.
type events struct {
	order    []string
	started  replayer.Selection
	findings []gate.Finding
	onEvent  func(kind string) error
}

func (e *events) note(kind string) error {
	e.order = append(e.order, kind)
	if e.onEvent != nil {
		return e.onEvent(kind)
	}
	return nil
}

func (e *events) Started(s replayer.Selection) error { e.started = s; return e.note("started") }

func (e *events) Progress(p replayer.Progress) error {
	return e.note(fmt.Sprintf("progress %d %d/%d", p.Phase, p.Answered, p.Expected))
}

func (e *events) Finding(f gate.Finding) error {
	e.findings = append(e.findings, f)
	return e.note("finding " + string(f.Code) + " " + f.Subject)
}

// subjects gives what findings of a code are about.
func (e *events) subjects(code gate.Code) []string {
	var out []string
	for _, f := range e.findings {
		if f.Code == code {
			out = append(out, f.Subject)
		}
	}
	return out
}

func trial(s *set, baseline, candidate *checker) replayer.Trial {
	start := time.Now()
	return replayer.Trial{
		Source: s, Checksum: s.sum.Sum(), Vocabulary: vocabulary, Tally: s.tally, Baseline: baseline, Candidate: candidate,
		Now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), CaseTimeout: time.Minute, RunTimeout: time.Hour, Seed: 7,
		Elapsed: func() time.Duration { return time.Since(start) },
	}
}

func run(t testing.TB, tr replayer.Trial) (*replayer.Report, *events) {
	t.Helper()
	e := &events{}
	r, err := replayer.Run(context.Background(), tr, e)
	if err != nil {
		t.Fatal(err)
	}
	return r, e
}

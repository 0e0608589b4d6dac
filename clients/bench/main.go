// Command bench measures Retrial beside what it is to be compared with, in one run, on this machine:
//
//	go run ./clients/bench
//
// Machines differ and neighbours are noisy, so that no number of it means much alone. What counts is the ratio of two
// things that were measured in turn, round after round: the table at the end gives the median of each ratio over the
// rounds, and how far it strayed. The parts are a, throughput; b, the whole of `retrial run`; c, memory; d, the store; s, the
// promotion checker as it is written with each SDK, beside the one in Go.
//
// It talks over loopback sockets alone, writes to temporary directories alone, and ends every process that it starts.
// Part b compares with a plain Python gate, and leaves it out where there is no python3. Part s takes what the SDKs' own builds have
// left, or builds it with -build; what is not there it names, and with -strict fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && roles[args[0]] != nil {
		return roles[args[0]](args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := newBench(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = errors.Join(b.all(ctx), b.cleanup())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// roles are what this program is to the processes that it starts: it is its own checker, server and replaying host. A
// launched checker has an environment of its own, so that a role is an argument.
var roles = map[string]func(args []string) int{
	roleChecker: func([]string) int { return serveChecker() },
	rolePlain:   servePlain,
	roleRaw:     serveRaw,
	roleReplay:  replayRole,
}

// bench is one run of the benchmark.
type bench struct {
	rounds int
	count  int // fixtures of part a and of the first row of part d
	sizes  []int
	memory []int
	only   []string
	keep   bool
	asked  int  // fixtures of part s
	make   bool // build the checkers of part s
	strict bool // fail where one of them is missing

	dir    string // removed by cleanup
	self   string // this program
	report report
}

func newBench(args []string) (*bench, error) {
	b := &bench{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&b.rounds, "rounds", 5, "how often everything is measured; the tables give medians")
	f.IntVar(&b.count, "fixtures", 200_000, "fixtures of part a")
	sizes := f.String("sizes", "200,2000,100000", "set sizes of part b")
	memory := f.String("memory", "10000,1000000", "set sizes of part c, and the largest of part d; empty leaves out both")
	only := f.String("only", "a,b,c,d,s", "parts: a throughput, b whole process, c memory, d store, s SDKs")
	f.IntVar(&b.asked, "sdk-fixtures", 20_000, "fixtures of part s")
	f.BoolVar(&b.make, "build", false, "build the checkers of part s, with the tools of their languages")
	f.BoolVar(&b.strict, "strict", false, "fail where a checker of part s is missing")
	f.BoolVar(&b.keep, "keep", false, "keep the temporary directory")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	var err, memoryErr error
	b.sizes, err = numbers(*sizes)
	b.memory, memoryErr = numbers(*memory)
	if err := errors.Join(err, memoryErr); err != nil {
		return nil, err
	}
	if b.rounds < 1 || b.count < 1 || b.asked < 1 || f.NArg() > 0 {
		return nil, errors.New("-rounds, -fixtures and -sdk-fixtures are at least 1, and there are no arguments")
	}
	b.only = strings.Split(*only, ",")
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	b.dir, err = os.MkdirTemp("", "retrial-bench-")
	return b, err
}

func numbers(list string) (out []int, err error) {
	for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of fixtures", s)
		}
		out = append(out, n)
	}
	return out, nil
}

// all measures every part that was asked for, and prints the table.
func (b *bench) all(ctx context.Context) error {
	start := time.Now()
	if err := b.build(ctx); err != nil {
		return err
	}
	before := loadAverage()
	parts := []struct {
		name, title string
		run         func(context.Context) error
	}{
		{"a", "throughput", b.throughput}, {"b", "whole process", b.whole}, {"c", "memory", b.memories}, {"d", "store", b.stores},
		{"s", "SDKs", b.sdks},
	}
	for _, p := range parts {
		if !slices.Contains(b.only, p.name) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(os.Stderr, "bench: part %s, %s\n", p.name, p.title)
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("part %s, %s: %w", p.name, p.title, err)
		}
		fmt.Fprintf(os.Stderr, "bench: part %s took %.0f s\n", p.name, time.Since(began).Seconds())
	}
	b.report.print(os.Stdout)
	fmt.Printf("\nMachine: %s\nLoad average before: %s; after: %s. The run took %.0f s, %d rounds.\n", machine(), before, loadAverage(), time.Since(start).Seconds(), b.rounds)
	return nil
}

func (b *bench) cleanup() error {
	if b.keep {
		fmt.Fprintln(os.Stderr, "bench: kept", b.dir)
		return nil
	}
	return os.RemoveAll(b.dir)
}

// retrial is the program that build makes.
func (b *bench) retrial() string { return filepath.Join(b.dir, "retrial") }

func (b *bench) build(ctx context.Context) error {
	cmd := command(ctx, "go", "build", "-trimpath", "-o", b.retrial(), "github.com/retrial-dev/retrial")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as `make build` and the image do
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w (the benchmark runs in the repository, by `go run ./clients/bench`)", err)
	}
	return nil
}

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed gate.py
var gatePy []byte

// peer is a Python interpreter with the gate. Its zero value is none.
type peer struct{ python, gate string }

// findPeer asks python3 where it really is: what stands in the PATH may be a script in front of it that costs as much as
// a small run.
func (b *bench) findPeer(ctx context.Context) (p peer, version string, err error) {
	python, err := exec.LookPath("python3")
	if errors.Is(err, exec.ErrNotFound) {
		return peer{}, "", nil
	}
	if err != nil {
		return peer{}, "", err
	}
	out, err := command(ctx, python, "-c", "import sys; print(sys.executable); print(sys.version.split()[0])").Output()
	lines := strings.Fields(string(out))
	if err != nil || len(lines) != 2 {
		return peer{}, "", fmt.Errorf("ask %s where it is: %w", python, err)
	}
	p = peer{lines[0], filepath.Join(b.dir, "gate.py")}
	return p, lines[1], os.WriteFile(p.gate, gatePy, 0o600)
}

// whole is part b.
func (b *bench) whole(ctx context.Context) error {
	gate, version, err := b.findPeer(ctx)
	if err != nil {
		return err
	}
	note := fmt.Sprintf(`Seconds of wall time of the whole process: median (min..max). Both sides read the same JSON Lines, hold baseline and
candidate against the same rule, list the same %d flips and block. "fresh" is `+"`retrial run`"+` with no store yet: it launches both checkers,
reads and checks the files, commits the set, asks three passes and records the decision. "again" finds the set in its store.
The gate calls its rule in its own process, twice a row, and keeps nothing.`, flips)
	if gate.python == "" {
		note += "\nThere is no python3 here: the gate and its ratios are left out."
	} else {
		note += "\nPython " + version + " at " + gate.python + "."
	}
	sec := b.report.section("b. Whole process", note, "FIXTURES", "PYTHON GATE", "RETRIAL, FRESH", "RETRIAL, AGAIN")
	for _, n := range b.sizes {
		dir, file, err := b.writeSet(n)
		if err != nil {
			return err
		}
		var python, fresh, again series
		for round := range b.rounds + 1 {
			store := filepath.Join(b.dir, fmt.Sprintf("whole-%d-%d.db", n, round))
			args := []string{"run", dir, "--store", store, "--author", "bench"}
			var p, f, a float64
			if gate.python != "" {
				p, err = blocked(ctx, gate.python, gate.gate, file, fmt.Sprint(maxAge), fmt.Sprint(maxAge-1))
			}
			if err == nil {
				f, err = blocked(ctx, b.retrial(), args...)
			}
			if err == nil {
				a, err = blocked(ctx, b.retrial(), args...)
			}
			if err == nil {
				err = os.Remove(store)
			}
			if err != nil {
				return err
			}
			if round == 0 {
				continue // to warm up
			}
			if gate.python != "" {
				python = append(python, p)
			}
			fresh, again = append(fresh, f), append(again, a)
		}
		sec.row(fmt.Sprint(n), python.text(3), fresh.text(3), again.text(3))
		want := ""
		switch n {
		case 200:
			want = "<= 0.8"
		case 100_000:
			want = "<= 1"
		}
		b.report.ratio(fmt.Sprintf("retrial run / Python gate, %d fixtures, fresh store", n), fresh.over(python), want)
		b.report.ratio(fmt.Sprintf("retrial run / Python gate, %d fixtures, store there", n), again.over(python), want)
	}
	return nil
}

// blocked runs a gate that must block over the flips, and gives its wall time in seconds.
func blocked(ctx context.Context, name string, args ...string) (float64, error) {
	cmd := command(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start).Seconds()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out.String(), fmt.Sprintf("%d fixtures flipped", flips)) {
		return 0, fmt.Errorf("it should have blocked over %d flips: %w\n%s", flips, said(cmd, err), out.String())
	}
	return took, nil
}

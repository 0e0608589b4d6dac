package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// memories is part c.
func (b *bench) memories(ctx context.Context) error {
	if len(b.memory) == 0 {
		return nil
	}
	const note = `Anonymous memory (RssAnon, polled every 3 ms) at its peak, in MB of 2^20 bytes; checkers are processes of their own and left out.
"Serve" is a ` + "`retrial serve`" + ` that was started anew before the replay; "high water" is its VmHWM, with the pages of the file that are
mapped and that the kernel can take back. "Push" is ` + "`retrial fixtures push --server`" + `, which reads and checks the files; "push, serve" the
server meanwhile. "File" is the store over the bytes of the fixture documents in it; "manifest" the part of it that says what the
version holds.`
	sec := b.report.section("c. Memory", note, "FIXTURES", "SERVE, REPLAY", "HIGH WATER", "REPLAY s", "PUSH", "PUSH, SERVE", "PUSH s", "FILE", "MANIFEST")
	var all []footprint
	for _, n := range b.memory {
		f, err := b.footprint(ctx, n)
		if err != nil {
			return fmt.Errorf("%d fixtures: %w", n, err)
		}
		all = append(all, f)
		sec.row(fmt.Sprint(n), mega(f.replay), mega(f.highWater), fmt.Sprintf("%.1f", f.replaySeconds), mega(f.push), mega(f.pushServe), fmt.Sprintf("%.1f", f.pushSeconds),
			fmt.Sprintf("%.2f", f.file), mega(f.manifest))
		b.report.ratio(fmt.Sprintf("store file / payload, %d fixtures", n), series{f.file}, "<= 1.3")
	}
	if first, last := all[0], all[len(all)-1]; len(all) > 1 {
		b.report.ratio(fmt.Sprintf("memory of a replay at %d / at %d", last.fixtures, first.fixtures), series{float64(last.replay) / float64(first.replay)}, "")
		b.report.ratio(fmt.Sprintf("memory of a replay at %d / (1.5 times that at %d, and the manifest)", last.fixtures, first.fixtures),
			series{float64(last.replay) / (1.5*float64(first.replay) + float64(last.manifest))}, "<= 1")
		b.report.ratio(fmt.Sprintf("memory of a replay at %d minus at %d, in 16 MB", last.fixtures, first.fixtures), series{float64(last.replay-first.replay) / (16 << 20)}, "<= 1")
	}
	return nil
}

func mega(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

// footprint is what a set of one size takes, in bytes.
type footprint struct {
	fixtures                   int
	replay, highWater          int64
	push, pushServe, manifest  int64
	replaySeconds, pushSeconds float64
	file                       float64 // over the payload
}

func (b *bench) footprint(ctx context.Context, n int) (f footprint, err error) {
	f.fixtures = n
	dir, file, err := b.writeSet(n)
	if err != nil {
		return f, err
	}
	store := filepath.Join(b.dir, fmt.Sprintf("memory-%d.db", n))
	s, err := b.serve(ctx, store)
	if err != nil {
		return f, err
	}
	start := time.Now()
	push := command(ctx, b.retrial(), "fixtures", "push", dir, "--server", s.address, "--author", "bench", "--reason", "bench")
	serving := peak(s.cmd.Process.Pid)
	f.push, err = watched(push)
	f.pushSeconds, f.pushServe = time.Since(start).Seconds(), serving()
	if err := errors.Join(err, s.stop(), os.Remove(file)); err != nil {
		return f, err
	}
	manifest, payload, err := weigh(store)
	if err != nil {
		return f, err
	}
	f.manifest, f.file = manifest, float64(fileSize(store))/payload

	if s, err = b.serve(ctx, store); err != nil {
		return f, err
	}
	start = time.Now()
	run := command(ctx, b.retrial(), "run", "--server", s.address, "--set", setName, "--baseline", "checker", "--candidate", "checker", "--quiet")
	serving = peak(s.cmd.Process.Pid)
	err = said(run, run.Run())
	f.replaySeconds, f.replay = time.Since(start).Seconds(), serving()
	f.highWater = status(s.cmd.Process.Pid, "VmHWM")
	return f, errors.Join(err, s.stop(), os.Remove(store))
}

// watched runs a process and gives the peak of its anonymous memory.
func watched(cmd *exec.Cmd) (int64, error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	stop := peak(cmd.Process.Pid)
	err := cmd.Wait()
	return stop(), said(cmd, err)
}

// served is a server process.
type served struct {
	cmd     *exec.Cmd
	address string
	stop    func() error
}

// serve starts `retrial serve` with this program registered as a checker, and waits until it answers.
func (b *bench) serve(ctx context.Context, store string) (*served, error) {
	socket := filepath.Join(b.dir, "serve.sock")
	config := filepath.Join(b.dir, "serve.yaml")
	text := fmt.Sprintf("listen: %q\nstore: %q\ncheckers:\n  checker: {command: [%q, %s]}\n", "unix:"+socket, store, b.self, roleChecker)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	s := &served{cmd: command(ctx, b.retrial(), "serve", "--config", config), address: "unix:" + socket}
	var err error
	if s.stop, err = start(s.cmd); err != nil {
		return nil, err
	}
	for range 200 {
		if err = command(ctx, b.retrial(), "health", "--server", s.address, "--quiet").Run(); err == nil {
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	stopErr := s.stop()
	return nil, errors.Join(fmt.Errorf("it does not answer: %w", said(s.cmd, err)), stopErr)
}

// weigh gives the bytes that the manifest and the documents take in a store that nobody has open.
func weigh(path string) (manifest int64, payload float64, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		return 0, 0, err
	}
	err = db.View(func(tx *bolt.Tx) error {
		manifest = int64(tx.Bucket([]byte("nodes")).Stats().LeafInuse)
		return tx.Bucket([]byte("objects")).ForEach(func(_, v []byte) error {
			payload += float64(len(v))
			return nil
		})
	})
	return manifest, payload, errors.Join(err, db.Close())
}

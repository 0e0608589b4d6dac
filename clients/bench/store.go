package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server"
)

// draft is a version of the set as a push would make it.
func draft(parent uint64, reason string, at time.Time) fixturestore.Draft {
	set := server.Set{Vocabulary: vocabulary, Policy: gate.Policy{Kind: gate.Full}}
	config, _ := proto.MarshalOptions{Deterministic: true}.Marshal(set.ToProto()) // a message of our own: it cannot fail
	return fixturestore.Draft{Set: setName, Parent: parent, Author: "bench", Reason: reason, Vocabulary: vocabulary, Config: config, At: at}
}

// changed is how many fixtures differ between two neighbouring versions.
const changed = 17

// stores is part d.
func (b *bench) stores(ctx context.Context) error {
	note := fmt.Sprintf(`Through package fixturestore: median (min..max) of what several rounds gave, one round for over 200,000 fixtures. "Decode" checks a
document and makes it canonical; "import" adds decoded fixtures and seals the version; "scan" reads every fixture and holds it
against its hash, warm and, where the kernel lets go of the file's pages, cold. Thousands of fixtures a second each. A version that
changes %d fixtures is streamed whole: the milliseconds are those of all its Adds and the Seal, and of the Seal alone. "Grew" is the
file, "written" what was passed to write calls, in KB of 2^10 bytes. "Diff" is between the two versions.`, changed)
	sec := b.report.section("d. Store", note, "FIXTURES", "DECODE", "IMPORT", "SCAN", "COLD", "17 CHANGES ms", "SEAL ms", "GREW KB", "WRITTEN KB", "DIFF ms")
	sizes := []int{100_000}
	if len(b.memory) > 0 {
		sizes = append(sizes, slices.Max(b.memory))
	}
	slices.Sort(sizes)
	for _, n := range slices.Compact(sizes) {
		rounds := b.rounds
		if n > 200_000 {
			rounds = 1
		}
		var s stored
		for range rounds {
			if err := b.stored(ctx, n, &s); err != nil {
				return err
			}
		}
		sec.row(fmt.Sprint(n), s.decode.text(0), s.imported.text(0), s.scan.text(0), s.cold.text(0), s.change.text(1), s.seal.text(1), s.grew.text(0), s.written.text(0), s.diff.text(1))
		if n >= 1_000_000 {
			b.report.ratio(fmt.Sprintf("diff of neighbours at %d, in 5 ms", n), scaled(s.diff, 1.0/5), "<= 1")
			b.report.ratio(fmt.Sprintf("bytes that a version of %d changes adds at %d, in 200 KB", changed, n), scaled(s.grew, 1.0/200), "<= 1")
			b.report.ratio(fmt.Sprintf("cold scan / warm scan at %d, seconds", n), s.scan.over(s.cold), "<= 1.5")
		}
	}
	return nil
}

func scaled(s series, by float64) series {
	out := make(series, len(s))
	for i := range s {
		out[i] = s[i] * by
	}
	return out
}

// stored is what one size gave, a value a round.
type stored struct {
	decode, imported, scan, cold series // thousands a second
	change, seal, diff           series // milliseconds
	grew, written                series // KB
}

func (b *bench) stored(ctx context.Context, n int, s *stored) (err error) {
	path := filepath.Join(b.dir, fmt.Sprintf("store-%d.db", n))
	store, err := fixturestore.Open(path, fixturestore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), os.Remove(path)) }() // of the store as it is then
	var decoding stopwatch
	read := func(i int) (*fixture.Fixture, error) {
		doc := appendFixture(make([]byte, 0, roomy), i, n)
		decoding.start()
		defer decoding.stop()
		return fixture.Decode(doc)
	}
	v1, took, _, err := commit(ctx, store, draft(0, "first", time.Unix(0, 0)), n, read)
	if err != nil {
		return err
	}
	s.decode, s.imported = append(s.decode, perMilli(n, decoding.sum)), append(s.imported, perMilli(n, took))
	if took, err = scan(ctx, store, v1); err != nil {
		return err
	}
	s.scan = append(s.scan, perMilli(n, took))
	// A page that is mapped is not let go of.
	if err := store.Close(); err != nil {
		return err
	}
	cold := forget(path) == nil
	again, err := fixturestore.Open(path, fixturestore.Options{})
	if err != nil {
		return err
	}
	store = again
	if took, err = scan(ctx, store, v1); err != nil {
		return err
	}
	if cold {
		s.cold = append(s.cold, perMilli(n, took))
	}

	size, before := fileSize(path), written()
	v2, took, sealing, err := commit(ctx, store, draft(1, "second", time.Unix(1, 0)), n, func(i int) (*fixture.Fixture, error) {
		if i%(n/changed) == 7 {
			return fixture.Decode(withNote(appendFixture(nil, i, n)))
		}
		return read(i)
	})
	if err != nil {
		return err
	}
	s.change, s.seal = append(s.change, milliseconds(took)), append(s.seal, milliseconds(sealing))
	s.grew, s.written = append(s.grew, float64(fileSize(path)-size)/1024), append(s.written, float64(written()-before)/1024)
	start, seen := time.Now(), 0
	err = store.Diff(v1, v2, func(fixturestore.Difference) error { seen++; return nil })
	s.diff = append(s.diff, milliseconds(time.Since(start)))
	if err == nil && seen < changed {
		err = fmt.Errorf("the two versions differ in %d fixtures, and should in %d", seen, changed)
	}
	return err
}

// withNote changes a document without changing its outcome.
func withNote(doc []byte) []byte { return append(doc[:len(doc)-1], `, "note": "changed"}`...) }

// chunk is how many fixtures are decoded before the clock runs over their Adds.
const chunk = 10_000

// commit commits a version, and gives how long Add and Seal took, and the Seal of it. read decodes; that is not counted.
func commit(ctx context.Context, store *fixturestore.Store, d fixturestore.Draft, n int, read func(i int) (*fixture.Fixture, error)) (v *fixturestore.Version, took, sealing time.Duration, err error) {
	var adding, closing stopwatch
	adding.start()
	c, err := store.Begin(d)
	adding.stop()
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Abort()) }()
	for from := 0; from < n; from += chunk {
		if err := ctx.Err(); err != nil {
			return nil, 0, 0, err
		}
		var fixtures []*fixture.Fixture
		for i := from; i < min(from+chunk, n); i++ {
			f, err := read(i)
			if err != nil {
				return nil, 0, 0, err
			}
			fixtures = append(fixtures, f)
		}
		adding.start()
		for _, f := range fixtures {
			if err := c.Add(f, nil); err != nil {
				return nil, 0, 0, err
			}
		}
		adding.stop()
	}
	closing.start()
	v, err = c.Seal(uint64(n), "")
	closing.stop()
	return v, adding.sum + closing.sum, closing.sum, err
}

// scan reads and verifies a whole version.
func scan(ctx context.Context, store *fixturestore.Store, v *fixturestore.Version) (time.Duration, error) {
	start := time.Now()
	blocks, err := store.Blocks(v)
	if err != nil {
		return 0, err
	}
	var seen uint64
	for i := range blocks.Len() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := blocks.ReadBlock(i, func(fixturestore.Entry) error { seen++; return nil }); err != nil {
			return 0, err
		}
	}
	if seen != v.Tally.Total {
		return 0, fmt.Errorf("%d of %d fixtures were read", seen, v.Tally.Total)
	}
	return time.Since(start), nil
}

// stopwatch adds up laps.
type stopwatch struct {
	from time.Time
	sum  time.Duration
}

func (s *stopwatch) start() { s.from = time.Now() }
func (s *stopwatch) stop()  { s.sum += time.Since(s.from) }

func perMilli(n int, took time.Duration) float64 { return float64(n) / took.Seconds() / 1000 }

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

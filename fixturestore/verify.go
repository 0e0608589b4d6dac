package fixturestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Summary counts what Verify read.
type Summary struct {
	Sets, Versions, Fixtures, Decisions, Waivers, Entries, Damaged uint64
}

// Verify reads everything that the store holds, recomputes every hash and every checksum, and calls damage for each
// thing that is not what it should be. What versions share is read once. An error says that it could not go on.
func (s *Store) Verify(ctx context.Context, damage func(error) error) (Summary, error) {
	v := &verifier{s: s, ctx: ctx, damage: damage, seen: map[fixture.Digest]bool{}}
	for _, step := range []func() error{v.versions, v.decisions, v.waivers, v.indexes, v.log} {
		if err := step(); err != nil {
			return v.sum, err
		}
	}
	return v.sum, nil
}

type verifier struct {
	s      *Store
	ctx    context.Context
	damage func(error) error
	seen   map[fixture.Digest]bool // leaves whose objects were read
	sum    Summary
}

func (v *verifier) report(err error) error {
	switch {
	case err == nil:
		return nil
	case v.ctx.Err() != nil:
		return v.ctx.Err() // that the check was cut short is no damage
	}
	v.sum.Damaged++
	return v.damage(err)
}

func (v *verifier) versions() error {
	keys, err := v.keys(bucketVersions)
	if err != nil {
		return err
	}
	last, next := "", uint64(1)
	for _, k := range keys {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		set, n, ok := splitVersionKey(k)
		if !ok {
			if err := v.report(corrupt("bucket \"versions\"", fmt.Errorf("malformed key %q", clip(k)))); err != nil {
				return err
			}
			continue
		}
		if set != last {
			v.sum.Sets++
			last, next = set, 1
		}
		if next < n { // one report, however far away a damaged key is
			if err := v.report(corrupt(versionName(set, next), fmt.Errorf("missing, and all up to version %d", n-1))); err != nil {
				return err
			}
		}
		next = n + 1
		v.sum.Versions++
		if err := v.report(v.version(set, n)); err != nil {
			return err
		}
	}
	return nil
}

// version recomputes the checksum of one version, and reads every fixture that no version before had.
func (v *verifier) version(set string, n uint64) error {
	version, err := v.s.Version(set, n)
	if err != nil {
		return err
	}
	if version.Parent != n-1 {
		return corrupt(version.Name(), fmt.Errorf("its parent is %d", version.Parent))
	}
	leaves, err := v.s.leaves(version)
	if err != nil {
		return err
	}
	sum := fixture.NewChecksum(version.Vocabulary)
	for _, leaf := range leaves {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		node, err := v.s.readNode(leaf)
		if err != nil {
			return fmt.Errorf("%s: %w", version.Name(), err)
		}
		for _, e := range node.entries {
			if err := sum.Add(e.id, e.digest, e.stubDigest()); err != nil {
				return corrupt(version.Name(), err)
			}
		}
		if v.seen[leaf.hash] {
			continue
		}
		v.seen[leaf.hash] = true
		if err := v.objects(version, node.entries); err != nil {
			return err
		}
	}
	if got := sum.Sum(); got != version.Checksum {
		return corrupt(version.Name(), fmt.Errorf("its checksum is %s, its content has %s", version.Checksum, got))
	}
	return nil
}

func (v *verifier) objects(version *Version, all []entry) error {
	for _, e := range all {
		v.sum.Fixtures++
		item, err := v.s.item(e)
		if err == nil {
			err = wellFormed(e, item)
		}
		if err != nil {
			// One damaged fixture must not hide the next.
			if err := v.report(fmt.Errorf("%s: %w", version.Name(), err)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wellFormed decodes a fixture anew: bytes that match their hash were still never a fixture if Decode refuses them.
func wellFormed(e entry, item Item) error {
	again, err := fixture.Decode(item.Fixture.Canonical())
	if err == nil && !bytes.Equal(again.Canonical(), item.Fixture.Canonical()) {
		err = errors.New("it is not in canonical form")
	}
	if err != nil {
		return objectError(e, err)
	}
	return nil
}

func (v *verifier) decisions() error {
	keys, err := v.keys(bucketDecisions)
	if err != nil {
		return err
	}
	next := uint64(1)
	for _, k := range keys {
		v.sum.Decisions++
		err := corrupt("bucket \"decisions\"", fmt.Errorf("malformed key %q", clip(k)))
		if len(k) == 8 {
			seq := binary.BigEndian.Uint64(k)
			err = v.replay(seq)
			if seq != next {
				err = errors.Join(corrupt(fmt.Sprintf("replay record %d", next), errors.New("missing")), err)
			}
			next = seq + 1
		}
		if err := v.report(err); err != nil {
			return err
		}
	}
	return nil
}

// replay reads a record, and holds the indexes against it.
func (v *verifier) replay(seq uint64) error {
	r, err := v.s.Replay(seq)
	if err != nil {
		return err
	}
	if _, err := v.s.ReplayByID(r.ID); err != nil {
		return corrupt("index of replay "+r.ID, err)
	}
	if r.Key != "" {
		if got, err := v.s.ReplayByKey(r.SubmittedBy, r.Key); err != nil || got == nil || got.Seq != seq {
			return corrupt(fmt.Sprintf("idempotency key %.80q", r.Key), errors.Join(err, fmt.Errorf("it does not lead to replay %s", r.ID)))
		}
	}
	if r.Release == "" {
		return nil
	}
	return v.s.view(func(tx *bolt.Tx) error {
		want := append(releasePrefix(r.Release, r.Set), number(seq)...)
		if k, _ := tx.Bucket(bucketReleases).Cursor().Seek(want); !bytes.Equal(k, want) {
			return corrupt(fmt.Sprintf("index of release %q", r.Release), fmt.Errorf("it lacks replay %s", r.ID))
		}
		return nil
	})
}

func (v *verifier) waivers() error {
	all, err := v.s.Waivers("", "")
	v.sum.Waivers = uint64(len(all))
	return v.report(err)
}

// indexes checks that what points to a record points to one.
func (v *verifier) indexes() error {
	keys, err := v.keys(bucketReleases)
	if err != nil {
		return err
	}
	for _, k := range keys {
		release, set, seq, ok := splitReleaseKey(k)
		err := corrupt("bucket \"releases\"", fmt.Errorf("malformed key %q", clip(k)))
		if ok {
			var r *Replay
			if r, err = v.s.Replay(seq); err == nil && (r.Release != release || r.Set != set) {
				err = corrupt(fmt.Sprintf("index of release %q", release), fmt.Errorf("it points to replay %d of release %q", seq, r.Release))
			}
		}
		if err := v.report(err); err != nil {
			return err
		}
	}
	keys, err = v.keys(bucketTags)
	if err != nil {
		return err
	}
	for _, k := range keys {
		set, tag, _ := bytes.Cut(k, []byte{0})
		if _, err := v.s.VersionByTag(string(set), string(tag)); err != nil {
			if err := v.report(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys copies the keys of a bucket: there are as many as versions, decisions or tags.
func (v *verifier) keys(bucket []byte) (out [][]byte, err error) {
	err = v.s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, _ []byte) error {
			if len(k) > bolt.MaxKeySize {
				return corrupt(fmt.Sprintf("bucket %q", bucket), fmt.Errorf("a key has %d bytes", len(k)))
			}
			out = append(out, bytes.Clone(k))
			return nil
		})
	})
	return out, err
}

// CheckPages has bbolt check its own pages. It must run in a process of its own: over damaged pages it can crash, hang
// or overflow the stack, and nothing can catch that.
func CheckPages(path string, damage func(error)) error {
	s, err := Open(path, Options{ReadOnly: true, IgnoreCheckpoint: true})
	if err != nil {
		return err
	}
	err = s.view(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			damage(corrupt("pages", err))
		}
		return nil
	})
	return errors.Join(err, s.Close())
}

package fixturestore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// CheckpointSuffix follows a store's path to make that of the file with its newest checkpoint.
const CheckpointSuffix = ".checkpoint"

// Checkpoint gives a signed checkpoint of the log as it is, and its size. Without a signer it gives no note.
func (s *Store) Checkpoint() (signed []byte, size uint64, err error) {
	if s.signer == nil {
		tree, err := s.Tree()
		return nil, uint64(tree.N), err
	}
	if err := s.witness(); err != nil {
		return nil, 0, err
	}
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	return s.checkpoint, uint64(s.checkpointSize), nil
}

// checkHistory holds the log against the checkpoint beside the file: a file that is older than it was restored from a
// backup or rolled back, and nothing inside the file shows that.
func (s *Store) checkHistory(o Options) error {
	signed, err := os.ReadFile(s.path + CheckpointSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return s.noCheckpoint(o)
	}
	if err != nil {
		return err
	}
	c, err := checkpoint.Read(signed)
	if err == nil && o.Verifier != nil {
		c, err = checkpoint.Open(signed, o.Verifier)
	}
	if err != nil {
		return corrupt(s.path+CheckpointSuffix, err)
	}
	s.checkpoint, s.checkpointSize = signed, c.Tree.N
	return s.CheckAgainst(c.Tree)
}

// CheckAgainst holds the log against a tree that was signed before. CodeCorrupt if it does not extend it.
func (s *Store) CheckAgainst(tree tlog.Tree) error {
	return s.view(func(tx *bolt.Tx) error {
		n := logSize(tx)
		if uint64(tree.N) > n {
			return corrupt("file", fmt.Errorf("it is older than its checkpoint: its log has %d entries, of which there were %d. "+
				"It was restored from a backup, or rolled back; to go on with it all the same, run `retrial log adopt`", n, tree.N))
		}
		now, err := treeAt(tx, uint64(tree.N))
		if err == nil && now.Hash != tree.Hash {
			err = corrupt("log", fmt.Errorf("its first %d entries are not those that the checkpoint was signed for", tree.N))
		}
		return err
	})
}

// noCheckpoint admits a file without a checkpoint where it cannot have one: a new log, or no signer.
func (s *Store) noCheckpoint(o Options) error {
	if o.Signer == nil || s.upgraded {
		return nil
	}
	return s.view(func(tx *bolt.Tx) error {
		if n := logSize(tx); n > 0 {
			return fixture.NewError(fixture.CodeCorrupt, "find", s.path+CheckpointSuffix, fmt.Errorf("missing, and the log has %d entries: "+
				"nothing shows that the file is not an older one. Copy it along with the file, or run `retrial log adopt` to go on without", n))
		}
		return nil
	})
}

// witness signs the log as it is, and has the file beside the store say so, durably, before anybody is told of what was
// written.
func (s *Store) witness() error {
	if s.signer == nil {
		return nil
	}
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	tree, err := s.Tree()
	if err != nil || s.checkpoint != nil && tree.N == s.checkpointSize {
		return err
	}
	signed, err := checkpoint.Sign(checkpoint.Checkpoint{Origin: s.signer.Name(), Tree: tree}, s.signer)
	if err != nil {
		return err
	}
	file := s.path + CheckpointSuffix
	switch on, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist) && s.checkpoint == nil:
	case err != nil:
		return fixture.NewError(fixture.CodeUnavailable, "read", file, err)
	case !bytes.Equal(on, s.checkpoint):
		return fixture.NewError(fixture.CodeConflict, "write", file, errors.New("somebody else has written it since this process did"))
	}
	err = replaceFile(file, signed)
	if err == nil && s.checkpoint == nil {
		err = syncDir(filepath.Dir(file)) // the first must not be lost: a log without one is refused
	}
	if err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "write", file, err)
	}
	s.checkpoint, s.checkpointSize = signed, tree.N
	return nil
}

// Adopt signs the log as it is, whatever the checkpoint beside the file says. It is for an operator who restored a backup on
// purpose. Whoever has pinned a newer checkpoint will still see it.
func Adopt(path string, o Options) (checkpoint.Checkpoint, error) {
	signer := o.Signer
	o.Signer, o.IgnoreCheckpoint = nil, true
	s, err := Open(path, o)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	s.signer, s.checkpoint = signer, nil
	if err := os.Remove(path + CheckpointSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return checkpoint.Checkpoint{}, errors.Join(err, s.Close())
	}
	err = s.witness()
	c := checkpoint.Checkpoint{}
	if err == nil {
		c, err = checkpoint.Read(s.checkpoint)
	}
	return c, errors.Join(err, s.Close())
}

// newSuffix stands in the name of a checkpoint that is being written.
const newSuffix = ".new-"

// sweepCheckpoints removes checkpoints that were being written when a process was killed. The store must be locked.
func (s *Store) sweepCheckpoints() error {
	dir, name := filepath.Split(s.path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+CheckpointSuffix+newSuffix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceFile writes a file beside the old one, and puts it in its place once its content is durable. After a power cut either
// is there, whole: an older checkpoint holds as well, since the log extends it.
func replaceFile(path string, b []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+newSuffix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

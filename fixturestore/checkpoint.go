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
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// CheckpointSuffix follows a store's path to make that of the file with its newest checkpoint.
const CheckpointSuffix = ".checkpoint"

// Checkpoint gives the signed checkpoint of the log as it is, and its size. Without a signer it gives no note.
func (s *Store) Checkpoint() (signed []byte, size uint64, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		size = logSize(tx)
		if s.signer != nil {
			signed = bytes.Clone(tx.Bucket(bucketMeta).Get(keyHead))
		}
		return nil
	})
	if err == nil && signed == nil && s.signer != nil {
		signed, err = s.signEmpty()
	}
	return signed, size, err
}

// signHead signs the log as it is in this transaction: an entry that nobody signed is never there.
func (s *Store) signHead(tx *bolt.Tx) error {
	if s.signer == nil {
		return nil
	}
	tree, err := treeAt(tx, logSize(tx))
	if err != nil {
		return err
	}
	signed, err := checkpoint.Sign(checkpoint.Checkpoint{Origin: s.signer.Name(), Tree: tree}, s.signer)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketMeta).Put(keyHead, signed)
}

// signEmpty signs a log without an entry.
func (s *Store) signEmpty() ([]byte, error) {
	root, err := tlog.TreeHash(0, nil)
	if err != nil {
		return nil, err
	}
	return checkpoint.Sign(checkpoint.Checkpoint{Origin: s.signer.Name(), Tree: tlog.Tree{Hash: root}}, s.signer)
}

// checkHead holds the log against the signature that it carries: all of it must be signed.
func (s *Store) checkHead(o Options) error {
	if o.Verifier == nil {
		return nil
	}
	return s.CheckSigned(o.Verifier)
}

// CheckSigned holds the whole log against its signature in the file: CodeCorrupt for an entry that nobody has signed.
func (s *Store) CheckSigned(verifier note.Verifier) error {
	return s.view(func(tx *bolt.Tx) error {
		signed := tx.Bucket(bucketMeta).Get(keyHead)
		if signed == nil && logSize(tx) == 0 {
			return nil
		}
		c, err := checkpoint.Open(bytes.Clone(signed), verifier)
		if err != nil {
			return corrupt("signature of the log", err)
		}
		now, err := treeAt(tx, logSize(tx))
		if err == nil && c.Tree != now {
			err = corrupt("log", fmt.Errorf("it has %d entries, and the server signed %d, or others: somebody else has written it", now.N, c.Tree.N))
		}
		return err
	})
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
	if o.Signer == nil {
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

// witness has the file beside the store say how far the log is, before anybody is told of what was written. What cannot be
// written there is noted, and tried again with the next write: the record and its signature are durable without it.
func (s *Store) witness() error {
	if s.signer == nil {
		return nil
	}
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	signed, size, err := s.Checkpoint()
	if err != nil {
		return err
	}
	if s.checkpoint == nil || int64(size) != s.checkpointSize {
		s.unwitnessed = s.replaceCheckpoint(signed, int64(size))
	}
	return nil
}

// behind gives why the file beside the store is behind, nil if it is not.
func (s *Store) behind() error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	return s.unwitnessed
}

// replaceCheckpoint swaps the file beside the store for a newer one. checkpointMu is held.
func (s *Store) replaceCheckpoint(signed []byte, size int64) error {
	file := s.path + CheckpointSuffix
	switch on, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist) && s.checkpoint == nil:
	case err != nil:
		return fixture.NewError(fixture.CodeUnavailable, "read", file, err)
	case !bytes.Equal(on, s.checkpoint):
		return fixture.NewError(fixture.CodeConflict, "write", file, errors.New("somebody else has written it since this process did"))
	}
	err := durable.ReplaceFile(file, signed) // an older one would hold as well, since the log extends it
	if err == nil && s.checkpoint == nil {
		err = durable.SyncDir(filepath.Dir(file)) // the first must not be lost: a log without one is refused
	}
	if err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "write", file, err)
	}
	s.checkpoint, s.checkpointSize = signed, size
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
	err = s.update(s.signHead)
	if err == nil {
		err = errors.Join(s.witness(), s.behind())
	}
	c := checkpoint.Checkpoint{}
	if err == nil {
		c, err = checkpoint.Read(s.checkpoint)
	}
	return c, errors.Join(err, s.Close())
}

// sweepCheckpoints removes checkpoints that were being written when a process was killed. The store must be locked.
func (s *Store) sweepCheckpoints() error {
	dir, name := filepath.Split(s.path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+CheckpointSuffix+durable.NewSuffix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

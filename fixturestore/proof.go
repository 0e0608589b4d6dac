package fixturestore

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// provenTree is treeAt, held against the log as it is: of a damaged hash no proof is made.
func provenTree(tx *bolt.Tx, n uint64) (tlog.Tree, error) {
	then, err := treeAt(tx, n)
	if err != nil || n == logSize(tx) {
		return then, err
	}
	now, err := treeAt(tx, logSize(tx))
	if err != nil {
		return then, err
	}
	proof, err := tlog.ProveTree(now.N, then.N, storedHashes(tx))
	if err == nil {
		err = tlog.CheckTree(proof, now.N, now.Hash, then.N, then.Hash)
	}
	if err != nil {
		return then, corrupt("log", err)
	}
	return then, nil
}

// InclusionProof proves that the log, when it had size entries, had the one at index. Zero stands for the whole log.
// CodeInvalid for an index or a size that it has not reached.
func (s *Store) InclusionProof(index, size uint64) (e *LogEntry, at uint64, proof tlog.RecordProof, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		if at = size; at == 0 {
			at = logSize(tx)
		}
		if at > logSize(tx) || index >= at {
			return fixture.NewError(fixture.CodeInvalid, "prove log entry", fmt.Sprint(index), fmt.Errorf("the log has %d entries", logSize(tx)))
		}
		if e, err = readEntry(tx, index); err != nil {
			return err
		}
		root, err := provenTree(tx, at)
		if err != nil {
			return err
		}
		if proof, err = tlog.ProveRecord(int64(at), int64(index), storedHashes(tx)); err == nil {
			err = tlog.CheckRecord(proof, root.N, root.Hash, int64(index), tlog.RecordHash(e.Leaf))
		}
		if err != nil {
			return corrupt("log", err)
		}
		return nil
	})
	return e, at, proof, err
}

// ConsistencyProof proves that the log of size entries extends the one of old. CodeInvalid for sizes that it has not
// reached, and for an old one that is not the smaller.
func (s *Store) ConsistencyProof(old, size uint64) (proof tlog.TreeProof, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		if n := logSize(tx); old == 0 || old > size || size > n {
			return fixture.NewError(fixture.CodeInvalid, "prove that the log of", fmt.Sprintf("%d entries extends that of %d", size, old), fmt.Errorf("the log has %d entries", n))
		}
		before, beforeErr := provenTree(tx, old)
		after, afterErr := provenTree(tx, size)
		if err := errors.Join(beforeErr, afterErr); err != nil {
			return err
		}
		if proof, err = tlog.ProveTree(int64(size), int64(old), storedHashes(tx)); err == nil {
			err = tlog.CheckTree(proof, after.N, after.Hash, before.N, before.Hash)
		}
		if err != nil {
			return corrupt("log", err)
		}
		return nil
	})
	return proof, err
}

package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

// KeySuffix follows a store's path to make that of its key, where the configuration names none.
const KeySuffix = ".key"

// OpenStore opens a store with the key that signs its log, making both if neither is there. keyPath may be empty: then the key
// stands beside the store. Errors are those of fixturestore.Open and identity.LoadOrCreate, and CodePrecondition for a log
// whose key is gone.
func OpenStore(path, keyPath string) (*fixturestore.Store, *identity.Key, error) {
	key, o, err := storeOptions(path, keyPath)
	if err != nil {
		return nil, nil, err
	}
	store, err := fixturestore.Open(path, o)
	return store, key, err
}

// AdoptStore signs the log of a store as it is, whatever the checkpoint beside it says.
func AdoptStore(path, keyPath string) (checkpoint.Checkpoint, error) {
	if _, err := os.Stat(path); err != nil {
		return checkpoint.Checkpoint{}, fixture.NewError(fixture.CodeNotFound, "adopt", path, err)
	}
	_, o, err := storeOptions(path, keyPath)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return fixturestore.Adopt(path, o)
}

func storeOptions(path, keyPath string) (key *identity.Key, o fixturestore.Options, err error) {
	if keyPath = cmp.Or(keyPath, path+KeySuffix); !exists(keyPath) && exists(path+fixturestore.CheckpointSuffix) {
		return nil, o, fixture.NewError(fixture.CodePrecondition, "open store", path, fmt.Errorf(
			"its log was signed by a key that is gone: %s. Put it back; with another one, remove %s and run `retrial log adopt`", keyPath, path+fixturestore.CheckpointSuffix))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, o, fixture.NewError(fixture.CodeUnavailable, "create store", path, err)
	}
	if key, err = identity.LoadOrCreate(keyPath); err != nil {
		return nil, o, err
	}
	if o.Signer, err = key.NoteSigner(LogOrigin); err != nil {
		return nil, o, err
	}
	o.Verifier, err = identity.NoteVerifier(LogOrigin, key.Public())
	return key, o, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

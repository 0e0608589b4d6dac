package identity

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxFileBytes bounds a key file. An Ed25519 key takes 119 bytes.
const maxFileBytes = 16 << 10

// Load reads a key file.
//
// CodeNotFound if there is none; CodePrecondition if its group or others may do anything with it (on Unix: mode 0600 or
// less is required); CodeInvalid if it is not exactly one Ed25519 key; CodeUnavailable if it cannot be read.
func Load(path string) (*Key, error) {
	const op = "load key"
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fixture.NewError(fixture.CodeNotFound, op, "", err)
	case err != nil:
		return nil, fixture.NewError(fixture.CodeUnavailable, op, "", err)
	}
	defer f.Close()
	// Of the open file, so that what was looked at is what is read.
	info, err := f.Stat()
	if err != nil {
		return nil, fixture.NewError(fixture.CodeUnavailable, op, "", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fixture.NewError(fixture.CodeInvalid, op, path, errors.New("it is no regular file"))
	}
	if modesCount && info.Mode().Perm()&0o077 != 0 {
		return nil, fixture.NewError(fixture.CodePrecondition, op, path, fmt.Errorf("its mode is %04o, and only its owner may have access: run chmod 600 %s", info.Mode().Perm(), path))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fixture.NewError(fixture.CodeUnavailable, op, "", err)
	}
	if len(b) > maxFileBytes {
		return nil, fixture.NewError(fixture.CodeInvalid, op, path, fmt.Errorf("it is over %d bytes, which no key is", maxFileBytes))
	}
	key, err := parsePrivatePEM(b)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, op, path, err)
	}
	return key, nil
}

// LoadOrCreate reads a key file, and makes one of mode 0600 where there is none. The file is whole or not there, whatever
// happens meanwhile, and is on disk before the key is given. Processes that call it at once all get the same key.
//
// Errors are those of Load, without CodeNotFound; CodeUnavailable if the file cannot be made. The directory must be there,
// on a file system with hard links.
func LoadOrCreate(path string) (*Key, error) {
	key, err := Load(path)
	if fixture.CodeOf(err) != fixture.CodeNotFound {
		return key, err
	}
	if err := create(path); err != nil {
		return nil, fixture.NewError(fixture.CodeUnavailable, "create key", path, err)
	}
	return Load(path)
}

// create makes a key file unless there is one, be it since a moment ago.
func create(path string) error {
	key, err := generate()
	if err != nil {
		return err
	}
	b, err := key.privatePEM()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".retrial-key-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		// A link, since a rename would replace the key that another process has made, and may have signed with.
		if err = os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(dir) // also for another's file: it may be about to, but this process uses the key now
}

// Package durable has files that are whole or not there, whatever ends the process or the machine.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// NewSuffix stands in the name of a file that is being written, behind the name of the one that it is to replace. What a
// process that was killed has left is found by it.
const NewSuffix = ".new-"

// ReplaceFile writes a file beside the old one, and puts it in its place once its content is durable. After a power cut either
// is there, whole. The file keeps the mode of the old one; where there is none, only its owner can read it.
func ReplaceFile(path string, b []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+NewSuffix+"*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	old, err := os.Stat(path)
	switch {
	case err == nil:
		err = tmp.Chmod(old.Mode().Perm())
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		_, err = tmp.Write(b)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// SyncDir puts on disk which files a directory has. Windows cannot, and needs not.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil && runtime.GOOS != "windows" {
		return errors.Join(err, d.Close())
	}
	return d.Close()
}

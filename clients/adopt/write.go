package adopt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/internal/durable"
)

// files gives what a recording's files have in them, by their paths with slashes.
func (a Adopted) files() map[string][]byte {
	body, prompt := a.declaration.Paths()
	value, err := setdir.Text(a.value)
	if err != nil {
		value = a.value // it is canonical: Text has nothing to refuse
	}
	return map[string][]byte{body: value, prompt: []byte(a.prompt)}
}

// Write writes what is new: first the files, then the manifest that declares them, so that whoever reads in between sees the set as it
// was. After an error the files that it made are gone again.
func (p *Plan) Write() (err error) {
	if len(p.Adopted) == 0 {
		return nil
	}
	var made []string
	defer func() {
		if err != nil {
			for _, file := range made {
				err = errors.Join(err, os.Remove(file))
			}
		}
	}()
	m := *p.manifest
	m.Recordings = slices.Clone(m.Recordings)
	for _, a := range p.Adopted {
		files := a.files()
		for _, path := range sortedKeys(files) {
			file := filepath.Join(p.dir, filepath.FromSlash(path))
			if _, err := os.Lstat(file); err == nil {
				continue // the plan saw that it has the same in it
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
				return fmt.Errorf("make the folder of %s: %w", path, err)
			}
			if err := durable.ReplaceFile(file, files[path]); err != nil {
				return fmt.Errorf("write %s: %w", path, err)
			}
			made = append(made, file)
		}
		m.Recordings = append(m.Recordings, a.declaration)
	}
	return m.Write(p.dir)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

//go:build unix

package identity

import "os"

// modesCount says whether the mode of a file says who may read it.
const modesCount = true

// syncDir puts on disk which files a directory has.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

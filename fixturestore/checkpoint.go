package fixturestore

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// CheckpointSuffix follows a store's path to make that of the file with its newest checkpoint.
const CheckpointSuffix = ".checkpoint"

// Checkpoint is what a signed note says of a log.
type Checkpoint struct {
	Origin string
	Tree   tlog.Tree
}

// ErrMalformedCheckpoint says that a text is no checkpoint.
var ErrMalformedCheckpoint = errors.New("malformed checkpoint")

func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Tree.N, base64.StdEncoding.EncodeToString(c.Tree.Hash[:]))
}

// OpenCheckpoint verifies a signed note and reads it.
func OpenCheckpoint(signed []byte, v note.Verifier) (Checkpoint, error) {
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrMalformedCheckpoint, err)
	}
	c, err := parseCheckpoint(n.Text)
	if err == nil && c.Origin != v.Name() {
		err = fmt.Errorf("%w: it is of log %q, the key of %q", ErrMalformedCheckpoint, c.Origin, v.Name())
	}
	return c, err
}

// ReadCheckpoint reads a signed note without a key, and so without proof of who signed it.
func ReadCheckpoint(signed []byte) (Checkpoint, error) {
	text, _, found := bytes.Cut(signed, []byte("\n\n"))
	if !found {
		return Checkpoint{}, ErrMalformedCheckpoint
	}
	return parseCheckpoint(string(text) + "\n")
}

func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, ErrMalformedCheckpoint
	}
	n, err := strconv.ParseInt(lines[1], 10, 64)
	root, rootErr := base64.StdEncoding.DecodeString(lines[2])
	c := Checkpoint{Origin: lines[0]}
	if err != nil || rootErr != nil || n < 0 || len(root) != tlog.HashSize || strconv.FormatInt(n, 10) != lines[1] {
		return Checkpoint{}, ErrMalformedCheckpoint
	}
	c.Tree.N = n
	copy(c.Tree.Hash[:], root)
	return c, nil
}

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
	c, err := ReadCheckpoint(signed)
	if err == nil && o.Verifier != nil {
		c, err = OpenCheckpoint(signed, o.Verifier)
	}
	if err != nil {
		return corrupt(s.path+CheckpointSuffix, err)
	}
	err = s.view(func(tx *bolt.Tx) error {
		n := logSize(tx)
		if uint64(c.Tree.N) > n {
			return corrupt("file", fmt.Errorf("it is older than %s: its log has %d entries, of which there were %d. "+
				"It was restored from a backup, or rolled back; to go on with it all the same, run `retrial log adopt`", s.path+CheckpointSuffix, n, c.Tree.N))
		}
		tree, err := treeAt(tx, uint64(c.Tree.N))
		if err == nil && tree.Hash != c.Tree.Hash {
			err = corrupt("log", fmt.Errorf("its first %d entries are not those that %s was signed for", c.Tree.N, s.path+CheckpointSuffix))
		}
		return err
	})
	s.checkpoint, s.checkpointSize = signed, c.Tree.N
	return err
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
	signed, err := note.Sign(&note.Note{Text: Checkpoint{s.signer.Name(), tree}.text()}, s.signer)
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
	if err := replaceFile(file, signed); err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "write", file, err)
	}
	s.checkpoint, s.checkpointSize = signed, tree.N
	return nil
}

// Adopt signs the log as it is, whatever the checkpoint beside the file says. It is for an operator who restored a backup on
// purpose. Whoever has pinned a newer checkpoint will still see it.
func Adopt(path string, o Options) (Checkpoint, error) {
	signer := o.Signer
	o.Signer, o.adopt = nil, true
	s, err := Open(path, o)
	if err != nil {
		return Checkpoint{}, err
	}
	s.signer, s.checkpoint = signer, nil
	if err := os.Remove(path + CheckpointSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, errors.Join(err, s.Close())
	}
	err = s.witness()
	c := Checkpoint{}
	if err == nil {
		c, err = ReadCheckpoint(s.checkpoint)
	}
	return c, errors.Join(err, s.Close())
}

// replaceFile writes a file beside the old one, and puts it in its place once it is durable.
func replaceFile(path string, b []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
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
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

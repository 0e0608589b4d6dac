// Package checkpoint reads and writes what a server signs of its log: a note of three lines, origin, size and root, as
// https://c2sp.org/tlog-checkpoint describes it.
package checkpoint

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is what a signed note says of a log.
type Checkpoint struct {
	Origin string
	Tree   tlog.Tree
}

// ErrMalformed says that a text is no checkpoint.
var ErrMalformed = errors.New("malformed checkpoint")

// Sign makes a signed note of c.
func Sign(c Checkpoint, s note.Signer) ([]byte, error) {
	return note.Sign(&note.Note{Text: c.text()}, s)
}

func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Tree.N, base64.StdEncoding.EncodeToString(c.Tree.Hash[:]))
}

// Open verifies a signed note and reads it.
func Open(signed []byte, v note.Verifier) (Checkpoint, error) {
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	c, err := parse(n.Text)
	if err == nil && c.Origin != v.Name() {
		err = fmt.Errorf("%w: it is of log %q, the key of %q", ErrMalformed, c.Origin, v.Name())
	}
	return c, err
}

// Read reads a signed note without a key, and so without proof of who signed it.
func Read(signed []byte) (Checkpoint, error) {
	text, _, found := bytes.Cut(signed, []byte("\n\n"))
	if !found {
		return Checkpoint{}, ErrMalformed
	}
	return parse(string(text) + "\n")
}

func parse(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, ErrMalformed
	}
	n, err := strconv.ParseInt(lines[1], 10, 64)
	root, rootErr := base64.StdEncoding.DecodeString(lines[2])
	c := Checkpoint{Origin: lines[0]}
	if err != nil || rootErr != nil || n < 0 || len(root) != tlog.HashSize || strconv.FormatInt(n, 10) != lines[1] {
		return Checkpoint{}, ErrMalformed
	}
	c.Tree.N = n
	copy(c.Tree.Hash[:], root)
	return c, nil
}

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/retrial-dev/retrial/clients/retrial"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// pinned is what was seen of a server's log, and the file that remembers it: "" where there can be none.
type pinned struct {
	pin  retrial.Pin
	file string
}

func (a *app) pinOf(server string) (*pinned, error) {
	file, err := pinFile(server)
	if err != nil {
		fmt.Fprintf(a.stderr, "retrial: the server's log is not remembered, so that a server which goes back in time is not noticed: %v\n", err)
		return &pinned{}, nil
	}
	pin, err := readPin(file)
	return &pinned{pin, file}, err
}

// check holds an answer of a server against its log, and remembers the log for the next answer.
func (p *pinned) check(ctx context.Context, conn *connection, req *gatev1.GetGateStatusRequest, res *gatev1.GetGateStatusResponse) error {
	now, err := retrial.CheckGate(ctx, conn, req, res, p.pin)
	if errors.Is(err, retrial.ErrTampered) {
		return &exit{exitUndecided, fmt.Errorf("no ruling can be relied on: %w\nIf the server was restored or got another key on purpose, remove %s", err, p.file)}
	}
	if err != nil || p.file == "" || now == p.pin {
		return err
	}
	// Another command may have seen more in the meantime: what is remembered never shrinks.
	if there, err := readPin(p.file); err != nil || there.Key != "" && there.Size >= now.Size {
		return err
	}
	return writePin(p.file, now)
}

// pinFile gives the file that remembers a server's log.
func pinFile(server string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	name := sha256.Sum256([]byte(server))
	return filepath.Join(dir, "retrial", "pins", hex.EncodeToString(name[:8])+".json"), nil
}

func readPin(file string) (pin retrial.Pin, err error) {
	if file == "" {
		return pin, nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return pin, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &pin)
	}
	if err == nil && (pin.Key == "" || pin.Size < 0) {
		err = errors.New("it names no key, or a negative size")
	}
	if err != nil {
		return pin, fixture.NewError(fixture.CodeInvalid, "read what was seen of the server's log", file, err)
	}
	return pin, nil
}

func writePin(file string, pin retrial.Pin) error {
	b, err := json.Marshal(pin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.ReplaceFile(file, append(b, '\n'))
}

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

// checkPinned holds an answer of a server against its log, and remembers the log for the next answer.
func (a *app) checkPinned(ctx context.Context, conn *connection, req *gatev1.GetGateStatusRequest, res *gatev1.GetGateStatusResponse) error {
	file, err := pinFile(a.server)
	if err != nil {
		fmt.Fprintf(a.stderr, "retrial: the server's log is not remembered, so that a server which goes back in time is not noticed: %v\n", err)
	}
	pin, err := readPin(file)
	if err != nil {
		return err
	}
	now, err := retrial.CheckGate(ctx, conn, req, res, pin)
	if errors.Is(err, retrial.ErrTampered) {
		return &exit{exitUndecided, fmt.Errorf("no ruling can be relied on: %w\nIf the server was restored or got another key on purpose, remove %s", err, file)}
	}
	if err != nil || file == "" || now == pin {
		return err
	}
	return writePin(file, now)
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

//go:build !linux

package checkerhost

import (
	"errors"
	"fmt"
	"os"
)

type fileID struct{}

func identify(*os.File) (fileID, error) { return fileID{}, nil }

func openProgram(int) (*os.File, error) {
	return nil, fmt.Errorf("this platform does not show the program of a process: %w", errors.ErrUnsupported)
}

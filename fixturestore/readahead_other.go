//go:build !linux

package fixturestore

import "os"

func newReadAhead(string) *readAhead { return &readAhead{} }

// willNeed cannot be said here.
func willNeed(*os.File, int64, int64) {}

package server

import (
	"net"
	"path"
	"slices"
	"strings"
)

// admits says whether one of the globs matches. "*" alone matches everything.
func admits(globs []string, s string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, s)
		return glob == "*" || ok && err == nil
	})
}

// admitsAddress is admits for addresses: the name and the port match apart, and a star stands for no dot, so that a pattern for
// some addresses does not admit a name that begins with one. Of a socket the whole path matches.
func admitsAddress(globs []string, address string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		if glob == "*" || strings.HasPrefix(address, "unix:") || strings.HasPrefix(glob, "unix:") {
			return admits([]string{glob}, address)
		}
		host, port, err := net.SplitHostPort(address)
		wantHost, wantPort, wantErr := net.SplitHostPort(glob)
		if err != nil || wantErr != nil || !admits([]string{wantPort}, port) {
			return false
		}
		labels, want := strings.Split(host, "."), strings.Split(wantHost, ".")
		if wantHost == "*" {
			return true
		}
		if len(labels) != len(want) {
			return false
		}
		for i, l := range labels {
			if ok, err := path.Match(want[i], l); err != nil || !ok {
				return false
			}
		}
		return true
	})
}

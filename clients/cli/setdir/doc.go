// Package setdir reads a fixture set from a directory: retrial.yaml, fixtures/, stubs/, allowlist.json.
//
// It promises that everything in the directory was read or named in an error: an unexpected file, an unknown key, a line
// that is no fixture. Files are read in ascending order of their paths, and nothing depends on that order. What it keeps
// of a JSON Lines file is where each fixture stands and its digest, so that a large set needs no memory for its text.
package setdir

package cli_test

import (
	"encoding/binary"
	"hash/fnv"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrial-dev/retrial/fixturestore"
)

// forge FILE SET: tags its first version as somebody does who can write the file and lacks the server's key.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: forge FILE SET")
	}
	s, err := fixturestore.Open(ts.MkAbs(args[0]), fixturestore.Options{IgnoreCheckpoint: true})
	ts.Check(err)
	ts.Check(s.Tag(args[1], 1, "forged", time.Unix(0, 0)))
	ts.Check(s.Close())
}

// leak FILE: adds a page that neither is in use nor free, as a bug of a file system or of bbolt would: every record holds.
func leak(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: leak FILE")
	}
	file := ts.MkAbs(args[0])
	b, err := os.ReadFile(file)
	ts.Check(err)
	const begin, size, high, txid, sum = 16, 24, 56, 64, 72 // in a meta page of bbolt
	page := int(binary.LittleEndian.Uint32(b[size:]))
	m := b[:page]
	if next := b[page:][:page]; binary.LittleEndian.Uint64(next[txid:]) > binary.LittleEndian.Uint64(m[txid:]) {
		m = next
	}
	pages := binary.LittleEndian.Uint64(m[high:]) + 1
	binary.LittleEndian.PutUint64(m[high:], pages)
	h := fnv.New64a()
	_, err = h.Write(m[begin:sum])
	ts.Check(err)
	binary.LittleEndian.PutUint64(m[sum:], h.Sum64())
	if missing := int(pages)*page - len(b); missing > 0 {
		b = append(b, make([]byte, missing)...)
	}
	ts.Check(os.WriteFile(file, b, 0o600))
}

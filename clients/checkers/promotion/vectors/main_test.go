package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"
)

// The vectors that other languages are held against are those that the reference checker gives.
func TestVectorsAreUpToDate(t *testing.T) {
	var want bytes.Buffer
	if err := write(&want, "../../../.."); err != nil {
		t.Fatal(err)
	}
	got, err := os.Open("../testdata/vectors.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	have, expected := unzip(t, got), unzip(t, &want)
	if !bytes.Equal(have, expected) {
		t.Fatal("testdata/vectors.jsonl.gz is not what `go run ./clients/checkers/promotion/vectors` writes")
	}
	n, answers, named := 0, map[string]int{}, map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(have)); d.More(); n++ {
		var v Vector
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if named[v.Name] {
			t.Errorf("two vectors are called %q", v.Name)
		}
		named[v.Name] = true
		switch {
		case v.Outcome != nil:
			answers[v.Outcome.ReasonCode]++
		default:
			answers[v.Error.Code]++
		}
	}
	if n != 200+generatedCount {
		t.Errorf("%d vectors", n)
	}
	for _, code := range []string{"scope_mismatch", "stale", "already_promoted", "superseded", "below_threshold", "preference", "fact", "uncorroborated_fact", "INVALID_INPUT", "STUB_MISSING"} {
		if answers[code] < 20 {
			t.Errorf("only %d vectors of %s: %v", answers[code], code, answers)
		}
	}
}

func unzip(t *testing.T, r io.Reader) []byte {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

package modelserver

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// vector is one embedding.
type vector struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // a []json.Number, or base64
}

var errNoVectors = errors.New("the recording is no array of numbers, nor an array of such arrays, and so no embeddings")

// vectorsOf reads a recorded value: an array of numbers for one input, an array of arrays for several, or for one.
func vectorsOf(value string, inputs int) ([][]json.Number, error) {
	var all [][]json.Number
	if one := numbers([]byte(value)); one != nil {
		all = [][]json.Number{one}
	} else {
		for item := range fixture.Items([]byte(value)) {
			all = append(all, numbers(item))
		}
	}
	if len(all) == 0 || slices.ContainsFunc(all, func(v []json.Number) bool { return v == nil }) {
		return nil, errNoVectors
	}
	if len(all) != inputs {
		return nil, fmt.Errorf("the recording has %d embeddings, and there are %d inputs", len(all), inputs)
	}
	return all, nil
}

// numbers gives the literals of a canonical array of numbers; nil where it is anything else, or empty.
func numbers(array []byte) (out []json.Number) {
	for n := range fixture.Items(array) {
		if n[0] != '-' && (n[0] < '0' || n[0] > '9') {
			return nil
		}
		out = append(out, json.Number(n))
	}
	return out
}

// packed gives a vector in the form that the SDKs ask for by default: base64 over 32-bit floats, the lowest byte first.
func packed(v []json.Number) (string, error) {
	var raw []byte
	for _, n := range v {
		f, err := n.Float64()
		if err != nil {
			return "", err
		}
		if math.IsInf(float64(float32(f)), 0) {
			return "", fmt.Errorf("%.40s is no 32-bit float, which base64 has", n)
		}
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(f)))
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

func (c call) embeddings(r Recording) (func(http.ResponseWriter), error) {
	all, err := vectorsOf(r.Value, c.Inputs())
	if err != nil {
		return nil, err
	}
	var data []vector
	for i, v := range all {
		out := vector{Object: "embedding", Index: i, Embedding: v}
		if c.base64 {
			if out.Embedding, err = packed(v); err != nil {
				return nil, err
			}
		}
		data = append(data, out)
	}
	return func(w http.ResponseWriter) {
		writeJSON(w, map[string]any{"object": "list", "data": data, "model": r.Model, "usage": map[string]int{"prompt_tokens": 0, "total_tokens": 0}})
	}, nil
}

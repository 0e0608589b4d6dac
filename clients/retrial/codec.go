package retrial

import (
	"bytes"
	"errors"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that everything but the hot path goes through
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/server/wire"
)

// codec reads batches of cases and writes batches of results without generated messages and, once a stream is under
// way, almost without allocating: cases are slices of the message, and the next message takes their place. That is why a
// checker must keep nothing of a Case. Everything else is left to the standard codec.
type codec struct {
	encoding.CodecV2
	in, out *wire.Pool
}

func newCodec() codec { return codec{encoding.GetCodecV2("proto"), new(wire.Pool), new(wire.Pool)} }

// batch is a CheckRequest on its way in.
type batch struct {
	opened bool
	open   map[string][]byte
	cases  []inCase
	buf    mem.Buffer
}

type inCase struct{ Case }

// results is a CheckResponse on its way out.
type results struct{ buf, body []byte }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*batch)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if in.buf != nil {
		in.buf.Free()
	}
	in.buf = data.MaterializeToBuffer(c.in)
	in.opened, in.open, in.cases = false, nil, in.cases[:0]
	w := wire.Over(in.buf.ReadOnlyData())
	for w.Next() {
		var err error
		switch w.Number {
		case 1:
			err = in.readOpen(w.Bytes)
		case 2:
			err = in.readCase(w.Bytes)
		}
		if err != nil {
			return err
		}
	}
	return w.Err
}

func (b *batch) readOpen(value []byte) error {
	b.opened, b.open = true, map[string][]byte{}
	w := wire.Over(value)
	for w.Next() {
		if w.Number != 1 {
			continue
		}
		var name string
		var parameter []byte
		p := wire.Over(w.Bytes)
		for p.Next() {
			switch p.Number {
			case 1:
				name = string(p.Bytes)
			case 2:
				parameter = bytes.Clone(p.Bytes)
			}
		}
		if p.Err != nil {
			return p.Err
		}
		b.open[name] = parameter
	}
	return w.Err
}

func (b *batch) readCase(value []byte) error {
	if len(b.cases) < cap(b.cases) {
		b.cases = b.cases[:len(b.cases)+1]
	} else {
		b.cases = append(b.cases, inCase{})
	}
	c := &b.cases[len(b.cases)-1]
	c.id, c.input, c.stubs, c.used, c.missing = 0, nil, c.stubs[:0], c.used[:0], ""
	w := wire.Over(value)
	for w.Next() {
		switch w.Number {
		case 1:
			c.id = w.Varint
		case 2:
			c.input = w.Bytes
		case 3:
			if err := c.readStub(w.Bytes); err != nil {
				return err
			}
		}
	}
	return w.Err
}

func (c *inCase) readStub(value []byte) error {
	var s stubValue
	w := wire.Over(value)
	for w.Next() {
		switch w.Number {
		case 1:
			s.call = string(w.Bytes)
		case 2:
			s.value = w.Bytes
		}
	}
	c.stubs = append(c.stubs, s)
	return w.Err
}

// maxErrorText bounds the message of a case's error, in bytes.
const maxErrorText = 2 << 10

// add appends one result. Field numbers as in checker.proto: CheckResponse.results is 1; Result has case_id 1, outcome 2,
// error 3, stubs_used 4; Outcome has verdict 1, reason_code 2, output 3; CaseError has code 1, message 2, call 3.
func (r *results) add(c *inCase, o Outcome, err error) {
	b := protowire.AppendTag(r.body[:0], 1, protowire.VarintType)
	b = protowire.AppendVarint(b, c.id)
	if err != nil {
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendBytes(b, caseError(err))
	} else {
		size := sizeOf(o.Verdict) + sizeOf(o.ReasonCode) + sizeOf(string(o.Output))
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
		b = appendText(b, 1, o.Verdict)
		b = appendText(b, 2, o.ReasonCode)
		b = appendText(b, 3, string(o.Output))
	}
	for _, call := range c.used {
		b = protowire.AppendTag(b, 4, protowire.BytesType)
		b = protowire.AppendString(b, call)
	}
	r.body = b
	r.buf = protowire.AppendTag(r.buf, 1, protowire.BytesType)
	r.buf = protowire.AppendBytes(r.buf, b)
}

// sizeOf and appendText leave out what is empty, as proto3 does. The field numbers are below 16, so that a tag is one
// byte.
func sizeOf(s string) int {
	if s == "" {
		return 0
	}
	return 1 + protowire.SizeBytes(len(s))
}

func appendText(b []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func caseError(err error) []byte {
	code, call := checkerv1.CaseErrorCode_CASE_ERROR_CODE_INTERNAL, ""
	var input *InputError
	var missing *StubMissingError
	switch {
	case errors.As(err, &missing):
		code, call = checkerv1.CaseErrorCode_CASE_ERROR_CODE_STUB_MISSING, missing.Call
	case errors.As(err, &input):
		code = checkerv1.CaseErrorCode_CASE_ERROR_CODE_INVALID_INPUT
	}
	msg := err.Error()
	b := protowire.AppendTag(nil, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(code))
	b = appendText(b, 2, msg[:min(len(msg), maxErrorText)])
	return appendText(b, 3, call)
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := v.(*results)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	buf := c.out.Get(len(out.buf))
	copy(*buf, out.buf)
	return mem.BufferSlice{mem.NewBuffer(buf, c.out)}, nil
}

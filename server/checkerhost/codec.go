package checkerhost

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that everything but the hot path goes through
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/wire"
)

// codec writes batches of cases and reads batches of results without going through generated messages: the stored bytes
// are copied once, straight into the message. Everything else is left to the standard codec. It belongs to one stream.
type codec struct {
	encoding.CodecV2
	words   map[string]string
	in, out wire.Pool
}

func newCodec() *codec {
	return &codec{CodecV2: encoding.GetCodecV2("proto"), words: map[string]string{}}
}

// requests is a CheckRequest with cases, on its way out.
type requests []replayer.Request

// answers is a CheckResponse, on its way in.
type answers struct{ list []replayer.Answer }

// Marshal implements encoding.CodecV2.
func (c *codec) Marshal(v any) (mem.BufferSlice, error) {
	batch, ok := v.(requests)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	size := 0
	for i := range batch {
		n := caseSize(&batch[i])
		size += 1 + protowire.SizeBytes(n)
	}
	buf := c.out.Get(size)
	*buf = appendRequests((*buf)[:0], batch)
	return mem.BufferSlice{mem.NewBuffer(buf, &c.out)}, nil
}

// caseSize gives the exact size of a Case on the wire.
func caseSize(r *replayer.Request) int {
	n := 1 + protowire.SizeVarint(r.CaseID) + 1 + protowire.SizeBytes(r.Fixture.InputSize())
	for i := range r.Stubs {
		n += 1 + protowire.SizeBytes(stubSize(&r.Stubs[i]))
	}
	return n
}

func stubSize(s *replayer.Stub) int {
	return 1 + protowire.SizeBytes(len(s.Call)) + 1 + protowire.SizeBytes(len(s.Value))
}

// Tags of the fields as they stand in checker.proto: CheckRequest.cases is 2; Case has case_id 1, input 2, stubs 3; Stub
// has call 1, value 2. All are below 16, so that a tag is one byte.
const (
	tagCases  = 2<<3 | byte(protowire.BytesType)
	tagCaseID = 1<<3 | byte(protowire.VarintType)
	tagInput  = 2<<3 | byte(protowire.BytesType)
	tagStubs  = 3<<3 | byte(protowire.BytesType)
	tagCall   = 1<<3 | byte(protowire.BytesType)
	tagValue  = 2<<3 | byte(protowire.BytesType)
)

func appendRequests(b []byte, batch []replayer.Request) []byte {
	for i := range batch {
		r := &batch[i]
		b = protowire.AppendVarint(append(b, tagCases), uint64(caseSize(r)))
		b = protowire.AppendVarint(append(b, tagCaseID), r.CaseID)
		b = protowire.AppendVarint(append(b, tagInput), uint64(r.Fixture.InputSize()))
		b = r.Fixture.AppendInput(b)
		for j := range r.Stubs {
			s := &r.Stubs[j]
			b = protowire.AppendVarint(append(b, tagStubs), uint64(stubSize(s)))
			b = protowire.AppendString(append(b, tagCall), s.Call)
			b = protowire.AppendBytes(append(b, tagValue), s.Value)
		}
	}
	return b
}

// Unmarshal implements encoding.CodecV2.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*answers)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(&c.in)
	defer buf.Free()
	return c.results(buf.ReadOnlyData(), in)
}

// Bounds of one message of results. No more cases than that are ever in flight, and no case carries more stubs.
const (
	maxResults   = 2048
	maxStubsUsed = 256
)

// results reads a CheckResponse into in.list, which the next one overwrites.
func (c *codec) results(b []byte, in *answers) error {
	in.list = in.list[:0]
	w := wire.Over(b)
	for w.Next() {
		if w.Number == 1 {
			if len(in.list) == maxResults {
				return fmt.Errorf("%w: more than %d results, which is more than can be unanswered", wire.ErrMalformed, maxResults)
			}
			in.list = append(in.list, replayer.Answer{})
			if err := c.result(w.Bytes, &in.list[len(in.list)-1]); err != nil {
				return err
			}
		}
	}
	return w.Err
}

func (c *codec) result(b []byte, a *replayer.Answer) (err error) {
	answered := false
	w := wire.Over(b)
	for w.Next() && err == nil {
		switch w.Number {
		case 1:
			a.CaseID = w.Varint
		case 2:
			answered, a.Err = true, nil
			a.Outcome, err = c.outcome(w.Bytes)
		case 3:
			answered, a.Outcome = true, fixture.Outcome{}
			a.Err, err = c.caseError(w.Bytes)
		case 4:
			if len(a.StubsUsed) == maxStubsUsed {
				return fmt.Errorf("%w: a result names more than %d stubs", wire.ErrMalformed, maxStubsUsed)
			}
			a.StubsUsed = append(a.StubsUsed, c.word(w.Bytes))
		}
	}
	if !answered {
		a.Err = &replayer.CaseError{Message: "the result has neither an outcome nor an error"}
	}
	return errors.Join(err, w.Err)
}

func (c *codec) outcome(b []byte) (o fixture.Outcome, err error) {
	w := wire.Over(b)
	for w.Next() {
		switch w.Number {
		case 1:
			o.Verdict = c.word(w.Bytes)
		case 2:
			o.ReasonCode = c.word(w.Bytes)
		case 3:
			if len(w.Bytes) > 0 {
				o.Output = bytes.Clone(w.Bytes)
			}
		}
	}
	return o, w.Err
}

func (c *codec) caseError(b []byte) (*replayer.CaseError, error) {
	e := &replayer.CaseError{}
	missing := false
	w := wire.Over(b)
	for w.Next() {
		switch w.Number {
		case 1:
			missing = w.Varint == 3 // CASE_ERROR_CODE_STUB_MISSING
		case 2:
			e.Message = fixture.Printable(string(w.Bytes[:min(len(w.Bytes), 4096)]), 500)
		case 3:
			e.StubMissing = fixture.Printable(string(w.Bytes[:min(len(w.Bytes), 4096)]), 256)
		}
	}
	switch {
	case !missing:
		e.StubMissing = ""
	case e.StubMissing == "":
		e.StubMissing = "(unnamed)"
	}
	return e, w.Err
}

// maxWords bounds the words that are kept, maxWord their length: verdicts and reason codes are few and short.
const (
	maxWords = 4096
	maxWord  = 256
)

// word makes a string of bytes that are likely to have come before.
func (c *codec) word(b []byte) string {
	if s, ok := c.words[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(c.words) < maxWords && len(s) <= maxWord {
		c.words[s] = s
	}
	return s
}

package checkerhost

import (
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
	words map[string]string
}

func newCodec() *codec {
	return &codec{encoding.GetCodecV2("proto"), map[string]string{}}
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
	for _, r := range batch {
		size += requestSize(r)
	}
	pool := mem.DefaultBufferPool()
	buf := pool.Get(size)
	*buf = appendRequests((*buf)[:0], batch)
	return mem.BufferSlice{mem.NewBuffer(buf, pool)}, nil
}

// requestSize is at least the size of a request on the wire.
func requestSize(r replayer.Request) int {
	n := len(r.Fixture.Canonical()) + 48
	for _, s := range r.Stubs {
		n += len(s.Call) + len(s.Value) + 24
	}
	return n
}

// appendRequests writes field numbers as they stand in checker.proto: CheckRequest.cases is 2; Case has case_id 1,
// input 2, stubs 3; Stub has call 1, value 2.
func appendRequests(b []byte, batch []replayer.Request) []byte {
	var body, stub []byte
	for _, r := range batch {
		body = protowire.AppendTag(body[:0], 1, protowire.VarintType)
		body = protowire.AppendVarint(body, r.CaseID)
		body = protowire.AppendTag(body, 2, protowire.BytesType)
		body = appendSized(body, r.Fixture.AppendInput)
		for _, s := range r.Stubs {
			stub = protowire.AppendTag(stub[:0], 1, protowire.BytesType)
			stub = protowire.AppendString(stub, s.Call)
			stub = protowire.AppendTag(stub, 2, protowire.BytesType)
			stub = protowire.AppendBytes(stub, s.Value)
			body = protowire.AppendTag(body, 3, protowire.BytesType)
			body = protowire.AppendBytes(body, stub)
		}
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendBytes(b, body)
	}
	return b
}

// appendSized appends what write appends, behind its length. Room for a length of five bytes is left, and closed again
// if it was not needed.
func appendSized(b []byte, write func([]byte) []byte) []byte {
	const room = 5
	start := len(b)
	b = write(append(b, make([]byte, room)...))
	n := len(b) - start - room
	head := protowire.AppendVarint(b[start:start], uint64(n))
	copy(b[start+len(head):], b[start+room:])
	return b[:start+len(head)+n]
}

// Unmarshal implements encoding.CodecV2.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*answers)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return c.results(buf.ReadOnlyData(), in)
}

// Bounds of one message of results. No more cases than that are ever in flight, and no case carries more stubs.
const (
	maxResults   = 2048
	maxStubsUsed = 256
)

func (c *codec) results(b []byte, in *answers) error {
	return wire.Fields(b, func(n protowire.Number, value []byte, _ uint64) error {
		if n != 1 {
			return nil
		}
		if len(in.list) == maxResults {
			return fmt.Errorf("%w: more than %d results, which is more than can be unanswered", wire.ErrMalformed, maxResults)
		}
		a, err := c.result(value)
		in.list = append(in.list, a)
		return err
	})
}

func (c *codec) result(b []byte) (a replayer.Answer, err error) {
	answered := false
	err = wire.Fields(b, func(n protowire.Number, value []byte, v uint64) (err error) {
		switch n {
		case 1:
			a.CaseID = v
		case 2:
			answered, a.Err = true, nil
			a.Outcome, err = c.outcome(value)
		case 3:
			answered, a.Outcome = true, fixture.Outcome{}
			a.Err, err = c.caseError(value)
		case 4:
			if len(a.StubsUsed) == maxStubsUsed {
				return fmt.Errorf("%w: a result names more than %d stubs", wire.ErrMalformed, maxStubsUsed)
			}
			a.StubsUsed = append(a.StubsUsed, c.word(value))
		}
		return err
	})
	if err == nil && !answered {
		a.Err = &replayer.CaseError{Message: "the result has neither an outcome nor an error"}
	}
	return a, err
}

func (c *codec) outcome(b []byte) (o fixture.Outcome, err error) {
	err = wire.Fields(b, func(n protowire.Number, value []byte, _ uint64) error {
		switch n {
		case 1:
			o.Verdict = c.word(value)
		case 2:
			o.ReasonCode = c.word(value)
		case 3:
			if len(value) > 0 {
				o.Output = append([]byte(nil), value...)
			}
		}
		return nil
	})
	return o, err
}

func (c *codec) caseError(b []byte) (*replayer.CaseError, error) {
	e := &replayer.CaseError{}
	missing := false
	err := wire.Fields(b, func(n protowire.Number, value []byte, v uint64) error {
		switch n {
		case 1:
			missing = v == 3 // CASE_ERROR_CODE_STUB_MISSING
		case 2:
			e.Message = fixture.Printable(string(value[:min(len(value), 4096)]), 500)
		case 3:
			e.StubMissing = fixture.Printable(string(value[:min(len(value), 4096)]), 256)
		}
		return nil
	})
	switch {
	case !missing:
		e.StubMissing = ""
	case e.StubMissing == "":
		e.StubMissing = "(unnamed)"
	}
	return e, err
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

package checkerhost

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer"
)

// R25: whatever bytes a checker sends, the decoder neither panics nor keeps a part of the message, bounds and cleans the
// texts of errors, and reads what the generated code would have written as the generated code reads it.
func FuzzAnswers(f *testing.F) {
	for _, m := range []*checkerv1.CheckResponse{
		{},
		{Results: []*checkerv1.Result{{CaseId: 1, Answer: outcomeOf("keep", "fresh", `{"a":1}`), StubsUsed: []string{"classify"}}}},
		{Results: []*checkerv1.Result{{CaseId: 2, Answer: errorOf(3, "no stub\x1b[2J", "oracle\n")}, {}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{
		"\xff\xff\xff\xff", "\x0a\x00", "\x0a\x80\x80\x80\x80\x08", "\x08\x01", // no message; empty result; a length of 2 GB; results as a number
		"\x0a\x02\x10\x01", "\x0a\x04\x12\x02\x08\x01", // outcome and verdict as numbers
		"\x0a\x06\x12\x00\x1a\x00\x12\x00", // outcome, error, outcome
		"\x0b\x0c", "\x0a\x02\x0b\x0c",     // groups
		"\x0a\x05\x1a\x03\x12\x01\xff", // an error text that is no UTF-8
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sent := bytes.Clone(data)
		var in answers
		if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(sent)}, &in); err != nil {
			return
		}
		for _, a := range in.list {
			checkError(t, a.Err)
		}
		before := deepCopy(in.list)
		for i := range sent {
			sent[i] ^= 0xFF // the buffer is somebody else's now
		}
		if !reflect.DeepEqual(in.list, before) {
			t.Errorf("the answers change with the buffer that they were read from")
		}
		var m checkerv1.CheckResponse
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		if hasUnknown(m.ProtoReflect()) {
			return // a field of another type than the contract's counts as that field here, and is skipped there
		}
		if want := answersOf(&m); bytes.Equal(again, data) && !reflect.DeepEqual(in.list, want) {
			t.Errorf("got  %+v\nwant %+v", in.list, want)
		}
	})
}

// hasUnknown says whether a message has fields that the contract does not know.
func hasUnknown(m protoreflect.Message) bool {
	unknown := len(m.GetUnknown()) > 0
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				unknown = unknown || hasUnknown(v.List().Get(i).Message())
			}
		default:
			unknown = unknown || hasUnknown(v.Message())
		}
		return !unknown
	})
	return unknown
}

func checkError(t *testing.T, e *replayer.CaseError) {
	t.Helper()
	if e == nil {
		return
	}
	for _, text := range []string{e.Message, e.StubMissing} {
		checkClean(t, text)
		if len(text) > 3*500+len("…") {
			t.Errorf("a text of %d bytes", len(text))
		}
	}
}

// deepCopy copies answers so that nothing of them shares memory.
func deepCopy(list []replayer.Answer) []replayer.Answer {
	out := slices.Clone(list)
	for i, a := range out {
		out[i].Outcome.Verdict, out[i].Outcome.ReasonCode = strings.Clone(a.Outcome.Verdict), strings.Clone(a.Outcome.ReasonCode)
		out[i].Outcome.Output = bytes.Clone(a.Outcome.Output)
		if a.Err != nil {
			out[i].Err = &replayer.CaseError{Message: strings.Clone(a.Err.Message), StubMissing: strings.Clone(a.Err.StubMissing)}
		}
		out[i].StubsUsed = slices.Clone(a.StubsUsed)
		for j, s := range out[i].StubsUsed {
			out[i].StubsUsed[j] = strings.Clone(s)
		}
	}
	return out
}

//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// notText stands in a string for as many bytes that are no UTF-8: the library would refuse to write them.
const notText = "<no-UTF-8>"

// mutated gives what travels for a copy of a message of which one to three members, at any depth, are something else.
func mutated(r *rand.Rand, m proto.Message) ([]byte, error) {
	m = proto.Clone(m)
	for range 1 + r.IntN(3) {
		mutate(r, m.ProtoReflect(), 0)
	}
	b, err := proto.Marshal(m)
	return bytes.ReplaceAll(b, []byte(notText), bytes.Repeat([]byte{0xff}, len(notText))), err
}

// mutate changes one member, set or not.
func mutate(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	if fields.Len() == 0 || r.IntN(20) == 0 {
		m.SetUnknown(unknownFields(r))
		return
	}
	f := fields.Get(r.IntN(fields.Len()))
	switch {
	case r.IntN(6) == 0:
		m.Clear(f)
	case f.IsMap():
		for range 1 + r.IntN(3) {
			key := value(r, m.NewField(f).Map(), f.MapKey(), depth)
			m.Mutable(f).Map().Set(key.MapKey(), value(r, m.NewField(f).Map(), f.MapValue(), depth))
		}
	case f.IsList():
		list := m.Mutable(f).List()
		if list.Len() > 0 && f.Message() != nil && r.IntN(2) == 0 {
			mutate(r, list.Get(r.IntN(list.Len())).Message(), depth+1)
			return
		}
		n := 1
		if r.IntN(4) == 0 {
			n = 200
		}
		for one := value(r, list, f, depth); n > 0; n-- {
			list.Append(one)
		}
	case f.Message() != nil && m.Has(f) && depth < 8:
		mutate(r, m.Mutable(f).Message(), depth+1)
	default:
		m.Set(f, value(r, m, f, depth))
	}
}

// newMessage makes an empty message for a field, a list's element or a map's value.
func newMessage(in any, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch in := in.(type) {
	case protoreflect.List:
		return in.NewElement()
	case protoreflect.Map:
		return in.NewValue()
	}
	return in.(protoreflect.Message).NewField(f)
}

// value makes a value that nobody would send.
func value(r *rand.Rand, in any, f protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	numbers := []uint64{0, 1, 2, 7, 255, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64, r.Uint64()}
	n := numbers[r.IntN(len(numbers))]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(n)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(n)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(math.Float32frombits(uint32(n)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(n))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text(r))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(document(r))
	}
	m := newMessage(in, f)
	if depth < 8 {
		mutate(r, m.Message(), depth+1)
	}
	return m
}

func text(r *rand.Rand) string {
	all := []string{
		"", " ", "\x00", "notes\x00", "notes\x00x", "a\nb", "\x1b[31m", "../../etc/passwd", "%s%d%n", "*", "[", "[a", "n-*", "notes@1", "notes:t", "~", "\u202e", "\ufeff", "e\u0301",
		"sha256:", "sha256:" + strings.Repeat("0", 64), "unix:/nowhere", "127.0.0.1:1", "-1", "1e999", "null", "{}", "AAAAAAAAAAA", "_____w", "/////w==",
		notText, "notes" + notText, strings.Repeat("x", 257), strings.Repeat("é", 5000), strings.Repeat("x", 70<<10), fmt.Sprint(r.Uint64()), "\U0010ffff",
	}
	return all[r.IntN(len(all))]
}

func document(r *rand.Rand) []byte {
	all := []string{
		"", "{", "{}", "[]", "null", "1", `{"fixture_id":"n-01"}`, `{"fixture_id":"n-01","fixture_id":"n-02"}`, `{"N":1e400}`, `{"a":"\ud800"}`, "\xff\xfe", "\ufeff{}",
		strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000), `{"a":"` + strings.Repeat("x", 100<<10) + `"}`, string(noise(r, 100)),
		`{"fixture_id":"` + strings.Repeat("x", 300) + `","source_row_id":"r","verdict":"keep","reason_code":"r","decided_at":"2026-02-14T09:12:00Z"}`,
		`{"fixture_id":"z","source_row_id":"r","verdict":"keep","reason_code":"r","decided_at":"9999-99-99T99:99:99Z"}`,
	}
	return []byte(all[r.IntN(len(all))])
}

// unknownFields makes a few fields that no message has.
func unknownFields(r *rand.Rand) (b []byte) {
	for range 1 + r.IntN(4) {
		b = protowire.AppendTag(b, protowire.Number(1000+r.IntN(1<<20)), protowire.BytesType)
		b = protowire.AppendBytes(b, noise(r, r.IntN(50)))
	}
	return b
}

// Package wire holds what both ends of the plugin contract share below the generated code: the handshake of a launched
// checker, and a walk over the fields of a message for the two hot paths.
package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The handshake of a launched checker. It is no secret: it keeps a person who starts a checker by hand from waiting for
// nothing.
const (
	// ContractVersion is the version of the plugin contract.
	ContractVersion = 1
	// MagicCookieKey and MagicCookieValue are an environment variable that every launched checker finds set.
	MagicCookieKey   = "RETRIAL_CHECKER"
	MagicCookieValue = "d1c7b2e0-checker-plugin"
)

// ErrMalformed says that bytes are no protobuf message.
var ErrMalformed = errors.New("malformed message")

// Walk goes through the fields of a message in their order. Fields of other types than varint and length-delimited are
// passed over.
type Walk struct {
	// Number is the field that Next has found.
	Number protowire.Number
	// Bytes is the value of a length-delimited field, a slice of the message; nil for a varint.
	Bytes []byte
	// Varint is the value of a varint; 0 for any other.
	Varint uint64
	// Err says why the walk has ended early; it wraps ErrMalformed.
	Err error

	rest []byte
}

// Over begins a walk over a message.
func Over(message []byte) Walk { return Walk{rest: message} }

// Next goes to the next field. It is false at the end of the message, and where Err is set.
func (w *Walk) Next() bool {
	b := w.rest
	// Tags and lengths of one byte are most of what there is.
	if len(b) >= 2 && b[0] < 0x80 && b[0]&7 == byte(protowire.BytesType) && b[0] > 7 && b[1] < 0x80 {
		if n := 2 + int(b[1]); n <= len(b) {
			w.Number, w.Bytes, w.Varint, w.rest = protowire.Number(b[0]>>3), b[2:n:n], 0, b[n:]
			return true
		}
	}
	for len(b) > 0 {
		number, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return w.fail(size)
		}
		b = b[size:]
		known := true
		w.Bytes, w.Varint = nil, 0
		switch typ {
		case protowire.BytesType:
			w.Bytes, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			w.Varint, size = protowire.ConsumeVarint(b)
		default:
			size, known = protowire.ConsumeFieldValue(number, typ, b), false
		}
		if size < 0 {
			return w.fail(size)
		}
		b = b[size:]
		if known {
			w.Number, w.rest = number, b
			return true
		}
	}
	return false
}

func (w *Walk) fail(size int) bool {
	w.Err = fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(size))
	return false
}

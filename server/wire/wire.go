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

// Fields walks the fields of a message in their order: value for the length-delimited ones, v for varints. Fields of
// other types are skipped. value is a slice of b.
func Fields(b []byte, fn func(n protowire.Number, value []byte, v uint64) error) error {
	for len(b) > 0 {
		n, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(size))
		}
		b = b[size:]
		var value []byte
		var v uint64
		switch typ {
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		default:
			size = protowire.ConsumeFieldValue(n, typ, b)
		}
		if size < 0 {
			return fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(size))
		}
		b = b[size:]
		if err := fn(n, value, v); err != nil {
			return err
		}
	}
	return nil
}

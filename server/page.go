package server

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Page sizes of every list.
const (
	defaultPage = 100
	maxPage     = 1000
)

func pageSize(asked uint32) int {
	if asked == 0 {
		return defaultPage
	}
	return int(min(asked, maxPage))
}

// token makes an opaque page token of the last name that was listed.
func token(last string) string { return base64.RawURLEncoding.EncodeToString([]byte(last)) }

func parseToken(s string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return "", invalid("page_token", errors.New("it is none that this server gave"))
	}
	return string(b), nil
}

// numberToken makes an opaque page token of the next number to list.
func numberToken(n uint64) string { return token(string(binary.BigEndian.AppendUint64(nil, n))) }

func parseNumberToken(s string) (uint64, error) {
	b, err := parseToken(s)
	if err != nil || b == "" {
		return 0, err
	}
	if len(b) != 8 {
		return 0, invalid("page_token", errors.New("it is none that this server gave"))
	}
	return binary.BigEndian.Uint64([]byte(b)), nil
}

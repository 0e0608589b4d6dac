//go:build linux

package server_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// bytesCodec hands bytes on as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (bytesCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = slices.Clone(b)
	return nil
}

// invoke makes a call with these messages, and holds that what is answered is what the contract says. Of a stream that need not
// end it reads no more than the beginning.
func (h *house) invoke(t *testing.T, m method, payloads [][]byte) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(h.as(t, m.role), 10*time.Second)
	defer cancel()
	stream, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, m.name, grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(64<<20))
	if err != nil {
		return err
	}
	for _, b := range payloads {
		if err := stream.SendMsg(b); err != nil {
			break // the answer says why
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		var b []byte
		if err := stream.RecvMsg(&b); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		answer, err := protoregistry.GlobalTypes.FindMessageByName(m.desc.Output().FullName())
		if err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(b, answer.New().Interface()); err != nil {
			t.Errorf("%s answers what is no %s: %v", m.name, m.desc.Output().FullName(), err)
		}
		if strings.HasPrefix(string(m.desc.Name()), "Watch") {
			return nil
		}
	}
}

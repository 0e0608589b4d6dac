package cli

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// page is the answer of an RPC that lists something.
type page interface{ GetNextPageToken() string }

// lister is such an RPC.
type lister[Q any, R page] func(context.Context, Q, ...grpc.CallOption) (R, error)

// rows asks for one page after the other, as they are needed, and gives what is in them. token is the request's.
func rows[Q any, R page, T any](ctx context.Context, call lister[Q, R], req Q, token *string, in func(R) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for {
			res, err := call(ctx, req)
			if err != nil {
				yield(none, err)
				return
			}
			for _, row := range in(res) {
				if !yield(row, nil) {
					return
				}
			}
			next := res.GetNextPageToken()
			if next == "" {
				return
			}
			if next == *token {
				yield(none, fmt.Errorf("the server says that page %.80q follows itself", next))
				return
			}
			*token = next
		}
	}
}

// list prints rows, at most limit of them; 0 is all. For machines they are lines of JSON.
func list[T proto.Message](a *app, limit int, all iter.Seq2[T, error], show func(T)) error {
	n := 0
	for row, err := range all {
		if err == nil && a.json {
			err = printJSON(a.stdout, row)
		}
		if err != nil {
			return err
		}
		if !a.json {
			show(row)
		}
		if n++; n == limit {
			return nil
		}
	}
	return nil
}

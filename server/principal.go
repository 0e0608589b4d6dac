package server

import "context"

// Principal is a caller that the server knows.
type Principal struct {
	// Name stands in records, as author, submitter or approver.
	Name  string
	Roles []Role
}

type principalKey struct{}

func withPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// principalOf gives the name of the caller; empty on a server that does not know its callers.
func principalOf(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p.Name
}

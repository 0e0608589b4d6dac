package server

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// proof is what a checker was when it reached the level that is required of it.
type proof struct {
	desc *checkerv1.DescribeResponse
	// program is the digest of its program; "" where this platform shows none.
	program string
}

// proofOf says what a checker is that runs.
func (r *Checkers) proofOf(h *checkerhost.Host) (proof, error) {
	program, err := h.ProgramDigest(&r.digests)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return proof{h.Description(), program}, err
}

// prove notes what a checker is that is about to be put through the cases.
func (r *Checkers) prove(ctx context.Context, name string, c CheckerConfig) error {
	h, err := c.Open(ctx)
	if err != nil {
		return fmt.Errorf("checker %q: %w", name, err)
	}
	p, err := r.proofOf(h)
	if err := errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("checker %q: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proofs == nil {
		r.proofs = map[string]proof{}
	}
	r.proofs[name] = p
	return nil
}

// holdToProof refuses, by CodePrecondition, what a command starts by now where it is not what reached the required level: nobody has
// put that through the cases.
func (r *Checkers) holdToProof(name string, h *checkerhost.Host) error {
	r.mu.Lock()
	was, required := r.proofs[name]
	r.mu.Unlock()
	if !required {
		return nil
	}
	is, err := r.proofOf(h)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fixture.NewError(fixture.CodePrecondition, "launch", fmt.Sprintf("%.120q", name), fmt.Errorf(
			format+": it has changed since it reached the level that is required of it, and a restart of the server puts it through the cases again", args...))
	}
	switch {
	case was.program != is.program:
		return refuse("its program is %s, and was %s", is.program, was.program)
	case !proto.Equal(was.desc, is.desc):
		return refuse("it says that it is %.80q %.80q with the build digest %.80q, and said %.80q %.80q with %.80q, or describes itself otherwise in something else",
			is.desc.GetName(), is.desc.GetVersion(), is.desc.GetBuildDigest(), was.desc.GetName(), was.desc.GetVersion(), was.desc.GetBuildDigest())
	}
	return nil
}

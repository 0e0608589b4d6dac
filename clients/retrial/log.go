package retrial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"
)

// ErrTampered says that a server's log does not hold: an answer is not in it, or it is not the log that it was.
var ErrTampered = errors.New("the server's log does not hold")

// Pin is what a client remembers of a server's log from one answer to the next. Its zero value remembers nothing, and trusts
// on first use.
type Pin struct {
	// Key is the server's public key, in the form of golang.org/x/mod/sumdb/note.
	Key string `json:"key"`
	// Size and Root are those of the newest checkpoint that was seen.
	Size int64     `json:"size"`
	Root tlog.Hash `json:"root"`
}

// CheckGate holds an answer of the gate against what was asked and against the server's log: it is about the release and all of
// the sets, the checkpoint is signed by the pinned key and extends the pinned log, every decision is in it, exactly as it was
// answered, and a set that passes does so by a decision that passes or is waived. It gives the pin for the next answer.
//
// What it takes from the server on trust is that no later decision is in the log, and the waivers, of which the log has the
// entries (retrial log export). Any error wraps ErrTampered, but for one of the connection. An answer that does not hold is no pass.
func CheckGate(ctx context.Context, conn grpc.ClientConnInterface, req *gatev1.GetGateStatusRequest, res *gatev1.GetGateStatusResponse, pin Pin) (Pin, error) {
	client := logv1.NewLogServiceClient(conn)
	if pin.Key == "" {
		first, err := client.GetCheckpoint(ctx, &logv1.GetCheckpointRequest{})
		if err != nil {
			return pin, err
		}
		pin.Key = first.GetVerifierKey()
	}
	verifier, err := note.NewVerifier(pin.Key)
	if err != nil {
		return pin, tampered("its key: %w", err)
	}
	c, err := checkpoint.Open(res.GetCheckpoint(), verifier)
	if err != nil {
		return pin, tampered("the checkpoint of the answer is not signed by the server's key: %w", err)
	}
	if err := extends(ctx, client, pin, c.Tree); err != nil {
		return pin, err
	}
	if err := answers(req, res); err != nil {
		return pin, tampered("%w", err)
	}
	for _, s := range res.GetSets() {
		if s.GetDecision() == nil {
			continue
		}
		if err := included(s, c.Tree); err != nil {
			return pin, tampered("the decision for set %q: %w", s.GetSet(), err)
		}
	}
	if c.Tree.N >= pin.Size {
		pin.Size, pin.Root = c.Tree.N, c.Tree.Hash
	}
	return pin, nil
}

func tampered(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrTampered, fmt.Errorf(format, args...))
}

// answers holds an answer against its question, and its standings against the decisions that they rest on.
func answers(req *gatev1.GetGateStatusRequest, res *gatev1.GetGateStatusResponse) error {
	if res.GetRelease() != req.GetRelease() {
		return fmt.Errorf("an answer about release %q, and %q was asked for", res.GetRelease(), req.GetRelease())
	}
	answered := map[string]bool{}
	for _, s := range res.GetSets() {
		answered[s.GetSet()] = true
		if err := founded(res, s); err != nil {
			return fmt.Errorf("set %q: %w", s.GetSet(), err)
		}
	}
	for _, set := range req.GetSets() {
		if !answered[set] {
			return fmt.Errorf("set %q was asked for, and is not in the answer", set)
		}
	}
	if res.GetStatus() == gatev1.Status_STATUS_PASS && len(res.GetSets()) == 0 {
		return errors.New("a pass over no set")
	}
	return nil
}

// founded holds the standing of a set against its decision.
func founded(res *gatev1.GetGateStatusResponse, s *gatev1.SetStanding) error {
	d, passes := s.GetDecision(), s.GetStatus() == gatev1.Status_STATUS_PASS
	switch {
	case res.GetStatus() == gatev1.Status_STATUS_PASS && !passes:
		return errors.New("the release passes, and the set does not")
	case passes && d == nil:
		return errors.New("a pass without a decision")
	case d != nil && (d.GetSet() != s.GetSet() || d.GetRelease() != res.GetRelease()):
		return fmt.Errorf("a decision about release %q on set %q", d.GetRelease(), d.GetSet())
	case passes && d.GetPartial():
		return errors.New("a pass by a replay of some of the fixtures")
	case passes && d.GetRuling() != gatev1.Ruling_RULING_PASS && len(s.GetWaivers()) == 0:
		return errors.New("a pass by a decision that does not pass, without a waiver")
	}
	return nil
}

// extends holds a tree against the pinned one.
func extends(ctx context.Context, client logv1.LogServiceClient, pin Pin, tree tlog.Tree) error {
	switch {
	case pin.Size == 0:
		return nil
	case tree.N < pin.Size:
		return tampered("it has %d entries, of which there were %d: the server went back", tree.N, pin.Size)
	case tree.N == pin.Size && tree.Hash != pin.Root:
		return tampered("its %d entries are not those that were pinned", tree.N)
	case tree.N == pin.Size:
		return nil
	}
	res, err := client.GetCheckpoint(ctx, &logv1.GetCheckpointRequest{OldSize: uint64(pin.Size), Size: uint64(tree.N)})
	if err != nil {
		return err
	}
	proof, err := proofOf(res.GetConsistency())
	if err == nil {
		err = tlog.CheckTree(proof, tree.N, tree.Hash, pin.Size, pin.Root)
	}
	if err != nil {
		return tampered("its %d entries do not extend the %d that were pinned: %w", tree.N, pin.Size, err)
	}
	return nil
}

// included holds a decision against its record, the record against its entry, and the entry against the tree.
func included(s *gatev1.SetStanding, tree tlog.Tree) error {
	p := s.GetProof()
	proof, err := proofOf(p.GetHashes())
	if err != nil {
		return err
	}
	leaf := p.GetEntry().GetLeaf()
	if err := tlog.CheckRecord(tlog.RecordProof(proof), tree.N, tree.Hash, int64(p.GetEntry().GetIndex()), tlog.RecordHash(leaf)); err != nil {
		return err
	}
	var entry struct {
		Record string `json:"record"`
	}
	if err := json.Unmarshal(leaf, &entry); err != nil {
		return err
	}
	sum := sha256.Sum256(p.GetRecord())
	if entry.Record != hex.EncodeToString(sum[:]) {
		return errors.New("its entry is about another record")
	}
	var record struct {
		Decision []byte `json:"decision"`
	}
	if err := json.Unmarshal(p.GetRecord(), &record); err != nil {
		return err
	}
	var logged gatev1.Decision
	if err := proto.Unmarshal(record.Decision, &logged); err != nil {
		return err
	}
	if !proto.Equal(&logged, s.GetDecision()) {
		return errors.New("it is not what was recorded")
	}
	return nil
}

func proofOf(hashes [][]byte) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(hashes))
	for i, h := range hashes {
		if len(h) != tlog.HashSize {
			return nil, fmt.Errorf("a hash of %d bytes", len(h))
		}
		out[i] = tlog.Hash(h)
	}
	return out, nil
}

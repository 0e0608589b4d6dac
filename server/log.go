package server

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/retrial-dev/retrial/fixturestore"
	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"
	"github.com/retrial-dev/retrial/server/identity"
)

// LogOrigin names the log in its checkpoints. Which server's log it is, the key says.
const LogOrigin = "retrial.dev/log"

// logs implements LogService.
type logs struct {
	logv1.UnimplementedLogServiceServer
	store *fixturestore.Store
	key   *identity.Key
}

// GetCheckpoint implements the service.
func (l *logs) GetCheckpoint(_ context.Context, req *logv1.GetCheckpointRequest) (*logv1.GetCheckpointResponse, error) {
	signed, size, err := l.store.Checkpoint()
	if err != nil {
		return nil, err
	}
	out := &logv1.GetCheckpointResponse{Checkpoint: signed, Size: size}
	if l.key != nil {
		if out.VerifierKey, err = identity.VerifierKey(LogOrigin, l.key.Public()); err != nil {
			return nil, err
		}
	}
	if req.GetOldSize() > 0 {
		if req.GetSize() > 0 {
			size = req.GetSize()
		}
		proof, err := l.store.ConsistencyProof(req.GetOldSize(), size)
		if err != nil {
			return nil, err
		}
		out.Consistency = hashes(proof)
	}
	return out, nil
}

// GetInclusionProof implements the service.
func (l *logs) GetInclusionProof(_ context.Context, req *logv1.GetInclusionProofRequest) (*logv1.GetInclusionProofResponse, error) {
	proof, err := inclusionProof(l.store, req.GetIndex(), req.GetSize())
	if err != nil {
		return nil, err
	}
	return &logv1.GetInclusionProofResponse{Proof: proof}, nil
}

func inclusionProof(store *fixturestore.Store, index, size uint64) (*logv1.InclusionProof, error) {
	e, size, proof, err := store.InclusionProof(index, size)
	if err != nil {
		return nil, err
	}
	return &logv1.InclusionProof{Entry: entryOfLog(e), Size: size, Hashes: hashes(proof)}, nil
}

// ListEntries implements the service.
func (l *logs) ListEntries(_ context.Context, req *logv1.ListEntriesRequest) (*logv1.ListEntriesResponse, error) {
	from, err := parseNumberToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	limit := pageSize(req.GetPageSize())
	entries, err := l.store.Entries(from, limit+1)
	if err != nil {
		return nil, err
	}
	out := &logv1.ListEntriesResponse{}
	if len(entries) > limit {
		entries = entries[:limit]
		out.NextPageToken = numberToken(from + uint64(limit))
	}
	for _, e := range entries {
		out.Entries = append(out.Entries, entryOfLog(e))
	}
	return out, nil
}

var logKinds = map[fixturestore.Kind]logv1.Kind{
	fixturestore.KindVersion:  logv1.Kind_KIND_VERSION,
	fixturestore.KindTag:      logv1.Kind_KIND_TAG,
	fixturestore.KindApproval: logv1.Kind_KIND_APPROVAL,
	fixturestore.KindDecision: logv1.Kind_KIND_DECISION,
	fixturestore.KindWaiver:   logv1.Kind_KIND_WAIVER,
	fixturestore.KindReplay:   logv1.Kind_KIND_REPLAY,
}

func entryOfLog(e *fixturestore.LogEntry) *logv1.Entry {
	return &logv1.Entry{Index: e.Index, Kind: logKinds[e.Kind], Subject: e.Subject, RecordDigest: e.Record, AppendedAt: timestamp(e.At), Leaf: e.Leaf}
}

func hashes[T ~[]tlog.Hash](list T) [][]byte {
	out := make([][]byte, len(list))
	for i, h := range list {
		out[i] = h[:]
	}
	return out
}

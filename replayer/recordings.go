package replayer

import (
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// maxStale bounds the stale recordings that are named.
const maxStale = 10_000

// staleRecordings finds fixtures that rest on a recording over its age, or on one that is said to come from the future.
type staleRecordings struct {
	now  time.Time
	list []gate.Finding
	more int
}

func (s *staleRecordings) look(c Case) {
	for _, rec := range c.Recordings {
		f := finding(gate.RecordingStale, "", c)
		switch {
		case rec.RecordedAt.After(s.now):
			f.Message = fmt.Sprintf("the recording of %q says that it was made at %s, which is in the future; owner %s", rec.Call, rec.RecordedAt.Format(time.RFC3339), rec.Owner)
		case !rec.ExpiresAt.IsZero() && gate.Expired(rec.ExpiresAt, s.now):
			f.Message = fmt.Sprintf("the recording of %q went stale at %s; owner %s", rec.Call, rec.ExpiresAt.Format(time.RFC3339), rec.Owner)
		default:
			continue
		}
		if len(s.list) == maxStale {
			s.more++
			continue
		}
		s.list = append(s.list, f)
	}
}

func (s *staleRecordings) findings() []gate.Finding {
	if s.more > 0 {
		return append(s.list, gate.Finding{Code: gate.RecordingStale, Message: fmt.Sprintf("and %d more recordings are stale", s.more)})
	}
	return s.list
}

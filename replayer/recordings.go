package replayer

import (
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/gate"
)

// maxStale bounds the stale recordings that are named.
const maxStale = 10_000

// staleRecordings finds fixtures that rest on a recording which is stale, or is not what was recorded.
type staleRecordings struct {
	now  time.Time
	list []gate.Finding
	more int
}

func (s *staleRecordings) look(c Case) {
	if c.Recordings == nil {
		return
	}
	for _, p := range c.Recordings(s.now) {
		f := finding(p.Code, "", c)
		f.Message = p.Message
		if len(s.list) == maxStale {
			s.more++
			continue
		}
		s.list = append(s.list, f)
	}
}

func (s *staleRecordings) findings() []gate.Finding {
	if s.more > 0 {
		return append(s.list, gate.Finding{Code: gate.RecordingStale, Message: fmt.Sprintf("and %d more recordings are stale or not what was recorded", s.more)})
	}
	return s.list
}

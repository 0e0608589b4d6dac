package replayer

import (
	"bytes"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// excused is what is found about the baseline, as a freeze in force has it: told, and not held against it (S5). A missing stub is
// no whim of the baseline's, and never excused.
func (r *run) excused(f gate.Finding) gate.Finding {
	z, frozen := r.freezes.Excuses(f.Subject)
	if !frozen || f.Code != gate.BaselineMismatch && f.Code != gate.CheckerError {
		return f
	}
	r.evidence.Excused++
	f.Code, f.AllowedBy = gate.Frozen, z.Owner
	f.Message += fmt.Sprintf("; frozen until %s: %s", z.ExpiresAt.UTC().Format(time.RFC3339), z.Reason)
	return f
}

func (r *run) flip(c Case, outcome fixture.Outcome) gate.Finding {
	f := finding(gate.Flip, gate.Candidate, c)
	f.Old, f.New = excerpt(c.Fixture.Expected), excerpt(outcome)
	f.OutputDiffers = !bytes.Equal(c.Fixture.Expected.Output, outcome.Output)
	f.Class = r.t.Vocabulary.Classify(c.Fixture.Expected, outcome)
	f.Inputs = r.shown(c)
	f.Message = "the candidate decides otherwise"
	return f
}

func finding(code gate.Code, role gate.Role, c Case) gate.Finding {
	return gate.Finding{Code: code, Role: role, Subject: c.Fixture.ID, SourceRowID: c.Fixture.SourceRowID, Group: c.Fixture.Group}
}

// maxExcerpt bounds the output document that a finding carries, in bytes.
const maxExcerpt = 1 << 10

// excerpt is an outcome as a finding carries it: it keeps nothing of the case alive, and is small enough to be kept.
func excerpt(o fixture.Outcome) fixture.Outcome {
	if o.Output != nil {
		o.Output = []byte(fixture.Cut(string(o.Output), maxExcerpt))
	}
	return o
}

// maxShown bounds one shown value, in bytes.
const maxShown = 200

func (r *run) shown(c Case) []gate.ShownInput {
	out := make([]gate.ShownInput, len(r.t.Show))
	for i, path := range r.t.Show {
		out[i] = gate.ShownInput{Path: path, Value: fixture.Cut(string(c.Fixture.Shown(path)), maxShown)}
	}
	return out
}

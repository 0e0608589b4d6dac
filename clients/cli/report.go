package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// report prints a replay as it comes.
type report interface {
	event(*replayv1.ReplayResponse) error
	close() error
}

func (a *app) report() report {
	if a.json {
		return &jsonReport{w: a.stdout}
	}
	return &textReport{w: a.stdout, paint: newPaint(a.stdout), quiet: a.quiet, progress: a.progress()}
}

// jsonReport prints every event but progress as one line of JSON.
type jsonReport struct{ w io.Writer }

func (r *jsonReport) event(e *replayv1.ReplayResponse) error {
	if e.GetProgress() != nil {
		return nil
	}
	return printJSON(r.w, e)
}

func (r *jsonReport) close() error { return nil }

// printJSON prints a message as one line. Field names are those of the contract.
func printJSON(w io.Writer, m proto.Message) error {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", compact(b))
	return err
}

// textReport prints for a person who must decide.
type textReport struct {
	w        io.Writer
	paint    paint
	quiet    bool
	progress *progress

	confirmed bool // the confirmation has been told
	table     *findingTable
	notes     []*gatev1.Finding // findings that are no row of the table
	more      int
	blocking  int             // of notes
	dead      map[string]bool // fixtures that turned out to answer differently when asked again
}

// maxNotes bounds the findings that are told beside the table, those that block and the others each.
const maxNotes = 200

func (r *textReport) event(e *replayv1.ReplayResponse) error {
	switch e := e.GetEvent().(type) {
	case *replayv1.ReplayResponse_Started:
		return r.start(e.Started)
	case *replayv1.ReplayResponse_Progress:
		return r.showProgress(e.Progress)
	case *replayv1.ReplayResponse_Finding:
		return r.finding(e.Finding)
	case *replayv1.ReplayResponse_Decision:
		r.progress.clear()
		return r.decision(e.Decision)
	}
	return nil
}

func (r *textReport) close() error {
	r.progress.clear()
	return nil
}

func (r *textReport) start(s *replayv1.Started) error {
	if r.quiet {
		return nil
	}
	policy, err := server.PolicyFromProto(s.GetPolicy())
	if err != nil {
		return err
	}
	fixtures := fmt.Sprintf("%d fixtures", s.GetHermeticCount())
	if n := s.GetDerivedCount(); n > 0 {
		fixtures += fmt.Sprintf(" and %d derived ones, which do not gate", n)
	}
	_, err = fmt.Fprintf(r.w, "set        %s version %d, %s\nchecksum   %s\nbaseline   %s\ncandidate  %s\n%spolicy     %s\nreplay     %s\n",
		r.paint.bold(s.GetSet()), s.GetVersion(), fixtures, s.GetChecksum(), checkerText(s.GetBaseline()), checkerText(s.GetCandidate()),
		r.sandboxText(s), policy, s.GetReplayId())
	return err
}

// sandboxText gives a line about what was kept from the checkers that were launched; empty where none was.
func (r *textReport) sandboxText(s *replayv1.Started) string {
	b, c := sandboxOf(s.GetBaseline()), sandboxOf(s.GetCandidate())
	switch {
	case b == "" && c == "":
		return ""
	case b == c:
		return "sandbox    " + b + "\n"
	}
	return fmt.Sprintf("sandbox    baseline %s; candidate %s\n", cmp.Or(b, "unknown"), cmp.Or(c, "unknown"))
}

// sandboxOf gives a checker's sandbox, and how to find out why it is not the strongest where it could not be.
func sandboxOf(c *gatev1.CheckerIdentity) string {
	if strict := sandbox.Strict.String(); c.GetSandboxLacks() == "" || c.GetSandbox() == strict {
		return c.GetSandbox()
	}
	return c.GetSandbox() + " (it does not start in a stronger one; --sandbox strict says why)"
}

// checkerText gives a checker in one line.
func checkerText(c *gatev1.CheckerIdentity) string {
	s := c.GetName() + " " + c.GetVersion()
	var params []string
	for _, name := range slices.Sorted(maps.Keys(c.GetParameters())) {
		params = append(params, name+"="+c.GetParameters()[name])
	}
	if len(params) > 0 {
		s += " (" + strings.Join(params, ", ") + ")"
	}
	if c.GetBuildDigest() != "" {
		s += " build " + c.GetBuildDigest()
	}
	return s
}

func (r *textReport) showProgress(p *replayv1.Progress) error {
	what := map[replayv1.Phase]string{
		replayv1.Phase_PHASE_CONFIRMATION: "baseline confirms", replayv1.Phase_PHASE_CANDIDATE: "candidate is tried",
		replayv1.Phase_PHASE_PROBE: "candidate is asked again", replayv1.Phase_PHASE_DERIVED: "derived fixtures are tried",
	}[p.GetPhase()]
	r.progress.show(what+":", p.GetAnswered(), p.GetExpected())
	if p.GetPhase() == replayv1.Phase_PHASE_CONFIRMATION && p.GetAnswered() == p.GetExpected() {
		return r.confirmation(p.GetConfirmed(), p.GetExpected())
	}
	return nil
}

// confirmation says how the baseline did, once: when it is through, or with the decision if it never came so far.
func (r *textReport) confirmation(confirmed, expected uint64) error {
	if r.quiet || r.confirmed {
		return nil
	}
	r.confirmed = true
	r.progress.clear()
	_, err := fmt.Fprintf(r.w, "confirmed  %d of %d by the baseline\n", confirmed, expected)
	return err
}

// finding puts a comparison of two outcomes into the table, and keeps the rest for below it.
func (r *textReport) finding(f *gatev1.Finding) error {
	if f.GetCode() == "NONDETERMINISTIC" {
		if r.dead == nil {
			r.dead = map[string]bool{}
		}
		r.dead[f.GetSubject()] = true
	}
	if (f.GetCode() == "FLIP" || f.GetCode() == "BASELINE_MISMATCH") && !r.quiet {
		if r.table == nil || r.table.code != f.GetCode() { // flips and mismatches do not mix
			if err := r.table.flush(nil); err != nil {
				return err
			}
			r.table = newFindingTable(r.w, r.paint, f.GetCode())
		}
		return r.table.add(f)
	}
	// What blocks must not be crowded out by what is only worth a look.
	blocks := f.GetSeverity() == gatev1.Severity_SEVERITY_BLOCKING
	switch {
	case blocks && r.blocking < maxNotes:
		r.blocking++
	case !blocks && len(r.notes)-r.blocking < maxNotes:
	default:
		r.more++
		return nil
	}
	r.notes = append(r.notes, f)
	return nil
}

func (r *textReport) decision(d *gatev1.Decision) error {
	if !r.quiet {
		if err := r.confirmation(d.GetConfirmed(), d.GetExpected()); err != nil {
			return err
		}
		if err := r.table.flush(r.dead); err != nil {
			return err
		}
		r.tell(d)
	}
	_, err := fmt.Fprintln(r.w, r.ruling(d))
	return err
}

// others gives the classes of a server that knows more of them than this client, in ascending order.
func others(counts map[string]uint64, known []string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(class string) bool { return slices.Contains(known, class) })
}

// tell prints what stands between the table and the ruling.
func (r *textReport) tell(d *gatev1.Decision) {
	w := r.w
	if d.GetRuling() != gatev1.Ruling_RULING_BASELINE_UNCONFIRMED || d.GetEvaluated() > 0 {
		fmt.Fprintf(w, "\ntried      %d of %d by the candidate, %d flipped\n", d.GetEvaluated(), d.GetExpected(), d.GetFlipped())
	}
	if pairs := d.GetFlipsByOutcome(); len(pairs) > 0 {
		known := make([]string, 0, len(fixture.Classes()))
		for _, class := range fixture.Classes() { // the worst first
			known = append(known, string(class))
		}
		var classes []string
		for _, class := range append(known, others(d.GetFlipsByClass(), known)...) {
			if n := d.GetFlipsByClass()[class]; n > 0 {
				classes = append(classes, fmt.Sprintf("%s %d", class, n))
			}
		}
		fmt.Fprintf(w, "by class   %s\n\n", strings.Join(classes, ", "))
		t := newTable(w)
		t.row("COUNT", "RECORDED", "NOW", "CLASS")
		const most = 40
		if len(pairs) > most { // what is cut is not what is costly
			pairs = slices.Clone(pairs)
			slices.SortStableFunc(pairs, func(a, b *gatev1.OutcomePair) int {
				return slices.Index(fixture.Classes(), fixture.Class(a.GetFlipClass())) - slices.Index(fixture.Classes(), fixture.Class(b.GetFlipClass()))
			})
		}
		for _, p := range pairs[:min(len(pairs), most)] {
			t.row(fmt.Sprint(p.GetCount()), pair(p.GetOldVerdict(), p.GetOldReasonCode()), pair(p.GetNewVerdict(), p.GetNewReasonCode()), p.GetFlipClass())
		}
		t.flush()
		if n := len(pairs) - most; n > 0 {
			fmt.Fprintf(w, "and %d more pairs of outcomes\n", n)
		}
	}
	r.tellNotes()
	if d.GetPartial() {
		fmt.Fprintln(w, "\nOnly some of the fixtures were tried: this is no evidence for a release.")
	}
	if len(d.GetCauses()) > 1 {
		fmt.Fprintln(w, "\nCauses:")
		for _, c := range d.GetCauses() {
			fmt.Fprintf(w, "  %s: %s\n", c.GetCode(), c.GetMessage())
		}
	}
	fmt.Fprintln(w)
}

// tellNotes prints the other findings, those that block first.
func (r *textReport) tellNotes() {
	if len(r.notes) == 0 {
		return
	}
	slices.SortStableFunc(r.notes, func(a, b *gatev1.Finding) int { return int(b.GetSeverity()) - int(a.GetSeverity()) })
	fmt.Fprintln(r.w)
	for _, f := range r.notes {
		label := map[gatev1.Severity]string{gatev1.Severity_SEVERITY_BLOCKING: r.paint.red("blocks"), gatev1.Severity_SEVERITY_WARNING: r.paint.yellow("warning")}[f.GetSeverity()]
		if label == "" {
			label = "note"
		}
		subject := f.GetSubject()
		if f.GetSourceRowId() != "" {
			subject += " (row " + f.GetSourceRowId() + ")"
		}
		if subject != "" {
			subject += ": "
		}
		fmt.Fprintf(r.w, "%s %s: %s%s\n", label, f.GetCode(), subject, f.GetMessage())
	}
	if r.more > 0 {
		fmt.Fprintf(r.w, "and %d more findings; --json gives all\n", r.more)
	}
}

func (r *textReport) ruling(d *gatev1.Decision) string {
	switch {
	case d.GetRuling() == gatev1.Ruling_RULING_PASS && d.GetPartial():
		return r.paint.yellow(strings.Replace(d.GetSummary(), "release passed", "partial pass", 1))
	case d.GetRuling() == gatev1.Ruling_RULING_PASS:
		return r.paint.green(d.GetSummary())
	default:
		return r.paint.red(d.GetSummary())
	}
}

// pair gives an outcome in one word.
func pair(verdict, reason string) string {
	if reason == "" {
		return verdict
	}
	return verdict + "/" + reason
}

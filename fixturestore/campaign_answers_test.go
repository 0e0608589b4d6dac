package fixturestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/retrial-dev/retrial/fixturestore"
	"github.com/retrial-dev/retrial/fixturestore/checkpoint"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// answer is what a store says to a question: a text, or an error.
type answer struct {
	text string
	err  error
}

// missing says whether an answer has something less than the right one, rather than something else: nothing at all, or some of
// its lines.
func (a answer) missing(right answer) bool {
	if fixture.CodeOf(a.err) == fixture.CodeNotFound {
		return true
	}
	if a.err != nil || len(a.text) >= len(right.text) {
		return false
	}
	if strings.TrimSpace(a.text) == "" {
		return true
	}
	lines := strings.Split(right.text, "\n")
	for line := range strings.SplitSeq(a.text, "\n") {
		for len(lines) > 0 && lines[0] != line {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return false
		}
		lines = lines[1:]
	}
	return true
}

// The questions that the gate asks begin with this word: what is missing in their answers could make a pass of a block.
const gateAsks = "gate: "

const verifyAsks = "verify"

// answers asks a store everything that a caller can ask. Where it does not open, that is the answer to everything.
func answers(path string, o fixturestore.Options) (out map[string]answer, opened error) {
	s, err := fixturestore.Open(path, o)
	if err != nil {
		return nil, err
	}
	out = map[string]answer{}
	ask := func(question string, lines ...func() (any, error)) {
		var a answer
		for _, line := range lines {
			said, err := line()
			a.err = errors.Join(a.err, err)
			a.text += fmt.Sprintf("%+v\n", said)
		}
		out[question] = a
	}
	askVersions(s, ask)
	askReplays(s, ask)
	askLog(s, o, ask)
	ask(verifyAsks, func() (any, error) {
		var damage []error
		sum, err := s.Verify(context.Background(), func(err error) error { damage = append(damage, err); return nil })
		return sum, errors.Join(append(damage, err)...)
	})
	return out, s.Close()
}

type asker func(question string, lines ...func() (any, error))

func versionText(v *fixturestore.Version, err error) (any, error) {
	if v == nil {
		return "", err
	}
	text := fmt.Sprintf("%s %s %s %v %v", v.Name(), v.Checksum, v.Author, v.Changes, v.ApprovalNeeded)
	for _, tag := range v.Tags {
		text += "\n" + tag
	}
	if v.Approval != nil {
		text += fmt.Sprintf("\n%+v", *v.Approval)
	}
	return text, err
}

func askVersions(s *fixturestore.Store, ask asker) {
	ask(gateAsks+"sets", func() (any, error) {
		all, err := s.Sets("", 10)
		if err == nil {
			err = s.CheckSets(names(all))
		}
		return list(all, err)
	})
	ask("versions", func() (any, error) { return list(s.Versions("memory", 0, 10)) })
	ask("tag", func() (any, error) { return versionText(s.VersionByTag("memory", "stable")) })
	ask("newest", func() (any, error) { return versionText(s.Newest("memory")) })
	ask(gateAsks+"newest version", func() (any, error) {
		v, err := s.VersionAt("memory", farFuture)
		if err == nil {
			err = s.CheckLogged(v)
		}
		return versionText(v, err)
	})
	for n := range uint64(3) {
		v, err := s.Version("memory", n+1)
		ask(fmt.Sprint("version ", n+1), func() (any, error) { return versionText(v, err) }, func() (any, error) {
			if err != nil {
				return "", err
			}
			return contentOf(s, v)
		})
	}
}

func names(all []*fixturestore.Version) (out []string) {
	for _, v := range all {
		out = append(out, v.Set)
	}
	return out
}

func list(all []*fixturestore.Version, err error) (any, error) {
	var out []string
	for _, v := range all {
		text, _ := versionText(v, nil)
		out = append(out, fmt.Sprint(text))
	}
	return strings.Join(out, "\n"), err
}

func contentOf(s *fixturestore.Store, v *fixturestore.Version) (any, error) {
	blocks, err := s.Blocks(v)
	if err != nil {
		return "", err
	}
	var out []string
	for i := range blocks.Len() {
		if err := blocks.ReadBlock(i, func(e fixturestore.Entry) error {
			out = append(out, string(e.Fixture.Canonical())+string(e.Stubs))
			return nil
		}); err != nil {
			return "", err
		}
	}
	return strings.Join(out, "\n"), nil
}

func replayText(r *fixturestore.Replay, err error) (any, error) {
	if r == nil {
		return "", err
	}
	return fmt.Sprintf("%d %s", r.Seq, r.Record), err
}

func askReplays(s *fixturestore.Store, ask asker) {
	ask("replays", func() (any, error) {
		all, err := s.Replays("", "", 0, 10)
		var out []string
		for _, r := range all {
			text, _ := replayText(r, nil)
			out = append(out, fmt.Sprint(text))
		}
		return strings.Join(out, "\n"), err
	})
	for _, release := range []string{"v1", "v2"} {
		ask(gateAsks+"newest replay of "+release, func() (any, error) {
			r, err := s.ReplayAt(release, "memory", farFuture)
			if err == nil && r != nil {
				err = s.CheckReplayLogged(r)
			}
			return replayText(r, err)
		})
	}
	for _, id := range []string{"r-1", "k-0", "k-1"} {
		ask("replay "+id, func() (any, error) { return replayText(s.ReplayByID(id)) })
	}
	for _, key := range []string{"key-0", "key-1"} {
		ask("replay by "+key, func() (any, error) { return replayText(s.ReplayByKey("sam", key)) })
	}
	ask("waivers", func() (any, error) {
		all, err := s.Waivers("v1", "memory")
		for _, w := range all {
			err = errors.Join(err, s.CheckWaiverLogged(w))
		}
		if len(all) == 0 {
			return "", err
		}
		return fmt.Sprintf("%+v", *all[0]), err
	})
}

func askLog(s *fixturestore.Store, o fixturestore.Options, ask asker) {
	ask("log", func() (any, error) {
		all, err := s.Entries(0, 100)
		var out []string
		for _, e := range all {
			out = append(out, fmt.Sprint(e.Index, string(e.Leaf)))
		}
		return strings.Join(out, "\n"), err
	})
	ask("tree", func() (any, error) { return s.Tree() })
	ask("checkpoint", func() (any, error) {
		signed, size, err := s.Checkpoint()
		if err != nil {
			return "", err
		}
		c, err := checkpoint.Open(signed, o.Verifier) // its last bits are padding
		return fmt.Sprint(c, size), err
	})
	ask("proofs", func() (any, error) {
		e, size, proof, err := s.InclusionProof(4, 0)
		consistency, consistencyErr := s.ConsistencyProof(3, 9)
		return fmt.Sprint(e, size, proof, consistency), errors.Join(err, consistencyErr)
	})
	ask("log entry", func() (any, error) {
		e, err := s.EntryOf(fixturestore.KindDecision, "k-1")
		if e == nil {
			return "", err
		}
		return string(e.Leaf), err
	})
}

// named says whether an error says that something is damaged, gone or of another layout.
func named(err error) bool {
	switch fixture.CodeOf(err) {
	case fixture.CodeCorrupt, fixture.CodePrecondition, fixture.CodeNotFound:
		return true
	}
	return false
}

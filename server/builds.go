package server

import (
	"errors"
	"fmt"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxBuilds bounds the builds that are remembered. Behind it, the one that was not seen for longest is forgotten: names that are
// used once, as those of `retrial run`, must not fill the memory.
const maxBuilds = 16 << 10

// builds remembers which build came under a name with a version, for as long as the server lives: two builds of one version
// would be taken for each other. Each caller has a memory of its own, so that none can spoil another's. Not safe for concurrent use.
type builds struct {
	seen map[build]*seenBuild
	now  uint64 // counts what was seen
}

type build struct{ name, by, checker, version string }

type seenBuild struct {
	digest string
	at     uint64
}

// admit refuses, by CodePrecondition, another build digest than the one that was seen before, and remembers one that is new.
func (b *builds) admit(name, by string, d *checkerv1.DescribeResponse) error {
	key := build{name, by, d.GetName(), d.GetVersion()}
	b.now++
	if s, ok := b.seen[key]; ok {
		if s.digest != d.GetBuildDigest() {
			return fixture.NewError(fixture.CodePrecondition, "admit", fmt.Sprintf("%.120q", name), fmt.Errorf(
				"%s %s has come before under this name, with the build digest %q, and now comes with %q: another build needs another version", d.GetName(), d.GetVersion(), s.digest, d.GetBuildDigest()))
		}
		s.at = b.now
		return nil
	}
	if len(b.seen) >= maxBuilds {
		b.forget()
	}
	if b.seen == nil {
		b.seen = map[build]*seenBuild{}
	}
	b.seen[key] = &seenBuild{d.GetBuildDigest(), b.now}
	return nil
}

// forget drops what was not seen for longest.
func (b *builds) forget() {
	var oldest build
	at := b.now
	for key, s := range b.seen {
		if s.at < at {
			oldest, at = key, s.at
		}
	}
	delete(b.seen, oldest)
}

// same refuses, by CodePrecondition, an instance that is not of the one build that a name stands for.
func same(name string, there, comes *checkerv1.DescribeResponse, equal bool) error {
	refuse := func(format string, args ...any) error {
		return fixture.NewError(fixture.CodePrecondition, "admit", fmt.Sprintf("%.120q", name), fmt.Errorf(format, args...))
	}
	switch {
	case comes.GetBuildDigest() == "" || there.GetBuildDigest() == "":
		return fixture.NewError(fixture.CodePrecondition, "admit", fmt.Sprintf("%.120q", name), errors.New(
			"there is an instance of this name already, and more than one need a build digest, so that they can be told to be of one build"))
	case !equal:
		return refuse("the instances of this name are %s %s, build %q; this one is %s %s, build %q: all must describe themselves alike",
			there.GetName(), there.GetVersion(), there.GetBuildDigest(), comes.GetName(), comes.GetVersion(), comes.GetBuildDigest())
	}
	return nil
}

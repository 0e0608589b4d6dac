package main

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/retrial-dev/retrial"

type arrow struct {
	pattern     string
	own, others []string // others is nil where nothing outside this module is ruled out
}

// arrows says, for each part of the product, what it may depend on, directly or not: packages of this module by their
// path, others by the beginning of theirs. The first rule whose pattern matches a package holds.
var arrows = []arrow{
	{"replayer/fixture", nil, []string{"golang.org/x/text/"}},
	{"replayer/gate", []string{"replayer/fixture"}, []string{"golang.org/x/text/"}},
	{"replayer", []string{"replayer/fixture", "replayer/gate"}, []string{"golang.org/x/text/"}},
	{"stub", []string{"replayer/fixture"}, []string{"golang.org/x/text/"}},
	{"fixturestore/checkpoint", nil, []string{"golang.org/x/mod/sumdb/"}},
	{"fixturestore", []string{"replayer/fixture", "fixturestore/checkpoint", "internal/durable"}, []string{"golang.org/x/text/", "go.etcd.io/bbolt", "golang.org/x/sys/", "golang.org/x/mod/sumdb/"}},
	{"gen/*", []string{"gen"}, nil},
	{"server/wire", nil, []string{"google.golang.org/protobuf/"}},
	{"server/identity", []string{"replayer/fixture", "internal/durable"}, []string{"golang.org/x/mod/sumdb/note", "golang.org/x/text/"}},
	{"server/attest", []string{"gen", "replayer/fixture", "server/identity", "internal/durable"}, nil},
	{"server/checkerhost/sandbox", nil, []string{"golang.org/x/sys/", "golang.org/x/net/bpf", "github.com/elastic/go-seccomp-bpf"}},
	{"server/checkerhost", []string{"gen", "replayer", "server/wire", "server/checkerhost"}, nil},
	{"server/modelserver", []string{"replayer/fixture", "stub"}, []string{"golang.org/x/text/"}},
	{"server/telemetry", []string{"replayer"}, nil},
	{"server", []string{"gen", "replayer", "fixturestore", "stub", "server", "internal/durable"}, nil},
	{"clients/retrial", []string{"gen", "replayer/fixture", "fixturestore/checkpoint", "server/wire"}, nil},
	{"clients/customerdata", []string{"replayer/fixture"}, []string{"golang.org/x/text/"}},
	{"clients/recorder", []string{"gen", "replayer", "stub", "server/checkerhost", "server/wire", "clients/customerdata"}, nil},
	{"clients/*", []string{"gen", "replayer", "fixturestore", "stub", "server", "clients", "internal/durable"}, nil},
	{"internal/durable", nil, []string{}},
	{"internal/campaign", nil, []string{"go.uber.org/goleak"}},
	{"examples/*", []string{"replayer/fixture", "stub", "clients/retrial", "clients/checkers", "gen", "server/wire"}, nil},
	{".", []string{"gen", "replayer", "fixturestore", "stub", "server", "clients", "internal/durable"}, nil},
}

// The arrows of ARCHITECTURE.md hold: nothing points back up, and the domain knows no transport, no database and no log.
func TestArrows(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen++
		own := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		check(t, own, p.Deps)
	}
	if seen < len(arrows) {
		t.Errorf("only %d packages were looked at", seen)
	}
}

func check(t *testing.T, own string, deps []string) {
	i := slices.IndexFunc(arrows, func(a arrow) bool { return matches(a.pattern, own) })
	if i < 0 {
		t.Errorf("no rule says what %q may depend on", own)
		return
	}
	rule := arrows[i]
	for _, dep := range deps {
		rest, ours := strings.CutPrefix(dep, module)
		rest = strings.TrimPrefix(rest, "/")
		switch {
		case ours && !slices.ContainsFunc(rule.own, func(may string) bool { return rest == may || strings.HasPrefix(rest, may+"/") }):
			t.Errorf("%q depends on %q, and may not", own, rest)
		case !ours && rule.others != nil && !standard(dep) && !slices.ContainsFunc(rule.others, func(may string) bool { return strings.HasPrefix(dep+"/", may) || strings.HasPrefix(dep, may) }):
			t.Errorf("%q depends on %q, and may not", own, dep)
		}
	}
}

func matches(pattern, own string) bool {
	if pattern == "." {
		return own == ""
	}
	prefix, glob := strings.CutSuffix(pattern, "/*")
	if glob {
		return strings.HasPrefix(own, prefix+"/")
	}
	return path.Clean(own) == pattern
}

// standard says whether a package is of the standard library: its first element has no dot.
func standard(dep string) bool {
	first, _, _ := strings.Cut(dep, "/")
	return !strings.Contains(first, ".")
}

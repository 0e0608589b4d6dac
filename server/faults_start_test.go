//go:build linux

package server_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// startFault is a checker that comes to no stream of cases.
type startFault struct {
	config server.CheckerConfig
	// says are words that the one message must have.
	says []string
	// code is what the call ends in; 0 is UNAVAILABLE.
	code codes.Code
	// noted says that the program notes its pid.
	noted bool
	// slow is a fault that takes as long as the host waits. It is tried in one role.
	slow bool
}

// R29: a checker that cannot be started, or that breaks the contract before the first case, comes to no decision. The
// message says which of the two it was, what it was started as, and what it printed.
func TestCheckerThatDoesNotStart(t *testing.T) {
	var faults map[string]startFault
	b := newBench(t, func(b *bench) map[string]server.CheckerConfig {
		faults = startFaults(t, b)
		checkers := map[string]server.CheckerConfig{}
		for name, f := range faults {
			checkers[name] = f.config
		}
		return checkers
	})
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		f := faults[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roles := []string{"candidate", "baseline"}
			if f.slow {
				roles = roles[:1]
			}
			for _, role := range roles {
				req := &replayv1.ReplayRequest{Set: plainSet, Baseline: dialled(b.good), Candidate: named(name)}
				if role == "baseline" {
					req.Baseline, req.Candidate = req.Candidate, req.Baseline
				}
				r := b.replay(t, t.Name(), req)
				f.check(t, role, r)
				b.checkNoPass(t, plainSet, r)
				if res := b.standing(t, plainSet, t.Name()); res.GetStatus() != gatev1.Status_STATUS_UNKNOWN || res.GetCauses()[0].GetCode() != "FAILED" {
					t.Errorf("the gate says %s of a replay without a decision: %v", res.GetStatus(), res.GetCauses())
				}
			}
			if f.noted {
				checkGone(t, b.pids(name))
			}
		})
	}
}

func (f startFault) check(t *testing.T, role string, r trial) {
	t.Helper()
	if r.decision != nil || r.err == nil {
		t.Fatalf("there is a decision: %v", r.decision)
	}
	want := f.code
	if want == codes.OK {
		want = codes.Unavailable
	}
	s, ok := status.FromError(r.err)
	if !ok || s.Code() != want {
		t.Errorf("as %s: status %s, want %s: %v", role, s.Code(), want, r.err)
	}
	checkSaid(t, s.Message())
	checkSays(t, []string{s.Message()}, append([]string{role}, f.says...))
}

func startFaults(t *testing.T, b *bench) map[string]startFault {
	file := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(b.dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	command := func(argv ...string) server.CheckerConfig { return server.CheckerConfig{Command: argv} }
	self := filepath.Base(os.Args[0])
	faults := map[string]startFault{
		"missing-program":         {config: command(filepath.Join(b.dir, "no-such-checker")), says: []string{"no-such-checker", "no such file"}},
		"missing-program-in-PATH": {config: command("no-such-checker-anywhere"), says: []string{"no-such-checker-anywhere", "not found"}},
		"not-executable":          {config: command(file("plain.txt", 0o600, "rules")), says: []string{"plain.txt", "permission denied"}},
		"directory":               {config: command(b.dir), says: []string{b.dir, "is a directory"}},
		"no-program-format":       {config: command(file("notes", 0o700, "these are notes\n")), says: []string{"notes", "exec format error"}},
		"missing-interpreter":     {config: command(file("script", 0o700, "#!/no/such/interpreter\n")), says: []string{"script", "no such file"}},
		"dialled-and-nobody-there": {
			config: server.CheckerConfig{Address: "unix:" + filepath.Join(b.dir, "nobody")}, says: []string{"nobody", "no such file"},
		},
		"missing-working-directory": {
			config: server.CheckerConfig{Command: []string{os.Args[0]}, Dir: filepath.Join(b.dir, "no-such-directory")},
			says:   []string{self, "no such file"},
		},
	}
	for mode, says := range map[string][]string{
		"exits-at-start":              {"exit status 7", "cannot read rules.yaml", "no such file"},
		"exits-silently":              {"exit status 0"},
		"stdout-before":               {"stdout carries the handshake and nothing else", "loading rules"},
		"stdout-with-bars":            {"stdout carries the handshake and nothing else", "rules | loaded | at | start"},
		"stdout-100-KB":               {"stdout carries the handshake and nothing else", "xxxxxxxx"},
		"stdout-then-exits":           {"usage: checker FILE"},
		"socket-elsewhere":            {"no socket in the directory it was given", "elsewhere"},
		"socket-by-dots":              {"no socket in the directory it was given", "elsewhere"},
		"tcp":                         {"no socket in the directory it was given", "tcp"},
		"core-protocol-2":             {"core"},
		"contract-9-by-handshake":     {"version", "9"},
		"net-rpc":                     {"netrpc"},
		"no-listener":                 {"no such file"},
		"certificate-and-no-listener": {"no such file"},
		"exits-after-handshake":       {"exit status 9", "changed my mind"},
		"no-gRPC":                     {"describe"},
		"describe-hangs":              {"describe"},
		"no-name":                     {"breaks the contract", "name: empty"},
		"no-version":                  {"breaks the contract", "version: empty"},
		"contract-9":                  {"breaks the contract", "version 9", "speaks 1"},
		"rude-name":                   {"breaks the contract", "control character"},
		"huge-name":                   {"breaks the contract", "over the limit"},
		"untyped-parameter":           {"breaks the contract", "limit", "no type"},
		"bad-default":                 {"breaks the contract", "limit", "integer"},
		"same-parameter-twice":        {"breaks the contract", "limit", "twice"},
		"huge-description":            {"describe"},
	} {
		if mode == "socket-elsewhere" {
			faults[mode] = startFault{config: b.command(mode, mode, filepath.Join(b.dir, "elsewhere")), says: says, noted: true}
			continue
		}
		faults[mode] = startFault{config: b.command(mode, mode), says: append(says, self), noted: true, slow: mode == "describe-hangs"}
	}
	faults["mandatory-parameter"] = startFault{
		config: b.command("mandatory-parameter", "mandatory-parameter"), code: codes.InvalidArgument, noted: true,
		says: []string{"limit", "no default", "mandatory-parameter"},
	}
	return faults
}

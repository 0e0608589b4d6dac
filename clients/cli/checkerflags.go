package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server"
)

// Names of the two checkers in the registry of the server in this process.
const (
	baselineName  = "baseline"
	candidateName = "candidate"
)

// checkersOf sets both checkers of a request. It gives the configuration of those that this process starts or dials.
func (a *app) checkersOf(dir string, c setdir.Config, f runFlags, req *replayv1.ReplayRequest) (map[string]server.CheckerConfig, error) {
	own := map[string]server.CheckerConfig{}
	for _, side := range []struct {
		name, flag string
		given      bool
		params     []string
		config     setdir.CheckerConfig
		ref        **replayv1.CheckerRef
	}{
		{baselineName, f.baseline, f.baselineGiven, f.baselineParams, c.Baseline, &req.Baseline},
		{candidateName, f.candidate, f.candidateGiven, f.candidateParams, c.Candidate, &req.Candidate},
	} {
		config, at := side.config, dir
		if side.given {
			given, err := a.parseChecker(side.flag)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", side.name, err)
			}
			given.Parameters, given.ModelEndpoint = config.Parameters, config.ModelEndpoint && len(given.Command) > 0
			if len(given.Command) > 0 {
				given.Sandbox = config.Sandbox // a set that demands one demands it of whichever command decides it
			}
			config, at = given, "."
		}
		if err := f.confine(&config); err != nil {
			return nil, err
		}
		params, err := config.ParameterValues()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", side.name, err)
		}
		if err := addParams(params, side.params); err != nil {
			return nil, fmt.Errorf("--%s-param: %w", side.name, err)
		}
		*side.ref = &replayv1.CheckerRef{Parameters: params}
		if err := a.refer(*side.ref, side.name, config, at, f.key, own); err != nil {
			return nil, err
		}
	}
	if a.server != "" && f.detach && len(own) > 0 {
		return nil, errors.New("--detach lets the run go on without this process, and a checker that is a command of this process ends with it: name one of the server's")
	}
	return own, nil
}

// confine has the flags say how a checker's sandbox is.
func (f runFlags) confine(c *setdir.CheckerConfig) error {
	if f.sandbox != "" {
		c.Sandbox = f.sandbox
	}
	for _, path := range f.read {
		abs, err := filepath.Abs(path) // relative to where the command is given, not to the set
		if err != nil {
			return fmt.Errorf("--read: %w", err)
		}
		c.Read = append(c.Read, abs)
	}
	return nil
}

// refer points a reference at a checker: at the server's own, or at one of this process.
func (a *app) refer(ref *replayv1.CheckerRef, name string, c setdir.CheckerConfig, dir, key string, own map[string]server.CheckerConfig) error {
	switch {
	case c.Name != "" && a.server == "":
		return fmt.Errorf("%s: %q is the name of a registered checker, and without --server there is no registry", name, c.Name)
	case c.Name != "":
		ref.Checker = &replayv1.CheckerRef_Name{Name: c.Name}
	case c.Address != "":
		ref.Checker = &replayv1.CheckerRef_Address{Address: c.Address}
	case len(c.Command) == 0:
		return fmt.Errorf("no %s: give one in %s or with --%s", name, setdir.ConfigFile, name)
	case a.server != "" && c.ModelEndpoint:
		return fmt.Errorf("%s: model_endpoint answers where the recordings are, and they are the server's: run without --server, or name a checker of the server's configuration", name)
	default:
		if a.server != "" {
			name = lentName(key, name) // a server starts no command of a caller: it runs here
		}
		own[name] = server.CheckerConfig{Command: c.Command, Env: c.Env, Dir: dir, Sandbox: c.Sandbox, Read: c.Read, ModelEndpoint: c.ModelEndpoint}
		ref.Checker = &replayv1.CheckerRef_Name{Name: name}
	}
	return nil
}

var addressForm = regexp.MustCompile(`^(unix|dns|ipv4|ipv6|passthrough):\S+$|^[^\s/:]+:[0-9]+$|^\[[0-9a-fA-F:]+\]:[0-9]+$`)

// parseChecker reads the value of --baseline or --candidate. With a server, a single word without a slash is a name of its
// registry; anything else that is no address is a command.
func (a *app) parseChecker(s string) (setdir.CheckerConfig, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return setdir.CheckerConfig{}, errors.New("it is empty")
	case addressForm.MatchString(s):
		return setdir.CheckerConfig{Address: s}, nil
	case a.server != "" && !strings.ContainsFunc(s, func(r rune) bool { return r == '/' || unicode.IsSpace(r) }):
		return setdir.CheckerConfig{Name: s}, nil
	}
	argv, err := shellquote.Split(s)
	if err != nil {
		return setdir.CheckerConfig{}, fmt.Errorf("%q: %w", s, err)
	}
	return setdir.CheckerConfig{Command: argv}, nil
}

// addParams adds NAME=VALUE pairs. A value that is no JSON is a string.
func addParams(to map[string]string, pairs []string) error {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not NAME=VALUE", pair)
		}
		if _, err := fixture.Canonicalize(nil, []byte(value)); err != nil {
			value = string(fixture.AppendString(nil, strings.ToValidUTF8(value, "\uFFFD")))
		}
		to[name] = value
	}
	return nil
}

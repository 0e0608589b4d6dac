package setdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// ConfigFile is the file that makes a directory a fixture set.
const ConfigFile = "retrial.yaml"

// Config is what retrial.yaml says. Its field comments are its manual.
type Config struct {
	// Set is the set's name. Mandatory.
	Set string `yaml:"set"`
	// Schema is the schema number of the fixtures: 1. Mandatory.
	Schema int `yaml:"schema"`
	// Checksum is what the set's checksum must be. Optional; with it, no fixture changes without a line of this file
	// changing too. `retrial fixtures checksum --update` writes it.
	Checksum string `yaml:"checksum"`
	// Verdicts are the words a checker of this set can answer. Mandatory, at least two.
	Verdicts []string `yaml:"verdicts"`
	// Permissive is the verdict that is costly to grant by mistake. Mandatory, one of Verdicts.
	Permissive string `yaml:"permissive"`
	// ReasonCodes are the reason codes a checker of this set can give. Optional; without it any is accepted.
	ReasonCodes []string `yaml:"reason_codes"`
	// QueueConfiguration is the configuration that the decisions were made under. Optional.
	QueueConfiguration string `yaml:"queue_configuration"`
	// Show are the members of the input to show beside a flip, such as "age_days" or "scope.user_id". Optional.
	Show []string `yaml:"show"`
	// Policy is what the gate tolerates. Optional; full agreement.
	Policy PolicyConfig `yaml:"policy"`
	// Baseline is the checker as released, Candidate as proposed. Optional; flags can give them.
	Baseline  CheckerConfig `yaml:"baseline"`
	Candidate CheckerConfig `yaml:"candidate"`
	// Ignore are globs over the names beside retrial.yaml that are no part of the set. Optional.
	Ignore []string `yaml:"ignore"`
}

// PolicyConfig is a gate policy.
type PolicyConfig struct {
	// Kind is full, bounded or allowlist.
	Kind string `yaml:"kind"`
	// Bounds says how many flips of each class may pass under a bounded policy.
	Bounds map[string]uint32 `yaml:"bounds"`
	// AllowlistCap is how many entries allowlist.json may have; at most, and without it, 40.
	AllowlistCap int `yaml:"allowlist_cap"`
	// BlockUnusedStubs has a stub that neither checker asks for block.
	BlockUnusedStubs bool `yaml:"block_unused_stubs"`
	// AdmitFreezes lets quarantine.json have entries: each excuses the baseline over one fixture, and nobody else.
	AdmitFreezes bool `yaml:"admit_freezes"`
	// EvidenceMaxAge is how old a pass may be and still count, such as 168h; without it, for ever.
	EvidenceMaxAge time.Duration `yaml:"evidence_max_age"`
	// FreeRemovals is how many fixtures one person may remove or rewrite, on a server that knows its callers.
	FreeRemovals uint32 `yaml:"free_removals"`
}

// CheckerConfig says which checker is meant: by at most one of Command, Address and Name.
type CheckerConfig struct {
	// Command starts the checker; a relative program is looked up in the set's directory. "retrial" is this program.
	Command []string `yaml:"command"`
	// Env is added to the minimal environment of Command, as NAME=value.
	Env []string `yaml:"env"`
	// Sandbox says what is kept from Command: strict, network, off, or auto for the strongest in which it starts. Default auto.
	Sandbox string `yaml:"sandbox"`
	// Read are files and directories, relative to the set's, that Command may read in the sandbox strict.
	Read []string `yaml:"read"`
	// ModelEndpoint has Command find a model of OpenAI's form at OPENAI_BASE_URL, which answers from the recordings of the set that
	// have their prompts, and from nothing else. A command that a flag gives has it too. In the sandboxes strict and network that
	// takes root.
	ModelEndpoint bool `yaml:"model_endpoint"`
	// Address is where the checker listens.
	Address string `yaml:"address"`
	// Name is a checker of the server's registry.
	Name string `yaml:"name"`
	// Parameters are the values of the checker's parameters.
	Parameters map[string]any `yaml:"parameters"`
}

// ReadConfig reads retrial.yaml of a directory. An unknown key, and one that stands twice, is an error with its line.
func ReadConfig(dir string) (Config, error) {
	var c Config
	file := filepath.Join(dir, ConfigFile)
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return c, fixture.NewError(fixture.CodeInvalid, "read set", dir, fmt.Errorf("there is no %s in it", ConfigFile))
	}
	if err != nil {
		return c, fixture.NewError(fixture.CodeInvalid, "read set", dir, err)
	}
	if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict()); err != nil {
		return c, fixture.NewError(fixture.CodeInvalid, "", file, errors.New(yaml.FormatError(err, false, true)))
	}
	return c, c.validate(file)
}

func (c Config) validate(file string) error {
	var errs []error
	refuse := func(field string, err error) {
		if err != nil {
			errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Subject: file, Field: field, Err: err})
		}
	}
	if c.Set == "" {
		refuse("set", errors.New("missing: the set needs a name"))
	} else if err := server.CheckSetName("set", c.Set); err != nil {
		errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", file, err))
	}
	if c.Schema != fixture.SchemaVersion {
		refuse("schema", fmt.Errorf("schema %d is unknown; this release reads schema %d", c.Schema, fixture.SchemaVersion))
	}
	for _, glob := range c.Ignore {
		_, err := filepath.Match(glob, "")
		refuse("ignore", err)
	}
	for field, checker := range map[string]CheckerConfig{"baseline": c.Baseline, "candidate": c.Candidate} {
		n := 0
		for _, given := range []bool{len(checker.Command) > 0, checker.Address != "", checker.Name != ""} {
			if given {
				n++
			}
		}
		if n > 1 {
			refuse(field, errors.New("a checker has one of command, address and name"))
		}
		_, err := checker.ParameterValues()
		refuse(field, err)
		if checker.Sandbox != "" {
			_, err := sandbox.ParseLevel(checker.Sandbox)
			refuse(field+".sandbox", err)
		}
		if len(checker.Command) == 0 && (checker.Sandbox != "" || len(checker.Read) > 0) {
			refuse(field, errors.New("sandbox and read are for a command"))
		}
		if checker.ModelEndpoint && (checker.Address != "" || checker.Name != "") {
			refuse(field+".model_endpoint", errors.New("it is for a command: where a checker that runs elsewhere finds its model is not Retrial's to say"))
		}
	}
	return errors.Join(errs...)
}

// ParameterValues gives the parameters as JSON by name.
func (c CheckerConfig) ParameterValues() (map[string]string, error) {
	out := make(map[string]string, len(c.Parameters))
	for name, value := range c.Parameters {
		b, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		out[name] = string(b)
	}
	return out, nil
}

// policy gives the domain's policy.
func (c PolicyConfig) policy() gate.Policy {
	p := gate.Policy{Kind: gate.Kind(c.Kind), AllowlistCap: c.AllowlistCap, BlockUnusedStubs: c.BlockUnusedStubs, EvidenceMaxAge: c.EvidenceMaxAge, FreeRemovals: c.FreeRemovals, AdmitFreezes: c.AdmitFreezes}
	if p.Kind == "" {
		p.Kind = gate.Full
	}
	if len(c.Bounds) > 0 {
		p.Bounds = map[fixture.Class]uint32{}
		for class, n := range c.Bounds {
			p.Bounds[fixture.Class(class)] = n
		}
	}
	return p
}

package server

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/wire"
)

// Config is a server's configuration. Its field comments are its manual; durations are written as "30s".
type Config struct {
	// Listen is the address to listen at: "unix:/run/retrial.sock" or "127.0.0.1:7433". An address that other machines
	// reach needs Insecure.
	Listen string `yaml:"listen"`
	// Insecure admits an address that other machines reach although nothing on it is encrypted, or nobody on it known.
	Insecure bool `yaml:"insecure"`
	// TLS encrypts. An address that other machines reach needs it, or Insecure.
	TLS TLSConfig `yaml:"tls"`
	// Auth says whom the server knows. An address that other machines reach needs it, or Insecure.
	Auth AuthConfig `yaml:"auth"`
	// Store is the path of the database file.
	Store string `yaml:"store"`
	// Key is the path of the server's Ed25519 key (PEM, PKCS #8), which signs checkpoints and attestations. It is made if it is
	// not there. Default: the store's path and ".key".
	Key string `yaml:"key"`
	// RequiredSets are the sets that every release must pass, whether or not the store has them.
	RequiredSets []string `yaml:"required_sets"`
	// Reflection lets clients such as grpcurl ask for the contract.
	Reflection bool `yaml:"reflection"`
	// Checkers are the checkers that runs can name.
	Checkers map[string]CheckerConfig `yaml:"checkers"`
	// DialAllow are globs over the addresses that a run may name instead of a checker, such as "127.0.0.1:*". "*" alone
	// admits any; empty admits none.
	DialAllow []string `yaml:"dial_allow"`
	// AttachAllow are globs over the names under which checkers may come by themselves, attached or registered, such as "run-*".
	// "*" alone admits any; empty admits none.
	AttachAllow []string `yaml:"attach_allow"`
	// RegisterAllow are globs over the addresses at which checkers may be registered, such as "10.0.0.*:9000". "*" alone admits
	// any; empty admits none.
	RegisterAllow []string `yaml:"register_allow"`
	// AdmitLevel is how far a checker that comes by itself must keep the plugin contract before it is listed: "contract", "declared" or
	// "determinism", as `retrial conformance` has them; the higher levels need a process to look at. It is asked the first 300 fixtures
	// of AdmitSet, for which its parameters have defaults. Empty admits any that says who it is.
	AdmitLevel string `yaml:"admit_level"`
	// AdmitSet is the set whose newest version's fixtures it is asked, which it must be able to decide. "contract" can do without.
	AdmitSet string `yaml:"admit_set"`
	// PolicyOverride lets a run rule by a policy of its own in place of the version's.
	PolicyOverride bool `yaml:"policy_override"`
	// Limits bound what callers can ask for.
	Limits Limits `yaml:"limits"`
	// Telemetry says how the server can be seen. Where traces go, the OTEL_… environment says.
	Telemetry TelemetryConfig `yaml:"telemetry"`
}

// TelemetryConfig says how a server can be seen.
type TelemetryConfig struct {
	// Listen is the address of /metrics, /healthz and /readyz over HTTP: "127.0.0.1:9464" or "unix:/run/retrial-http.sock".
	// Empty is off. An address that other machines reach needs Insecure.
	Listen string `yaml:"listen"`
}

// maxCheckerName bounds the name of a checker in the registry, in bytes.
const maxCheckerName = 128

// CheckerConfig says how a checker is reached: by exactly one of Command and Address.
type CheckerConfig struct {
	// Command starts the checker as a child process: the program and its arguments. "retrial" is this program itself.
	Command []string `yaml:"command"`
	// Dir is the working directory of Command; a relative program is looked up in it.
	Dir string `yaml:"dir"`
	// Env is added to the minimal environment of Command, as NAME=value.
	Env []string `yaml:"env"`
	// Sandbox says what is kept from Command: "strict", "network", "off", or "auto" for the strongest in which it starts.
	// Default auto.
	Sandbox string `yaml:"sandbox"`
	// Read are files and directories, relative to Dir, that Command may read in the sandbox strict, beside those of its program
	// and those that its arguments name.
	Read []string `yaml:"read"`
	// RequireLevel is how far Command must keep the plugin contract: "contract", "declared", "determinism", "behaviour" or "hermetic". It
	// is put through the cases once, when the server starts, which does not where it fails. What Command starts later must be that
	// program (on Linux) and describe itself alike, or it is refused. Of a script the program is its interpreter: there it is the build digest
	// of the description that tells one script from another.
	RequireLevel string `yaml:"require_level"`
	// RequireSet is the set whose newest version's first 300 fixtures it is asked then. "contract" can do without.
	RequireSet string `yaml:"require_set"`
	// ModelEndpoint has Command find a model of OpenAI's form at OPENAI_BASE_URL, which answers during a replay from the
	// recordings of the version, and from nothing else. In the sandboxes strict and network that takes root.
	ModelEndpoint bool `yaml:"model_endpoint"`
	// Address is where the checker listens: "unix:/run/checker.sock" or "127.0.0.1:9000".
	Address string `yaml:"address"`
}

// Limits bound what callers can ask for. Zero takes the default.
type Limits struct {
	// MessageBytes bounds one message. Default 16 MiB.
	MessageBytes int `yaml:"message_bytes"`
	// Streams bounds the calls under way on one connection. Default 100.
	Streams uint32 `yaml:"streams"`
	// RequestsPerSecond bounds the calls that begin, of each caller over all of its connections. Default 1,000.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Replays bounds the replays under way. Default 8.
	Replays int `yaml:"replays"`
	// Instances bounds the checkers that come by themselves, over all names. Default 64.
	Instances int `yaml:"instances"`
	// CaseTimeout bounds how long a run can let a checker leave every case unanswered. Default 5 min.
	CaseTimeout time.Duration `yaml:"case_timeout"`
	// RunTimeout bounds how long a run can take. Default 2 h.
	RunTimeout time.Duration `yaml:"run_timeout"`
	// SendTimeout is how long a client may leave what is sent to it unread. Default 30 s.
	SendTimeout time.Duration `yaml:"send_timeout"`
	// StopTimeout is how long calls under way may take to end when the server stops. Default 10 s.
	StopTimeout time.Duration `yaml:"stop_timeout"`
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	orDefault(&l.MessageBytes, 16<<20)
	orDefault(&l.Streams, 100)
	orDefault(&l.RequestsPerSecond, 1000)
	orDefault(&l.Replays, 8)
	orDefault(&l.Instances, 64)
	orDefault(&l.CaseTimeout, 5*time.Minute)
	orDefault(&l.RunTimeout, 2*time.Hour)
	orDefault(&l.SendTimeout, 30*time.Second)
	orDefault(&l.StopTimeout, 10*time.Second)
	return l
}

func orDefault[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// ReadConfig reads a configuration file. Unknown keys, and keys that stand twice, are errors with their line. Paths in
// it are relative to its directory.
func ReadConfig(file string) (Config, error) {
	var c Config
	b, err := os.ReadFile(file)
	if err != nil {
		return c, fixture.NewError(fixture.CodeInvalid, "read configuration", "", err)
	}
	if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict()); err != nil {
		return c, fixture.NewError(fixture.CodeInvalid, "read configuration", file, errors.New(yaml.FormatError(err, false, true)))
	}
	dir := filepath.Dir(file)
	for _, path := range []*string{&c.Store, &c.Key, &c.TLS.Cert, &c.TLS.Key, &c.TLS.ClientCA, &c.Auth.Tokens} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for name, checker := range c.Checkers {
		if !filepath.IsAbs(checker.Dir) {
			checker.Dir = filepath.Join(dir, checker.Dir)
			c.Checkers[name] = checker
		}
	}
	return c, nil
}

// Validate reports everything that is wrong with c at once.
func (c Config) Validate() error {
	var errs []error
	refuse := func(field, format string, args ...any) {
		errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "configuration", Field: field, Err: fmt.Errorf(format, args...)})
	}
	if c.Listen != "" && !c.Insecure && !wire.Local(c.Listen) && (!c.TLS.on() || !c.Auth.on()) {
		refuse("listen", "other machines reach %q: it needs tls and auth, or \"insecure: true\" if that is meant", c.Listen)
	}
	if err := c.TLS.validate(c.Auth); err != nil {
		refuse("tls", "%w", err)
	}
	if c.Auth.Tokens != "" {
		tokens, err := ReadTokens(c.Auth.Tokens)
		if err == nil {
			err = checkCallers(tokens, c.Auth.Certificates)
		}
		if err != nil {
			refuse("auth.tokens", "%w", err)
		}
	}
	if err := checkCallers(nil, c.Auth.Certificates); err != nil {
		refuse("auth.certificates", "%w", err)
	}
	for _, cert := range c.Auth.Certificates {
		if err := errors.Join(fixture.CheckName(cert.Name, 256), checkRoles(cert.Roles)); err != nil {
			refuse("auth.certificates", "%.80q: %w", cert.Name, err)
		}
	}
	for _, set := range c.RequiredSets {
		if err := checkSetName(set); err != nil {
			refuse("required_sets", "%w", err)
		}
	}
	if t := c.Telemetry.Listen; t != "" && !c.Insecure && !wire.Local(t) {
		refuse("telemetry.listen", "other machines reach %q, and nothing on it is encrypted or authenticated; say \"insecure: true\" if that is meant", t)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Checkers)) {
		checker := c.Checkers[name]
		if err := fixture.CheckName(name, maxCheckerName); err != nil {
			refuse("checkers", "name %.40q: %w", name, err)
		}
		if (len(checker.Command) == 0) == (checker.Address == "") {
			refuse("checkers."+name, "exactly one of command and address is needed")
		}
		if len(checker.Command) == 0 && len(checker.Env) > 0 {
			refuse("checkers."+name, "env is for a command")
		}
		if len(checker.Command) == 0 && (checker.Sandbox != "" || len(checker.Read) > 0) {
			refuse("checkers."+name, "sandbox and read are for a command")
		}
		if len(checker.Command) == 0 && (checker.RequireLevel != "" || checker.RequireSet != "") {
			refuse("checkers."+name, "require_level and require_set are for a command")
		}
		checkLevel(checker.RequireLevel, checker.RequireSet, len(conformanceLevels), func(key, format string, args ...any) {
			refuse("checkers."+name+".require"+key, format, args...)
		})
		if len(checker.Command) == 0 && checker.ModelEndpoint {
			refuse("checkers."+name, "model_endpoint is for a command: where a checker that runs elsewhere finds its model is not the server's to say")
		}
		if _, err := checker.level(); err != nil {
			refuse("checkers."+name+".sandbox", "%w", err)
		}
	}
	checkLevel(c.AdmitLevel, c.AdmitSet, overConnections, func(key, format string, args ...any) { refuse("admit"+key, format, args...) })
	for _, globs := range []struct {
		key  string
		list []string
	}{{"dial_allow", c.DialAllow}, {"attach_allow", c.AttachAllow}, {"register_allow", c.RegisterAllow}} {
		for _, glob := range globs.list {
			if _, err := path.Match(glob, ""); err != nil {
				refuse(globs.key, "%q: %w", glob, err)
			}
		}
	}
	l := c.Limits
	if l.MessageBytes < 0 || l.RequestsPerSecond < 0 || l.Replays < 0 || l.Instances < 0 || l.CaseTimeout < 0 || l.RunTimeout < 0 || l.SendTimeout < 0 || l.StopTimeout < 0 {
		refuse("limits", "a limit is negative")
	}
	return errors.Join(errs...)
}

package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Kind is the kind of a Policy (R26).
type Kind string

// The kinds. The zero value of Policy is of kind Full.
const (
	// Full agreement: any flip blocks.
	Full Kind = "full"
	// Bounded: a stated number of flips a class may pass.
	Bounded Kind = "bounded"
	// Listed: the flips of the allowlist may pass, exactly as they are listed.
	Listed Kind = "allowlist"
)

// MaxAllowlist is the most entries that an allowlist may have (R27). A policy can say fewer.
const MaxAllowlist = 40

// Policy says which flips the gate tolerates.
type Policy struct {
	// Kind is the kind; empty is Full.
	Kind Kind
	// Bounds says, for a bounded policy, how many flips of each class may pass. A class that is not named may have none.
	Bounds map[fixture.Class]uint32
	// AllowlistCap is how many entries the allowlist may have; 0 is MaxAllowlist.
	AllowlistCap int
	// BlockUnusedStubs has a stub that nobody asked for block.
	BlockUnusedStubs bool
	// EvidenceMaxAge is how old a pass may be and still count; 0 is for ever.
	EvidenceMaxAge time.Duration
	// AdmitFreezes lets quarantined fixtures of the hermetic group excuse the baseline. Without it none is accepted.
	AdmitFreezes bool
	// FreeRemovals is how many fixtures one person may remove or rewrite.
	FreeRemovals uint32
}

// Validate reports everything that is wrong with p at once.
func (p Policy) Validate() error {
	var errs []error
	switch p.Kind {
	case "", Full, Bounded, Listed:
	default:
		errs = append(errs, invalid("policy", "", fmt.Errorf("kind %.40q is none of full, bounded, allowlist", p.Kind)))
	}
	if len(p.Bounds) > 0 && p.Kind != Bounded {
		errs = append(errs, invalid("policy", "", errors.New("bounds are given, but the policy is not bounded")))
	}
	for _, class := range slices.Sorted(maps.Keys(p.Bounds)) {
		if !slices.Contains(fixture.Classes(), class) {
			errs = append(errs, invalid("policy", "", fmt.Errorf("flip class %.40q is unknown; there are permissive, restrictive, lateral, reason, output", class)))
		}
	}
	if p.AllowlistCap < 0 || p.AllowlistCap > MaxAllowlist {
		errs = append(errs, invalid("policy", "", fmt.Errorf("an allowlist cap of %d is not between 1 and %d", p.AllowlistCap, MaxAllowlist)))
	}
	if p.EvidenceMaxAge < 0 {
		errs = append(errs, invalid("policy", "", errors.New("the age that evidence may have is negative")))
	}
	return errors.Join(errs...)
}

// Cap gives how many entries the allowlist may have.
func (p Policy) Cap() int {
	if p.AllowlistCap == 0 {
		return MaxAllowlist
	}
	return p.AllowlistCap
}

// Over gives the policy that a run is ruled by which asks for p in place of the set's own: what the set's own demands
// beside the flips stays.
func (p Policy) Over(own Policy) Policy {
	p.BlockUnusedStubs = p.BlockUnusedStubs || own.BlockUnusedStubs
	p.EvidenceMaxAge, p.FreeRemovals, p.AdmitFreezes = own.EvidenceMaxAge, own.FreeRemovals, own.AdmitFreezes
	if own.AllowlistCap != 0 && p.Cap() > own.AllowlistCap {
		p.AllowlistCap = own.AllowlistCap
	}
	return p
}

// Equal says whether two policies tolerate the same.
func (p Policy) Equal(q Policy) bool { return p.String() == q.String() }

// String gives the policy in one line, in the form that ParsePolicy reads, and behind it what that form cannot say.
func (p Policy) String() string {
	s := p.kindString()
	if p.AllowlistCap != 0 {
		s += fmt.Sprintf(" (at most %d entries)", p.AllowlistCap)
	}
	if p.BlockUnusedStubs {
		s += " (unused stubs block)"
	}
	if p.AdmitFreezes {
		s += " (freezes are admitted)"
	}
	if p.EvidenceMaxAge != 0 {
		s += fmt.Sprintf(" (a pass counts for %s)", p.EvidenceMaxAge)
	}
	if p.FreeRemovals != 0 {
		s += fmt.Sprintf(" (%d removals need no approval)", p.FreeRemovals)
	}
	return s
}

func (p Policy) kindString() string {
	switch p.Kind {
	case Bounded:
		var parts []string
		for _, class := range fixture.Classes() {
			if n, ok := p.Bounds[class]; ok {
				parts = append(parts, fmt.Sprintf("%s=%d", class, n))
			}
		}
		return "bounded:" + strings.Join(parts, ",")
	case "":
		return string(Full)
	default:
		return string(p.Kind)
	}
}

// ParsePolicy reads "full", "allowlist", or "bounded:restrictive=20,reason=5".
func ParsePolicy(s string) (Policy, error) {
	kind, bounds, _ := strings.Cut(s, ":")
	p := Policy{Kind: Kind(kind)}
	if bounds != "" {
		p.Bounds = map[fixture.Class]uint32{}
		for part := range strings.SplitSeq(bounds, ",") {
			class, n, ok := strings.Cut(part, "=")
			var bound uint32
			if _, err := fmt.Sscanf(n, "%d", &bound); !ok || err != nil || fmt.Sprint(bound) != n {
				return p, invalid("policy", s, fmt.Errorf("%.40q is not a class and a number such as restrictive=20", part))
			}
			p.Bounds[fixture.Class(class)] = bound
		}
	}
	if p.Kind == "" {
		return p, invalid("policy", s, errors.New("expected full, allowlist or bounded:CLASS=N,…"))
	}
	return p, p.Validate()
}

func invalid(op, subject string, err error) error {
	return fixture.NewError(fixture.CodeInvalid, op, subject, err)
}

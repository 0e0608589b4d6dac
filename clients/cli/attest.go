package cli

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/attest"
	serverkey "github.com/retrial-dev/retrial/server/identity"
)

// verification is what `gate verify` was asked.
type verification struct {
	keys, sets        []string
	artifact, release string
	allowWaiver       bool
}

// verified is one attestation that is sound. Reason says why it is no pass; empty for a pass.
type verified struct {
	File   string `json:"attestation"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	*attest.Summary
}

func (a *app) verifyAttestationCommand() *cobra.Command {
	v := &verification{}
	cmd := &cobra.Command{
		Use:   "verify ATTESTATION... --key PUB.pem",
		Short: "Verify attestations of decisions, without a server: may this artifact go out?",
		Long: strings.TrimSpace(`
Verify reads DSSE envelopes and says what they attest. It exits 0 only if a given key signed each of them, all are about
one release, that is the one expected, each passes, and every set named with --set is among them. It asks nobody: that a
later replay has blocked since, only the server knows.

` + exitHelp),
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error { return a.verifyAttestations(v, files, time.Now()) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&v.keys, "key", nil, "file with the server's public key in PEM (mandatory, repeatable)")
	f.StringVar(&v.artifact, "artifact", "", "what is to be released: a file, or its digest as sha256:…")
	f.StringVar(&v.release, "release", "", "the release that it must be about")
	f.StringArrayVar(&v.sets, "set", nil, "a set that must be attested (repeatable)")
	f.BoolVar(&v.allowWaiver, "allow-waiver", false, "count a pass by waiver")
	return cmd
}

func (a *app) verifyAttestations(v *verification, files []string, now time.Time) error {
	if v.release == "" && v.artifact == "" {
		return usage(errors.New("say what it must be about: --artifact or --release; an attestation of anything else is no evidence"))
	}
	keys, err := readPublicKeys(v.keys)
	if err != nil {
		return usage(err)
	}
	want := attest.Expected{Release: v.release}
	if want.Digest, err = digestOf(v.artifact); err != nil {
		return usage(err)
	}
	all := make([]verified, 0, len(files))
	for _, file := range files {
		s, err := verifyFile(file, keys, want)
		if err != nil {
			return err
		}
		one := verified{File: file, Status: statusWord(gatev1.Status_STATUS_PASS), Summary: s}
		if err := s.Passes(now, v.allowWaiver); err != nil {
			one.Reason, one.Status = err.Error(), statusWord(gatev1.Status_STATUS_BLOCK)
			if s.Result == attest.Passed {
				one.Status = statusWord(gatev1.Status_STATUS_UNKNOWN)
			}
		}
		all = append(all, one)
	}
	if err := v.together(all); err != nil {
		return &exit{exitBlocked, err}
	}
	if err := a.printVerified(all); err != nil {
		return err
	}
	return verifiedExit(all)
}

// verifyFile gives what a file attests. What is sound, but about something else, is no evidence: a block, and no error of
// the file.
func verifyFile(file string, keys []ed25519.PublicKey, want attest.Expected) (*attest.Summary, error) {
	envelope, err := readBounded(file, attest.MaxEnvelopeBytes)
	if err != nil {
		return nil, err
	}
	s, err := attest.Verify(envelope, keys, want)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
		if fixture.CodeOf(err) == fixture.CodePrecondition {
			return nil, &exit{exitBlocked, err}
		}
	}
	return s, err
}

// together refuses attestations that are not about one release, and such as lack a set. Nothing is printed then: what reads
// PASS must mean all of it.
func (v *verification) together(all []verified) error {
	attested, first := map[string]bool{}, all[0]
	for _, one := range all {
		if one.Subject != first.Subject || one.Release != first.Release {
			return fmt.Errorf("%s is about release %s (%s), and %s about release %s (%s)", first.File, first.Release, first.Subject, one.File, one.Release, one.Subject)
		}
		attested[one.Set] = true
	}
	for _, set := range v.sets {
		if !attested[set] {
			return fmt.Errorf("no attestation is about the set %q", set)
		}
	}
	return nil
}

// verifiedExit gives the exit status, as standingExit does: a pass only if all pass.
func verifiedExit(all []verified) error {
	status := exitPass
	for _, one := range all {
		switch {
		case one.Reason == "":
		case one.Ruling == "BASELINE_UNCONFIRMED":
			return &exit{status: exitUnconfirmed}
		default:
			status = exitBlocked
		}
	}
	if status != exitPass {
		return &exit{status: status}
	}
	return nil
}

func (a *app) printVerified(all []verified) error {
	p := newPaint(a.stdout)
	for _, one := range all {
		switch {
		case a.json:
			if err := a.printValue(one); err != nil {
				return err
			}
		case a.quiet:
			fmt.Fprintln(a.stdout, one.Status)
		default:
			one.print(a.stdout, p)
		}
	}
	return nil
}

// print tells what is attested. The texts are another's, and made fit for a terminal.
func (v *verified) print(w io.Writer, p paint) {
	const most = 400
	line := func(format string, args ...any) {
		fmt.Fprintln(w, fixture.Printable(fmt.Sprintf(format, args...), most))
	}
	fmt.Fprint(w, p.status(gatev1.Status(gatev1.Status_value["STATUS_"+v.Status])), "  ")
	line("release %s, set %s version %d", v.Release, v.Set, v.Version)
	line("  ruling    %s: %s", v.Ruling, v.Text)
	if v.Reason != "" && v.Reason != v.Text {
		line("  but       %s", v.Reason)
	}
	for _, c := range v.Causes {
		line("  cause     %d %s: %s", c.Count, c.Code, c.Message)
	}
	for _, waiver := range v.Waivers {
		line("  waiver    %s by %s until %s: %s", waiver.ID, waiver.GrantedBy, when(waiver.ExpiresAt), waiver.Reason)
	}
	line("  subject   %s", v.Subject)
	line("  checksum  %s", v.Checksum)
	line("  decided   %s by replay %s", when(v.DecidedAt), v.ReplayID)
	if !v.ExpiresAt.IsZero() {
		line("  expires   %s", when(v.ExpiresAt))
	}
	line("  signed    by key %s", v.KeyID)
}

func readPublicKeys(files []string) ([]ed25519.PublicKey, error) {
	if len(files) == 0 {
		return nil, errors.New("say whose signature counts: --key")
	}
	keys := make([]ed25519.PublicKey, 0, len(files))
	for _, file := range files {
		b, err := readBounded(file, 16<<10)
		if err != nil {
			return nil, err
		}
		key, err := serverkey.ParsePublicPEM(b)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", file, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// digestOf gives the digest of an artifact: what is written as one, or that of a file.
func digestOf(artifact string) (string, error) {
	switch {
	case artifact == "" || digestForm.MatchString(artifact):
		return artifact, nil
	case strings.HasPrefix(artifact, "sha256:"):
		return "", fmt.Errorf("--artifact %s: expected sha256: and 64 lower-case hexadecimal digits, or a file", artifact)
	}
	f, err := os.Open(artifact)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// readBounded reads a file that must not be larger than most bytes.
func readBounded(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fixture.NewError(fixture.CodeNotFound, "read", "", err)
	case err != nil:
		return nil, fixture.NewError(fixture.CodeUnavailable, "read", "", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, fixture.NewError(fixture.CodeUnavailable, "read", "", err)
	case int64(len(b)) > most:
		return nil, fixture.NewError(fixture.CodeTooLarge, "read", file, fmt.Errorf("it is over %d bytes", most))
	}
	return b, nil
}

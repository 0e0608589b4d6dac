//go:build linux

package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/internal/campaign"
	"github.com/retrial-dev/retrial/server"
)

// fullVariable says to the test binary how the disk is to be full: it is then the process that this happens to.
const fullVariable = "RETRIAL_CAMPAIGN_FULL_DISK"

// acknowledged stands in the line that the process ends with, between the count and what was refused.
const acknowledged = " acknowledged; refused: "

// R14, R29: on a full disk commits and decisions fail and say why, nothing that was acknowledged is lost, no release passes that
// could not be recorded, and everything goes on when there is space again, without a restart.
func TestCampaignFullDisk(t *testing.T) {
	for _, how := range []string{"tmpfs", "limit"} {
		t.Run(how, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "rf-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskInside$", "-test.v", "-test.timeout=10m")
			cmd.Env = append(os.Environ(), fullVariable+"="+how, "TMPDIR="+dir)
			if how == "tmpfs" {
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
				if os.Getuid() != 0 {
					cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
					cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
					cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
				}
			}
			out, err := cmd.CombinedOutput()
			switch {
			case errors.Is(err, syscall.EPERM), bytes.Contains(out, []byte("no mount")):
				t.Skipf("this machine admits no mount of a tmpfs in a namespace: %v\n%s", err, out)
			case err != nil:
				t.Errorf("%v\n%s", err, out)
			case !bytes.Contains(out, []byte(acknowledged+"map[commit:")): // a test binary that finds no test to run ends well too
				t.Errorf("nothing ran in the process, or nothing was refused:\n%s", out)
			default:
				t.Logf("%s", out)
			}
		})
	}
}

// disk is one that can be filled.
type disk struct {
	fill func(room int) error // leaves about this many bytes
	free func() error
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	dir := os.Getenv("TMPDIR")
	if os.Getenv(fullVariable) == "limit" {
		return limited(t, dir)
	}
	if err := errors.Join(syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m")); err != nil {
		t.Fatalf("no mount: %v", err)
	}
	ballast := filepath.Join(dir, "ballast")
	return &disk{
		fill: func(room int) error {
			f, err := os.Create(ballast)
			if err != nil {
				return err
			}
			for chunk := make([]byte, 4096); err == nil; {
				_, err = f.Write(chunk)
			}
			if !errors.Is(err, syscall.ENOSPC) {
				return err
			}
			info, err := f.Stat()
			if err == nil {
				err = f.Truncate(max(0, info.Size()-int64(room)))
			}
			return errors.Join(err, f.Close())
		},
		free: func() error { return os.Remove(ballast) },
	}
}

// limited is a disk on which no file grows beyond what the largest has now, and some room.
func limited(t *testing.T, dir string) *disk {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	return &disk{
		fill: func(room int) error {
			stores, err := filepath.Glob(filepath.Join(dir, "*", "*", "retrial.db"))
			if err != nil || len(stores) != 1 {
				return fmt.Errorf("stores %q, %w", stores, err)
			}
			info, err := os.Stat(stores[0])
			if err != nil {
				return err
			}
			limit := before
			limit.Cur = uint64(info.Size()) + uint64(room)
			return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
		},
		free: func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) },
	}
}

// TestFullDiskInside is the process of the campaign. It does nothing where it was not asked to.
func TestFullDiskInside(t *testing.T) {
	if os.Getenv(fullVariable) == "" {
		return
	}
	disk := newDisk(t)
	c := campaign.Begin(t, 40, 4)
	h := newHouse(t, func(c *server.Config) { c.Limits.RequestsPerSecond = 1e6 })
	f := &filler{t: t, h: h, refused: map[string]int{}}
	for c.Next() {
		f.round = c.Round()
		if err := disk.fill(c.Rand.IntN(64 << 10)); err != nil {
			t.Fatal(err)
		}
		f.untilFull()
		if err := disk.free(); err != nil {
			t.Fatal(err)
		}
		f.goesOn()
		f.checkKept()
		if c.Round()%4 == 0 {
			h.stop()
			h.start(t)
			f.checkKept()
		}
	}
	t.Logf("%d"+acknowledged+"%v", len(f.versions)+len(f.passed), f.refused)
}

// filler writes until the disk is full.
type filler struct {
	t        *testing.T
	h        *house
	round, n int
	parent   uint64
	versions []*fixturev1.Version
	passed   []string // releases whose pass was acknowledged, with the version that they passed on
	refused  map[string]int
}

// noted holds that an error says what is wrong, and counts it.
func (f *filler) noted(what string, err error) {
	f.t.Helper()
	s := status.Convert(err)
	if s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "no space left on device") && !strings.Contains(s.Message(), "file too large") {
		f.t.Errorf("%s on a full disk: %s: %s", what, s.Code(), s.Message())
	}
	f.refused[what]++
}

func (f *filler) commit() error {
	f.n++
	v, err := f.h.tryPush(f.t, "author", f.parent, func(h *fixturev1.CommitHeader) { h.Set = "more" }, append(ids(0, 20), 20+f.n%79)...)
	if err == nil {
		f.parent, f.versions = v.GetNumber(), append(f.versions, v)
	}
	return err
}

// replay gives the release, and the error if its decision was not acknowledged.
func (f *filler) replay() (string, error) {
	f.n++
	release := fmt.Sprintf("v%d", f.n)
	r, err := retrial.StartReplay(f.h.as(f.t, "submitter"), f.h.conn, request(release, 10))
	if err != nil {
		return release, err
	}
	for range r.Events() {
	}
	_, err = r.Decision()
	if err == nil {
		f.passed = append(f.passed, release)
	}
	return release, err
}

// untilFull writes until a commit and a replay have failed.
func (f *filler) untilFull() {
	commits, replays := f.refused["commit"], f.refused["replay"]
	for i := 0; f.refused["commit"] == commits || f.refused["replay"] == replays; i++ {
		if i == 1000 || f.t.Failed() {
			f.t.Fatalf("%d writes, and the disk is not full", i)
		}
		if err := f.commit(); err != nil {
			f.noted("commit", err)
			f.reread()
		}
		release, err := f.replay()
		if err == nil {
			continue
		}
		f.noted("replay", err)
		res, err := gatev1.NewGateServiceClient(f.h.conn).GetGateStatus(f.h.as(f.t, "reader"), &gatev1.GetGateStatusRequest{Release: release, Sets: []string{"notes"}})
		if err != nil {
			f.noted("gate", err)
		} else if res.GetStatus() == gatev1.Status_STATUS_PASS {
			f.t.Errorf("%s passes, and its decision was not acknowledged", release)
		}
	}
}

// reread finds out whether a commit that was not acknowledged is there all the same.
func (f *filler) reread() {
	res, err := fixturev1.NewFixtureServiceClient(f.h.conn).GetVersion(f.h.as(f.t, "reader"), &fixturev1.GetVersionRequest{Set: "more"})
	if err != nil && status.Code(err) != codes.NotFound {
		f.t.Fatal(err)
	}
	f.parent = res.GetVersion().GetNumber()
}

// goesOn holds that everything works again.
func (f *filler) goesOn() {
	f.t.Helper()
	f.reread()
	if err := f.commit(); err != nil {
		f.t.Errorf("a commit when there is space again: %v", err)
	}
	release, err := f.replay()
	if err != nil {
		f.t.Errorf("a replay when there is space again: %v", err)
	}
	f.h.wantStatus(f.t, release, gatev1.Status_STATUS_PASS, "")
}

// checkKept holds that everything that was acknowledged is there, and nothing is damaged.
func (f *filler) checkKept() {
	f.t.Helper()
	for _, v := range f.versions {
		res, err := fixturev1.NewFixtureServiceClient(f.h.conn).GetVersion(f.h.as(f.t, "reader"),
			&fixturev1.GetVersionRequest{Set: "more", Selector: &fixturev1.GetVersionRequest_Number{Number: v.GetNumber()}})
		if err != nil || res.GetVersion().GetChecksum() != v.GetChecksum() {
			f.t.Errorf("version %d: %v", v.GetNumber(), err)
		}
	}
	for _, release := range f.passed {
		res := f.h.status(f.t, &gatev1.GetGateStatusRequest{Release: release, Sets: []string{"notes"}})
		if d := res.GetSets()[0].GetDecision(); !retrial.Passed(d) {
			f.t.Errorf("the decision for %s: %v", release, res)
		}
	}
	if _, err := f.h.store.Verify(f.t.Context(), func(err error) error { f.t.Errorf("damage: %v", err); return nil }); err != nil {
		f.t.Error(err)
	}
}

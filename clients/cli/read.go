package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
)

func (a *app) listCommand() *cobra.Command {
	var version uint64
	cmd := &cobra.Command{
		Use:   "list [SET]",
		Short: "List the sets, or the fixtures of a set",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && cmd.Flags().Changed("version") {
				return usage(errors.New("--version is for the fixtures of a set: name the set"))
			}
			return a.reading(cmd.Context(), func(conn *connection) error {
				if len(args) == 0 {
					return a.listSets(cmd.Context(), conn)
				}
				return a.listFixtures(cmd.Context(), conn, args[0], version)
			})
		},
	}
	cmd.Flags().Uint64Var(&version, "version", 0, "version of the set (default: the newest)")
	return cmd
}

func (a *app) listSets(ctx context.Context, conn *connection) error {
	t := newTable(a.stdout)
	a.head(t, "SET", "VERSION", "FIXTURES", "CHECKSUM", "COMMITTED", "AUTHOR")
	defer t.flush()
	req := &fixturev1.ListSetsRequest{}
	all := rows(ctx, fixturev1.NewFixtureServiceClient(conn).ListSets, req, &req.PageToken, (*fixturev1.ListSetsResponse).GetNewest)
	return list(a, 0, all, func(v *fixturev1.Version) {
		t.row(v.GetSet(), fmt.Sprint(v.GetNumber()), fmt.Sprint(v.GetFixtureCount()), short(v.GetChecksum()), when(v.GetCommittedAt().AsTime()), v.GetAuthor())
	})
}

// head prints the heads of columns, unless the output is for machines.
func (a *app) head(t *table, cells ...string) {
	if !a.json && !a.quiet {
		t.row(cells...)
	}
}

// short gives a checksum as far as a person compares it.
func short(checksum string) string { return checksum[:min(len(checksum), len("sha256:")+12)] }

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func (a *app) listFixtures(ctx context.Context, conn *connection, set string, version uint64) error {
	t := newTable(a.stdout)
	a.head(t, "FIXTURE", "ROW", "GROUP", "VERDICT", "REASON CODE")
	defer t.flush()
	client := fixturev1.NewFixtureServiceClient(conn)
	v, err := client.GetVersion(ctx, &fixturev1.GetVersionRequest{Set: set, Selector: &fixturev1.GetVersionRequest_Number{Number: version}})
	if err != nil {
		return err
	}
	// The version is fixed by the first page: a commit in between must not mix two.
	req := &fixturev1.ListFixturesRequest{Set: set, Version: v.GetVersion().GetNumber(), PageSize: 1000}
	all := rows(ctx, client.ListFixtures, req, &req.PageToken, (*fixturev1.ListFixturesResponse).GetFixtures)
	return list(a, 0, all, func(f *fixturev1.Fixture) {
		t.row(f.GetFixtureId(), f.GetSourceRowId(), f.GetGroup(), f.GetVerdict(), f.GetReasonCode())
	})
}

func (a *app) logCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "log SET",
		Short: "List the versions of a set, newest first, with what changed and why",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error { return a.log(cmd.Context(), conn, args[0]) })
		},
	}
}

func (a *app) log(ctx context.Context, conn *connection, set string) error {
	req := &fixturev1.ListVersionsRequest{Set: set}
	all := rows(ctx, fixturev1.NewFixtureServiceClient(conn).ListVersions, req, &req.PageToken, (*fixturev1.ListVersionsResponse).GetVersions)
	return list(a, 0, all, func(v *fixturev1.Version) {
		a.printVersion(v)
	})
}

func (a *app) printVersion(v *fixturev1.Version) {
	c := v.GetChangeCounts()
	tags := ""
	if len(v.GetTags()) > 0 {
		tags = " (" + strings.Join(v.GetTags(), ", ") + ")"
	}
	fmt.Fprintf(a.stdout, "%s%s  %s  %s\n", newPaint(a.stdout).bold(fmt.Sprintf("version %d", v.GetNumber())), tags, when(v.GetCommittedAt().AsTime()), v.GetAuthor())
	fmt.Fprintf(a.stdout, "  %s\n  %d fixtures: %d added, %d changed, %d removed\n  %s\n", v.GetChecksum(), v.GetFixtureCount(), c.GetAdded(), c.GetChanged(), c.GetRemoved(), v.GetReason())
	for _, change := range v.GetChanges() {
		fmt.Fprintf(a.stdout, "  changed expectation of %s: %s\n", change.GetFixtureId(), change.GetReason())
	}
	for _, need := range v.GetApprovalNeeded() {
		fmt.Fprintf(a.stdout, "  needs an approval: %s\n", need)
	}
	if by := v.GetApproval(); by != nil {
		fmt.Fprintf(a.stdout, "  approved by %s, %s: %s\n", by.GetApprovedBy(), when(by.GetApprovedAt().AsTime()), by.GetReason())
	}
	if v.GetRemovalReason() != "" {
		fmt.Fprintf(a.stdout, "  removed: %s\n", v.GetRemovalReason())
	}
	if q := v.GetConfig().GetQueueConfiguration(); q != "" {
		fmt.Fprintf(a.stdout, "  queue configuration %s\n", q)
	}
}

func (a *app) showCommand() *cobra.Command {
	var version uint64
	cmd := &cobra.Command{
		Use:   "show SET FIXTURE",
		Short: "Print a fixture with its stubs",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error {
				res, err := fixturev1.NewFixtureServiceClient(conn).GetFixture(cmd.Context(), &fixturev1.GetFixtureRequest{Set: args[0], FixtureId: args[1], Version: version})
				if err != nil {
					return err
				}
				if a.json {
					return printJSON(a.stdout, res)
				}
				f := res.GetFixture()
				fmt.Fprintf(a.stdout, "%s of %s version %d\nrow        %s\ngroup      %s\nrecorded   %s\ndigest     sha256:%s\n%s\n", f.GetFixtureId(), args[0], res.GetVersion(), f.GetSourceRowId(), f.GetGroup(), pair(f.GetVerdict(), f.GetReasonCode()), f.GetDigest(), indent(f.GetDocument()))
				for _, s := range f.GetStubs() {
					fmt.Fprintf(a.stdout, "stub %s\n%s\n", s.GetCall(), indent(s.GetDocument()))
				}
				return nil
			})
		},
	}
	cmd.Flags().Uint64Var(&version, "version", 0, "version of the set (default: the newest)")
	return cmd
}

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff SET FROM [TO]",
		Short: "Show what changed between two versions of a set",
		Args:  cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := parseVersion(args[1])
			if err != nil {
				return err
			}
			req := &fixturev1.DiffVersionsRequest{Set: args[0], From: from}
			if len(args) == 3 {
				if req.To, err = parseVersion(args[2]); err != nil {
					return err
				}
			}
			return a.reading(cmd.Context(), func(conn *connection) error { return a.diff(cmd.Context(), conn, req) })
		},
	}
}

func (a *app) diff(ctx context.Context, conn *connection, req *fixturev1.DiffVersionsRequest) error {
	stream, err := fixturev1.NewFixtureServiceClient(conn).DiffVersions(ctx, req)
	if err != nil {
		return err
	}
	n := 0
	for {
		d, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n++
		if a.json {
			if err := printJSON(a.stdout, d); err != nil {
				return err
			}
			continue
		}
		a.printDifference(d)
	}
	if !a.json && !a.quiet {
		fmt.Fprintf(a.stdout, "%d fixtures differ\n", n)
	}
	return nil
}

func (a *app) printDifference(d *fixturev1.DiffVersionsResponse) {
	p := newPaint(a.stdout)
	from, to := d.GetFrom(), d.GetTo()
	switch {
	case from == nil:
		fmt.Fprintf(a.stdout, "%s %s (row %s): %s\n", p.green("added"), d.GetFixtureId(), to.GetSourceRowId(), pair(to.GetVerdict(), to.GetReasonCode()))
	case to == nil:
		fmt.Fprintf(a.stdout, "%s %s (row %s): %s\n", p.red("removed"), d.GetFixtureId(), from.GetSourceRowId(), pair(from.GetVerdict(), from.GetReasonCode()))
	default:
		fmt.Fprintf(a.stdout, "%s %s (row %s): %s\n", p.yellow("changed"), d.GetFixtureId(), to.GetSourceRowId(), strings.Join(changesOf(d), "; "))
	}
}

// changesOf says what is different, member by member.
func changesOf(d *fixturev1.DiffVersionsResponse) []string {
	from, to := d.GetFrom(), d.GetTo()
	var out []string
	if a, b := pair(from.GetVerdict(), from.GetReasonCode()), pair(to.GetVerdict(), to.GetReasonCode()); a != b {
		out = append(out, fmt.Sprintf("expected %s -> %s", a, b))
	}
	before, after := membersOf(from.GetDocument()), membersOf(to.GetDocument())
	for _, name := range sortedUnion(before, after) {
		if name == "verdict" || name == "reason_code" || before[name] == after[name] {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s -> %s", name, orNone(before[name]), orNone(after[name])))
	}
	if d.GetStubsChanged() {
		out = append(out, "stubs changed")
	}
	return out
}

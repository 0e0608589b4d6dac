package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

// decisionPages is a server with three pages of two.
func decisionPages(asked *int) lister[*gatev1.ListDecisionsRequest, *gatev1.ListDecisionsResponse] {
	return func(_ context.Context, req *gatev1.ListDecisionsRequest, _ ...grpc.CallOption) (*gatev1.ListDecisionsResponse, error) {
		*asked++
		n := len(req.GetPageToken())
		res := &gatev1.ListDecisionsResponse{NextPageToken: strings.Repeat("x", n+1)}
		for i := range 2 {
			res.Decisions = append(res.Decisions, &gatev1.Decision{ReplayId: fmt.Sprint(2*n + i)})
		}
		if n == 2 {
			res.NextPageToken = ""
		}
		return res, nil
	}
}

// A list shows every row of every page, and asks for no page that it does not need.
func TestList(t *testing.T) {
	for limit, want := range map[int]struct {
		shown string
		pages int
	}{0: {"012345", 3}, 1: {"0", 1}, 2: {"01", 1}, 3: {"012", 2}, 6: {"012345", 3}, 7: {"012345", 3}} {
		asked, shown := 0, ""
		req := &gatev1.ListDecisionsRequest{}
		all := rows(t.Context(), decisionPages(&asked), req, &req.PageToken, (*gatev1.ListDecisionsResponse).GetDecisions)
		if err := list(&app{}, limit, all, func(d *gatev1.Decision) { shown += d.GetReplayId() }); err != nil {
			t.Fatal(err)
		}
		if shown != want.shown || asked != want.pages {
			t.Errorf("limit %d: %s of %d pages, want %s of %d", limit, shown, asked, want.shown, want.pages)
		}
	}
	asked, out := 0, bytes.Buffer{}
	req := &gatev1.ListDecisionsRequest{}
	all := rows(t.Context(), decisionPages(&asked), req, &req.PageToken, (*gatev1.ListDecisionsResponse).GetDecisions)
	if err := list(&app{json: true, stdout: &out}, 5, all, func(*gatev1.Decision) { t.Error("shown") }); err != nil || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// A page that fails is an error behind the rows before it, and so is one that follows itself: a list that is cut is not whole.
func TestListThatIsCut(t *testing.T) {
	down := errors.New("down")
	for want, second := range map[string]func() (*gatev1.ListDecisionsResponse, error){
		"down": func() (*gatev1.ListDecisionsResponse, error) { return nil, down },
		"follows itself": func() (*gatev1.ListDecisionsResponse, error) {
			return &gatev1.ListDecisionsResponse{NextPageToken: "x"}, nil
		},
	} {
		req := &gatev1.ListDecisionsRequest{}
		call := func(context.Context, *gatev1.ListDecisionsRequest, ...grpc.CallOption) (*gatev1.ListDecisionsResponse, error) {
			if req.GetPageToken() == "" {
				return &gatev1.ListDecisionsResponse{NextPageToken: "x", Decisions: []*gatev1.Decision{{ReplayId: "0"}}}, nil
			}
			return second()
		}
		shown := ""
		all := rows(t.Context(), call, req, &req.PageToken, (*gatev1.ListDecisionsResponse).GetDecisions)
		err := list(&app{}, 0, all, func(d *gatev1.Decision) { shown += d.GetReplayId() })
		if err == nil || !strings.Contains(err.Error(), want) || shown != "0" {
			t.Errorf("%s: %q, %v", want, shown, err)
		}
	}
}

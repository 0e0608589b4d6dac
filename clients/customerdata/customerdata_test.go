package customerdata_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/customerdata"
)

// S12: each kind is found in text, and the place is named.
func TestS12Found(t *testing.T) {
	for _, tt := range []struct {
		text string
		kind customerdata.Kind
	}{
		{"write to ada.lovelace+x@mail.gmx.de now", customerdata.Email},
		{"call +44 20 7946 0958.", customerdata.Phone},
		{"call +4915123456789", customerdata.Phone},
		{"call (212) 736-5000 or", customerdata.Phone},
		{"212-736-5000", customerdata.Phone},
		{"card 4111 1111 1111 1111, please", customerdata.Card},
		{"card 4111111111111111", customerdata.Card},
		{"card 5555-5555-5555-4444", customerdata.Card},
		{"card 3782 822463 10005", customerdata.Card},
		{"to DE89 3704 0044 0532 0130 00", customerdata.IBAN},
		{"to GB82WEST12345698765432.", customerdata.IBAN},
		{"it is 219-09-9999", customerdata.NationalID},
		{"-----BEGIN OPENSSH PRIVATE KEY-----", customerdata.Secret},
		{"AKIA" + "IOSFODNN7EXAMPLE", customerdata.Secret},
		{"token ghp_" + strings.Repeat("a1", 18), customerdata.Secret},
		{"sk-" + "proj-abcdefghijklmnopqrst", customerdata.Secret},
		{"Authorization: Bearer " + "abcdefghijklmnop", customerdata.Secret},
	} {
		got := customerdata.InText("a\n" + tt.text + "\n")
		if want := []customerdata.Finding{{Path: "line 2", Kind: tt.kind}}; !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", tt.text, got, want)
		}
		if masked := customerdata.Mask(tt.text); !strings.Contains(masked, "["+string(tt.kind)+"]") {
			t.Errorf("%q is masked as %q", tt.text, masked)
		}
	}
}

// What only has the form of it, and what is reserved for examples, is left alone.
func TestS12NotFound(t *testing.T) {
	for _, text := range []string{
		"ada@example.com, b@mail.example.org, c@site.test", "git@localhost", "call 555-0123 or 212-555-0123", "+1 212 555 0123",
		"4111 1111 1111 1112", "pq_4111111111111111", "0.4111111111111111", "4111111111111111.5", "1700000000123456789",
		"DE89 3704 0044 0532 0130 01", "000-12-3456", "666-12-3456", "9219-09-9999",
		"2026-02-14T09:12:00Z", "87f665e735a851c1540d07e4b62f99c0eb41f8b2db2e24b96dd46c41410a2a83", "pkg@1.2.3", "1.2.840.113549.1.1.11",
		"10.0.0.7:7433", "+30", "v2.718.2818.2845", "task-force sk-ill", "127.0.0.1",
	} {
		if got := customerdata.InText(text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A field is named by its path, a number is looked at, and a name that is itself customer data is not repeated.
func TestS12Paths(t *testing.T) {
	got := fmt.Sprint(customerdata.In([]byte(`{"messages":[{"content":"x"},{"content":"mail ada@gmx.de"}],"n":4111111111111111,"bob@gmx.de":1}`)))
	want := "[(a name) looks like an e-mail address messages[1].content looks like an e-mail address n looks like the number of a payment card]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := fmt.Sprint(customerdata.InJSON([]byte(`"ada@gmx.de"`))); got != "[the value looks like an e-mail address]" {
		t.Error(got)
	}
}

// The fixtures and stubs of the examples have nothing in them; those of examples/waf are attacks, and do.
func TestExamplesHaveNone(t *testing.T) {
	files := 0
	for _, dir := range []string{"promotion", "cedar", "pod-security", "packaging", "tough-cookie"} {
		for _, part := range []string{"fixtures", "stubs"} {
			err := filepath.WalkDir(filepath.Join("../../examples", dir, part), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return nil //nolint:nilerr // an example without stubs
				}
				src, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				files++
				for _, f := range customerdata.InText(string(src)) {
					t.Errorf("%s: %s", path, f)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	if files < 4 {
		t.Errorf("only %d files were looked at", files)
	}
}

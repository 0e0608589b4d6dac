package setdir

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// readList reads a file that is an object with a list and nothing else but what is named beside it; form says in an error how it
// looks. It gives the whole document and the list, both canonical; nil for a file that is not there.
func readList(file, form, member string, beside ...string) (doc, list []byte, err error) {
	src, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if doc, err = fixture.Canonicalize(nil, src); err != nil {
		return nil, nil, locate(file, src, 1, fixture.NewError(fixture.CodeInvalid, "", "", err))
	}
	err = fixture.OnlyMembers(doc, append(beside, member)...)
	list, ok := fixture.Lookup(doc, member)
	if err == nil && (!ok || list[0] != '[') {
		err = errors.New("a list is missing")
	}
	if err != nil {
		return nil, nil, fixture.NewError(fixture.CodeInvalid, "", file, fmt.Errorf("expected %s: %w", form, err))
	}
	return doc, list, nil
}

// readEntries reads the entries of a list, and reports everything that is wrong with them at once.
func readEntries[T any](file string, list []byte, read func(raw []byte) (T, error)) (out []T, err error) {
	var errs []error
	i := 0
	for raw := range fixture.Items(list) {
		i++
		e, err := read(raw)
		if err != nil {
			id, _ := fixture.Lookup(raw, "fixture_id")
			errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", fmt.Sprintf("%s: entry %d (%.80q)", file, i, strings.Trim(string(id), `"`)), err))
			continue
		}
		out = append(out, e)
	}
	return out, errors.Join(errs...)
}

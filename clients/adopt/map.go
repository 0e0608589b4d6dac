package adopt

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// ReadMap reads {"ID": {"fixture_id": …, "call": …}, …}. Both members are mandatory, and there are no others.
func ReadMap(src []byte) (map[string]Target, error) {
	doc, err := fixture.Canonicalize(nil, src)
	if err != nil {
		return nil, err
	}
	if doc[0] != '{' {
		return nil, errors.New("expected an object with a member for each recording")
	}
	out := map[string]Target{}
	var errs []error
	for k, v := range fixture.Members(doc) {
		var t Target
		err := fixture.OnlyMembers(v, "fixture_id", "call")
		if err == nil {
			err = json.Unmarshal(v, &t)
		}
		if err == nil && (t.FixtureID == "" || t.Call == "") {
			err = errors.New("it needs fixture_id and call")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%.80q: %w", k, err))
		}
		out[string(k)] = t
	}
	return out, errors.Join(errs...)
}

package rules

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// upload is what the rule reads of the frozen input.
type upload struct {
	urgency string
	age     int // in days, at the decision
	isNew   bool
}

// read takes the members by their exact names. Decoding into a struct would leave a missing one at its zero value, and
// take "Urgency" for "urgency": an upload of age 0 would be decided that nobody has described.
func read(c *retrial.Case) (u upload, err error) {
	err = errors.Join(
		member(c, "urgency", "a string", &u.urgency),
		member(c, "age_days_at_decision", "a whole number", &u.age),
		member(c, "is_new", "true or false", &u.isNew),
	)
	if err != nil {
		return u, &retrial.InputError{Err: err}
	}
	return u, nil
}

func member(c *retrial.Case, name, expected string, into any) error {
	value, ok := c.Value(name)
	if !ok {
		return fmt.Errorf("the member %q is missing: expected %s", name, expected)
	}
	// Unmarshal takes null for "leave it as it is".
	if string(value) == "null" || json.Unmarshal(value, into) != nil {
		return fmt.Errorf("the member %q is %.40s: expected %s", name, value, expected)
	}
	return nil
}

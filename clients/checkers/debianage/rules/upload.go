package rules

import (
	"errors"

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
	var errs [3]error
	u.urgency, errs[0] = retrial.Member[string](c, "urgency")
	u.age, errs[1] = retrial.Member[int](c, "age_days_at_decision")
	u.isNew, errs[2] = retrial.Member[bool](c, "is_new")
	return u, errors.Join(errs[:]...)
}

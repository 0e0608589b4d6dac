package checker

import (
	"encoding/json"
	"errors"

	"github.com/cedar-policy/cedar-go"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// request is the frozen input. What stands in the entities and in the context is the library's to read: what it makes of
// them is part of the decision.
type request struct {
	policies                    string
	entities, context           []byte
	principal, action, resource cedar.EntityUID
}

// read takes the members by their exact names. All are mandatory, and four may be null: some of the requests are asked
// without a principal, an action or a resource, or have no context.
func read(c *retrial.Case) (r request, err error) {
	var errs [4]error
	r.policies, errs[0] = retrial.Member[string](c, "policies")
	r.principal, errs[1] = entity(c, "principal")
	r.action, errs[2] = entity(c, "action")
	r.resource, errs[3] = entity(c, "resource")
	// Only their kinds are looked at here: numbers in them go to the library as they are written.
	entities, err := retrial.Member[[]json.RawMessage](c, "entities")
	if err == nil && entities == nil {
		err = &retrial.InputError{Err: errors.New(`the member "entities" is null: expected an array`)}
	}
	_, contextErr := retrial.Member[map[string]json.RawMessage](c, "context")
	if err := errors.Join(append(errs[:], err, contextErr)...); err != nil {
		return r, err
	}
	r.entities, _ = c.Value("entities")
	r.context, _ = c.Value("context")
	return r, nil
}

func entity(c *retrial.Case, name string) (cedar.EntityUID, error) {
	given, err := retrial.Member[map[string]json.RawMessage](c, name)
	if err != nil || given == nil {
		return cedar.EntityUID{}, err
	}
	kind, err := retrial.Member[string](c, name, "type")
	if err != nil {
		return cedar.EntityUID{}, err
	}
	id, err := retrial.Member[string](c, name, "id")
	return cedar.NewEntityUID(cedar.EntityType(kind), cedar.String(id)), err
}

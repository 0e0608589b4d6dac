package rules

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// decode is json.Unmarshal. What most values are, it reads without what that prepares for all that a value can be: a string without
// escapes, a number, true and false. Everything else, and whatever is of another type, it leaves to json.
func decode(raw []byte, v any) error {
	if len(raw) == 0 {
		return json.Unmarshal(raw, v)
	}
	isNumber := raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9'
	switch v := v.(type) {
	case *string:
		if end := len(raw) - 1; end > 0 && raw[0] == '"' && raw[end] == '"' && bytes.IndexByte(raw, '\\') < 0 {
			*v = string(raw[1:end])
			return nil
		}
	case *int:
		if n, err := strconv.Atoi(string(raw)); err == nil && isNumber {
			*v = n
			return nil
		}
	case *float64:
		if n, err := strconv.ParseFloat(string(raw), 64); err == nil && isNumber {
			*v = n
			return nil
		}
	case *bool:
		if word := string(raw); word == "true" || word == "false" {
			*v = word == "true"
			return nil
		}
	}
	return json.Unmarshal(raw, v)
}

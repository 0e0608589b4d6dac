package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schema is a compiled JSON Schema; of draft 2020-12 where it does not say.
type schema struct{ compiled *jsonschema.Schema }

// noLoader loads nothing: a schema that reads files or the network through $ref means something else on the next machine.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: a schema stands for itself, and loads no other", url)
}

const schemaURL = "retrial:schema"

func compileSchema(src []byte) (*schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), schemaURL, "the schema"))
	}
	return &schema{compiled}, nil
}

// maxBreaches bounds how many breaches of a schema are told.
const maxBreaches = 3

// check says where a value breaks the schema, and by which rule. It does not repeat the value.
func (s *schema) check(value []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	err = s.compiled.Validate(doc)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var told []string
	breaches(invalid, func(at []string, text string) {
		if len(told) < maxBreaches {
			told = append(told, fmt.Sprintf("at /%s: %s", strings.Join(at, "/"), text))
		}
	})
	return fmt.Errorf("the answer breaks its schema: %s", strings.Join(told, "; "))
}

// breaches gives the causes that have no cause of their own.
func breaches(e *jsonschema.ValidationError, yield func(at []string, text string)) {
	if len(e.Causes) == 0 {
		yield(e.InstanceLocation, breach(e.ErrorKind))
	}
	for _, cause := range e.Causes {
		breaches(cause, yield)
	}
}

// breach gives a rule in words, without the value that two of them would repeat.
func breach(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Pattern:
		return fmt.Sprintf("it does not match the pattern %q", k.Want)
	case *kind.Format:
		return fmt.Sprintf("it is not of the format %q", k.Want)
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

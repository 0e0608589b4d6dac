package retrial_test

import (
	"slices"
	"testing"

	"github.com/retrial-dev/retrial/clients/retrial"
)

type undecided struct{ retrial.Checker }

func (undecided) Describe() retrial.Description { return retrial.Description{Name: "x", Version: "1"} }

func TestMembers(t *testing.T) {
	c, err := retrial.NewCase(undecided{}, []byte(`{"scope": {"é\n": "a", "b": [1, {"c": 2}]}, "empty": {}, "list": [1], "text": "{}"}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		path []string
		want []string
	}{
		{"the input", nil, []string{"empty={}", "list=[1]", `scope={"b":[1,{"c":2}],"é\n":"a"}`, `text="{}"`}},
		{"an object in it", []string{"scope"}, []string{`b=[1,{"c":2}]`, "é\n=\"a\""}},
		{"an empty one", []string{"empty"}, nil},
		{"what is no object", []string{"list"}, nil},
		{"a text that looks like one", []string{"text"}, nil},
		{"what is missing", []string{"scope", "z"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for name, value := range c.Members(tt.path...) {
				got = append(got, name+"="+string(value))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

package cel

import (
	"encoding/json"
	"testing"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/schema"
)

func TestResult(t *testing.T) {
	types := NewTypes()
	inner := &schema.Node{Type: "object", Properties: map[string]*schema.Node{"at": {Type: "string", Format: "date-time"}}}
	env, err := NewEnv(types,
		Variable{Name: "s", Type: types.Declare("s", inner)},
		Variable{Name: "o", Type: types.Declare("o", &schema.Node{Type: "object", PreserveUnknown: true})},
		Variable{Name: "d", Type: celgo.DynType})
	if err != nil {
		t.Fatal(err)
	}
	open := &schema.Node{PreserveUnknown: true}
	cases := []struct {
		reason, source string
		want           *schema.Node
		refused        bool
	}{
		{"text", "'a'", &schema.Node{Type: "string"}, false},
		{"a whole number", "1", &schema.Node{Type: "integer"}, false},
		{"a number", "1.5", &schema.Node{Type: "number"}, false},
		{"a boolean", "true", &schema.Node{Type: "boolean"}, false},
		{"bytes are written as base64", "b'a'", &schema.Node{Type: "string", Format: "byte"}, false},
		{"a time", "s.at", &schema.Node{Type: "string", Format: "date-time"}, false},
		{"a duration", "duration('1h')", &schema.Node{Type: "string", Format: "duration"}, false},
		{"a struct keeps its schema", "s", inner, false},
		{"an optional is its value", "s.?at", &schema.Node{Type: "string", Format: "date-time"}, false},
		{"a list", "[1]", &schema.Node{Type: "array", Items: &schema.Node{Type: "integer"}}, false},
		{"a map", "{'a': [s]}", &schema.Node{Type: "object", AdditionalProperties: &schema.Node{Type: "array", Items: inner}}, false},
		{"an open object", "o", &schema.Node{Type: "object", PreserveUnknown: true}, false},
		{"what is not known", "d", open, false},
		{"null", "null", open, false},
		{"a quantity has no JSON form", "quantity('1Gi')", open, true},
		{"nor has a list of them", "[quantity('1Gi')]", &schema.Node{Type: "array", Items: open}, true},
		{"a map with numbers for keys has none", "{1: 'a'}", &schema.Node{Type: "object", PreserveUnknown: true}, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			x, err := env.Compile(c.source, Template)
			if err != nil {
				t.Fatal(err)
			}
			got, err := types.Result(x.Type())
			if (err != nil) != c.refused {
				t.Errorf("error %v, refused %v", err, c.refused)
			}
			gotText, _ := json.Marshal(got)
			wantText, _ := json.Marshal(c.want)
			if string(gotText) != string(wantText) {
				t.Errorf("got %s, want %s", gotText, wantText)
			}
		})
	}
}

func TestDeferGivesWhatItIsGiven(t *testing.T) {
	types := NewTypes()
	env, err := NewEnv(types, Variable{Name: "o", Type: types.Declare("o", &schema.Node{Type: "object", Properties: map[string]*schema.Node{"n": {Type: "integer"}}})})
	if err != nil {
		t.Fatal(err)
	}
	x, err := env.Compile("defer({'a': o.n})", Template)
	if err != nil {
		t.Fatal(err)
	}
	target := &schema.Node{Type: "object", Properties: map[string]*schema.Node{"a": {Type: "string"}, "b": {Type: "integer"}}}
	if err := x.AssignableTo(types, target, "x"); err == nil {
		t.Error("the entries of the deferred map are not held against their fields")
	}
	for _, use := range []Use{Condition, Iterator, Status} {
		if _, err := env.Compile("defer(o.n)", use); err == nil {
			t.Errorf("defer is allowed in use %d", use)
		}
	}
	for _, source := range []string{"1 + defer(o.n)", "[defer(o.n)]", "defer(defer(o.n))"} {
		if _, err := env.Compile(source, Template); err == nil {
			t.Errorf("%s is allowed", source)
		}
	}
}

package cel

import (
	"errors"
	"strings"
	"testing"

	"kro.run/kro/schema"
)

// targetNode is an object whose fields expressions fill in tests.
var targetNode = objectNode(properties{
	"text": textNode, "count": intNode, "ratio": numberNode, "flag": boolNode, "bytes": bytesNode, "time": timeNode,
	"port": {IntOrString: true}, "open": openNode, "odd": {}, "labels": textMapNode, "names": listNode(textNode),
	"nullable":   {Type: "string", Nullable: true},
	"secret":     {Type: "object", AdditionalProperties: bytesNode},
	"empty":      {Type: "object"},
	"either":     {Union: []*schema.Node{textNode, numberNode}},
	"selector":   objectNode(properties{"matchLabels": textMapNode, "matchExpressions": listNode(objectNode(properties{"key": textNode}))}),
	"containers": listNode(objectNode(properties{"name": textNode, "image": textNode, "port": intNode})),
	"extra":      {Type: "object", Properties: properties{"known": intNode}, PreserveUnknown: true},
	"numbers":    {Type: "object", AdditionalProperties: intNode},
})

func TestAssignable(t *testing.T) {
	types := NewTypes()
	source := objectNode(properties{
		"pair": objectNode(properties{"name": textNode, "imag": textNode}), "good": objectNode(properties{"name": textNode, "image": textNode}),
		"texts": objectNode(properties{"a": textNode, "b": textNode}), "mixed": objectNode(properties{"a": textNode, "b": intNode}),
		"deep": objectNode(properties{"name": intNode}), "open": openNode, "secret": targetNode.Properties["secret"],
		"word": textNode, "num": intNode, "ints": {Type: "object", AdditionalProperties: intNode}, "time": timeNode,
		"flag": boolNode, "any": {},
	})
	env, err := NewEnv(types, Variable{"s", types.Declare("s", source)})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ source, field, want string }{
		{"s.word", "text", ""},
		{"s.num", "text", `returns type "int" but expected "string": type kind mismatch: got "int", expected "string"`},
		{"s.word", "count", `returns type "string" but expected "int"`},
		{"1.5", "count", `returns type "double" but expected "int"`},
		{"1", "ratio", `returns type "int" but expected "double"`},
		{"null", "text", `got "null", expected "string"`},
		{"null", "nullable", ""},
		{"s.flag ? null : s.any", "text", ""},
		{"s.flag ? s.good : null", "labels", ""},
		{"s.flag ? null : s.good", "labels", ""},
		{"s.flag ? null : s.flag ? s.any : null", "count", ""},
		{"s.flag ? null : s.flag ? null : s.deep", "labels", `struct field "name" incompatible with map value type`},
		{"s.flag ? null : null", "text", `got "null", expected "string"`},
		{"{'matchLabels': null, 'matchExpressions': [{'key': 'a'}]}", "selector", ""},
		{"s.flag ? {'matchLabels': {'a': 'b'}, 'matchExpressions': null} : {'matchLabels': null, 'matchExpressions': [{'key': 'a'}]}", "selector", ""},
		{"{'a': null, 'b': 'x'}", "labels", ""},
		{"{'a': null, 'b': 1}", "labels", `map value type incompatible: type kind mismatch: got "int", expected "string"`},
		{"{'a': null}", "labels", `map value type incompatible: type kind mismatch: got "null", expected "string"`},
		{"[null, 'a']", "names", `list element type incompatible: type kind mismatch: got "null", expected "string"`},
		{"s.?word", "text", ""},
		{"s.?num", "text", `returns type "optional_type(int)" but expected "string": type kind mismatch: got "int", expected "string"`},
		{"s.any", "count", ""},
		{"s.any.deeper", "labels", ""},
		{"s.num", "odd", ""},
		{"s.num", "either", ""},

		{"b'x'", "bytes", ""},
		{"base64.encode(b'x')", "bytes", ""},
		{"b'x'", "text", `returns type "bytes" but expected "string"`},
		{"s.secret", "secret", ""},
		{"s.secret", "labels", "map value type incompatible"},
		{"{'a': s.word}", "secret", ""},
		{"{'a': s.num}", "secret", `map value type incompatible: type kind mismatch: got "int", expected "bytes"`},
		{"s.word", "time", ""},
		{"s.time", "time", ""},
		{"s.time", "text", `got "timestamp", expected "string"`},

		{"s.num", "port", ""},
		{"s.word", "port", ""},
		{"s.flag ? 1 : dyn('a')", "port", ""},
		{"[1]", "port", `returns type "list(int)" but expected "int or string"`},

		{"[s.word]", "names", ""},
		{"[1, 2]", "names", `list element type incompatible: type kind mismatch: got "int", expected "string"`},
		{"['a', dyn(1)]", "names", ""},
		{"s.word", "names", `got "string", expected "list(string)"`},
		{"[]", "names", ""},
		{"[]", "containers", ""},

		{"{'a': 1}", "labels", `map value type incompatible: type kind mismatch: got "int", expected "string"`},
		{"s.ints", "labels", "map value type incompatible"},
		{"{1: 'a'}", "labels", "map key type incompatible"},
		{"s.texts", "labels", ""},
		{"s.mixed", "labels", `struct field "b" incompatible with map value type`},
		{"{}", "labels", ""},
		{"s.open", "labels", ""},

		{"s.good", "open", ""},
		{"{'a': 1}", "open", ""},
		{"s.word", "open", `returns type "string" but expected "object"`},
		{"s.open", "open", ""},
		{"s.open", "text", `returns type "object" but expected "string"`},
		{"s.good", "empty", ""},
		{"{'a': 1}", "empty", ""},

		{"{'matchLabels': {'w': s.word}}", "selector", ""},
		{"{'matchLabels': {'w': 1}}", "selector", `field "matchLabels" has incompatible type: map value type incompatible`},
		{"{'matchLables': {'w': s.word}}", "selector", `field "matchLables" exists in output but not in expected type`},
		{"cel.bind(m, {'matchLabels': {'w': s.word}}, m)", "selector", ""},
		{"s.open", "selector", ""},
		{"{1: {'w': s.word}}.merge({2: {}})", "selector", "map keys must be strings to assign to struct"},
		{"s.word", "selector", "type kind mismatch"},

		{"[s.good]", "containers", ""},
		{"[s.pair]", "containers", `list element type incompatible: field "imag" exists in output but not in expected type`},
		{"[s.deep]", "containers", `field "name" has incompatible type: type kind mismatch: got "int", expected "string"`},
		{"[{'name': s.word, 'port': s.num}]", "containers", ""},
		{"[{'name': s.word, 'port': s.word}]", "containers", `field "port" has incompatible type: type kind mismatch: got "string", expected "int"`},
		{"['a'].map(n, {'name': n})", "containers", ""},
		{"[1].map(n, {'x': [n]})", "containers", `map value incompatible with struct field "image"`},
		{"s.flag ? {'name': 'a'} : omit()", "selector", `field "name" exists in output`},

		{"{'known': 1, 'other': 'x'}", "extra", ""},
		{"{'known': 'x'}", "extra", `field "known" has incompatible type`},
		{"s.mixed", "extra", ""},
		{"s.ints", "numbers", ""},
	}
	for _, tc := range cases {
		x, err := env.Compile(tc.source, Template)
		if err != nil {
			t.Errorf("Compile(%s): %v", tc.source, err)
			continue
		}
		err = x.AssignableTo(types, targetNode.Properties[tc.field], "target."+tc.field)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s to %s: %v", tc.source, tc.field, err)
			}
			continue
		}
		var fault *AssignError
		if !errors.As(err, &fault) || !strings.Contains(fault.Error(), tc.want) {
			t.Errorf("%s to %s gave %v, want %q", tc.source, tc.field, err, tc.want)
		}
	}
}

func TestAssignableWithoutSchemaTakesAnything(t *testing.T) {
	x, err := testEnv(t).Compile("[b'x', b'y']", Template)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewTypes().Assignable(x.Type(), nil, "spec"); err != nil {
		t.Error(err)
	}
}

func TestConditionAndIteratorResults(t *testing.T) {
	env := testEnv(t)
	for source, want := range map[string]string{
		"schema.spec.flag":   "",
		"schema.spec.?flag":  "",
		"schema.spec.num":    `must return bool or optional_type(bool), but returns "int"`,
		"schema.spec.?num":   `must return bool or optional_type(bool), but returns "optional_type(int)"`,
		"schema.spec.o.flag": `must return bool or optional_type(bool), but returns "dyn"`,
	} {
		x, err := env.Compile(source, Condition)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.BoolResult(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
	for source, want := range map[string]string{
		"schema.spec.names":  "",
		"schema.spec.word":   `must return a list, got "string": type "string" is not a list type`,
		"schema.spec.m":      "must return a list, got",
		"schema.spec.o.l":    "must return a list, got",
		"schema.spec.?names": "must return a list, got",
	} {
		x, err := env.Compile(source, Iterator)
		if err != nil {
			t.Fatal(err)
		}
		elem, err := x.ListElement()
		if want == "" {
			if err != nil || elem.TypeName() != "string" {
				t.Errorf("%s: %v, %v", source, elem, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

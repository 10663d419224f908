package cel

import (
	"errors"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"kro.run/kro/schema"
)

func TestCompileRefuses(t *testing.T) {
	env := testEnv(t)
	cases := map[string]struct {
		source string
		use    Use
		want   []string
		hint   string
	}{
		"broken syntax":                 {source: "schema.spec.word +", want: []string{"parse error: ERROR: <input>:1:", "Syntax error"}},
		"nothing at all":                {source: "", want: []string{"parse error", "Syntax error"}},
		"unknown variable":              {source: "nosuch.metadata.name + other", want: []string{"references unknown identifiers: [nosuch other]"}},
		"unknown function":              {source: "shout(schema.spec.word)", want: []string{"uses unknown functions: [{shout}]"}},
		"unknown method":                {source: "schema.spec.word.shout()", want: []string{"shout"}},
		"unknown field":                 {source: "schema.spec.b", want: []string{"ERROR: <input>:1:", "undefined field 'b'"}},
		"status of the instance":        {source: "schema.status.state", want: []string{"undefined field 'status'"}},
		"array without element schema":  {source: "schema.spec.closed", want: []string{"undefined field 'closed'"}},
		"numbers of two types compared": {source: "string(1 == 1.0)", want: []string{"found no matching overload"}},
		"numbers of two types ordered":  {source: "1 < 1.5", want: []string{"found no matching overload"}},
		"optional compared": {source: "schema.spec.?num > 0 ? 'a' : 'b'",
			want: []string{"found no matching overload"}, hint: ".orValue("},
		"optional text compared": {source: "schema.spec.?word == 'x'", want: []string{"found no matching overload"}, hint: ".orValue("},
		"number joined to text": {source: `"x-" + (schema.spec.num)`,
			want: []string{"found no matching overload for '_+_' applied to '(string, int)'"}, hint: "string(x)"},
		"text asked for null":          {source: "schema.spec.word != null", want: []string{"found no matching overload"}, hint: "has("},
		"branches of two types":        {source: "schema.spec.flag ? 1 : 'a'", want: []string{"found no matching overload"}, hint: "dyn("},
		"omit in a condition":          {source: "schema.spec.flag ? omit() : true", use: Condition, want: []string{"omit() can only be used in resource template expressions"}},
		"omit in an iterator":          {source: "omit()", use: Iterator, want: []string{"omit() can only be used in resource template expressions"}},
		"omit in status":               {source: "omit()", use: Status, want: []string{"omit() can only be used in resource template expressions"}},
		"omit in conditions":           {source: "omit()", use: StatusConditions, want: []string{"omit() can only be used in resource template expressions"}},
		"runtime in a template":        {source: "runtime.condition(schema, 'Ready').status", want: []string{"runtime is only available in status.conditions expressions"}},
		"condition in a template":      {source: "runtime.newCondition({type: 'A', status: 'True'})", want: []string{"runtime is only available in status.conditions expressions"}},
		"a duration that is none":      {source: "duration('soon')", want: []string{`expression "duration('soon')" can never be evaluated`}},
		"a regular expression's fault": {source: "schema.spec.word.matches('[')", want: []string{"missing closing ]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := env.Compile(tc.source, tc.use)
			var fault *CompileError
			if !errors.As(err, &fault) {
				t.Fatalf("Compile gave %v, want a *CompileError", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(fault.Error(), want) {
					t.Errorf("message lacks %q:\n%s", want, fault.Error())
				}
			}
			if !strings.Contains(fault.Hint, tc.hint) {
				t.Errorf("hint %q lacks %q", fault.Hint, tc.hint)
			}
		})
	}
}

func TestCompileTypes(t *testing.T) {
	open := &schema.Node{Type: "object", Properties: properties{"known": textNode}, PreserveUnknown: true}
	types := NewTypes()
	env := testEnv(t, Variable{"half", types.Declare("half", open)})
	for source, want := range map[string]string{
		"schema.spec.num":                     "int",
		"schema.spec.ratio":                   "double",
		"schema.spec.flag":                    "bool",
		"schema.spec.port":                    "dyn",
		"schema.spec.odd":                     "dyn",
		"schema.spec.o":                       "object",
		"schema.spec.o.any.thing":             "dyn",
		"schema.spec.m":                       "map(string, string)",
		"schema.spec.names":                   "list(string)",
		"schema.metadata.creationTimestamp":   "timestamp",
		"schema.metadata.namespace":           "string",
		"schema.spec.ref.namespace":           "string",
		"schema.spec.ref.__namespace__":       "string",
		"schema.spec.ref.a__dash__b":          "string",
		"schema.spec.ref.__in__":              "string",
		"schema.spec.ref.`a-b`":               "string",
		"schema.spec":                         "__type_schema.spec",
		"schema.spec.?num":                    "optional_type(int)",
		"schema.spec.o == null":               "bool",
		"schema.spec.o.map(k, k)":             "list(dyn)",
		"schema.spec.flag ? 1 : omit()":       "dyn",
		"schema.spec.o.merge({'a': 1})":       "map(string, int)",
		"{'a': {'x': 1}}.deepMerge({'b': 1})": "dyn",
		"deepMerge({'a': 1}, {'b': 1})":       "dyn",
		"type(schema.spec.num) == int":        "bool",
		"type(ip('::1')) == net.IP":           "bool",
	} {
		x, err := env.Compile(source, Template)
		if err != nil {
			t.Errorf("Compile(%s): %v", source, err)
			continue
		}
		if got := FormatType(x.Type()); got != want {
			t.Errorf("type of %s is %s, want %s", source, got, want)
		}
	}
}

func TestEqualShapesOfTwoKindsAreOneType(t *testing.T) {
	container := func() *schema.Node { return objectNode(properties{"name": textNode, "port": intNode}) }
	types := NewTypes()
	env, err := NewEnv(types,
		Variable{"a", types.Declare("a", objectNode(properties{"items": listNode(container()), "one": container()}))},
		Variable{"b", types.Declare("b", objectNode(properties{"items": listNode(container()), "one": container(), "more": textNode}))})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		"has(a.one) ? a.one : b.one",
		"has(a.items) ? a.items : b.items",
		"a.items + b.items",
		"a.one == b.one",
	} {
		if _, err := env.Compile(source, Template); err != nil {
			t.Errorf("Compile(%s): %v", source, err)
		}
	}
	if _, err := env.Compile("has(a.one) ? a : b", Template); err == nil {
		t.Error("two shapes that differ passed for one type")
	}
}

func TestRecursiveSchemasAreTyped(t *testing.T) {
	tree := func() *schema.Node {
		n := objectNode(properties{"name": textNode})
		n.Properties["children"] = listNode(n)
		return n
	}
	unrolled := objectNode(properties{"name": textNode})
	unrolled.Properties["children"] = listNode(tree())
	types := NewTypes()
	first := types.Declare("a", tree())
	if second := types.Declare("b", tree()); first != second {
		t.Errorf("equal recursive schemas are two types, %s and %s", first, second)
	}
	if third := types.Declare("c", unrolled); first != third {
		t.Errorf("a recursive schema that is unrolled once is another type, %s and %s", first, third)
	}
	other := tree()
	other.Properties["name"] = intNode
	if fourth := types.Declare("d", other); first == fourth {
		t.Error("recursive schemas that differ are one type")
	}
	env, err := NewEnv(types, Variable{"root", first})
	if err != nil {
		t.Fatal(err)
	}
	x, err := env.Compile("root.children[0].children[0].name", Template)
	if err != nil {
		t.Fatal(err)
	}
	if x.Type() != celgo.StringType {
		t.Errorf("got %s", x.Type())
	}
}

func TestNodesMayBeNamedLikeTypes(t *testing.T) {
	types := NewTypes()
	meta := types.Declare("list", objectNode(properties{"metadata": metadataNode}))
	env, err := NewEnv(types, Variable{"list", meta}, Variable{"type", meta}, Variable{"map", celgo.ListType(meta)}, Variable{"ip", meta})
	if err != nil {
		t.Fatal(err)
	}
	x, err := env.Compile("list.metadata.name + type.metadata.name + map[0].metadata.name + string(size(map)) + ip.metadata.name", Template)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ip", "list", "map", "type"}, x.References()); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameTextIsOneExpression(t *testing.T) {
	env := testEnv(t)
	first, err := env.Compile("schema.spec.num", Template)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("schema.spec.num")
	if err != nil {
		t.Fatal(err)
	}
	second, err := env.CompileParsed(p, Template)
	if err != nil || first != second {
		t.Errorf("got %p and %p, %v", first, second, err)
	}
	wider, err := env.With(Variable{"each", celgo.IntType})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a Parsed can be used again
		if _, err := wider.CompileParsed(p, Template); err != nil {
			t.Error(err)
		}
		if _, err := wider.CompileParsed(p, Status); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"each", "schema"}, wider.Names()); diff != "" {
		t.Error(diff)
	}
}

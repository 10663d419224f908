package cel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInspect(t *testing.T) {
	cases := map[string]struct {
		source string
		want   Inspection
	}{
		"roots of selections": {"a.b.c + d[0].e + f['g']", Inspection{References: []string{"a", "d", "f"}, Unconditional: []string{"a", "d", "f"}}},
		"has and optionals":   {"has(a.b) && a.?c.hasValue()", Inspection{References: []string{"a"}, Unconditional: []string{"a"}, Functions: []string{"hasValue"}}},
		"literals of all kinds": {"[a.x, {'k': b.y, c.z: 1}, ?d.?e]", Inspection{
			References: []string{"a", "b", "c", "d"}, Unconditional: []string{"a", "b", "c", "d"}}},
		"variables of macros": {"a.all(x, x > b) && c.map(k, k + y)[0] == {'z': 1}.transformMap(k, v, v + d)['z']", Inspection{
			References: []string{"a", "b", "c", "d", "y"}, Unconditional: nil}},
		"a macro's variable outside of it": {"a.map(x, x) + x", Inspection{References: []string{"a", "x"}, Unconditional: []string{"a", "x"}}},
		"cel.bind":                         {"cel.bind(v, a.b, v + v)", Inspection{References: []string{"a"}, Unconditional: []string{"a"}}},
		"optMap":                           {"a.?b.optMap(v, v + c.d).orValue(e)", Inspection{References: []string{"a", "c", "e"}, Unconditional: []string{"a"}, Functions: []string{"hasValue", "optional.none", "optional.of", "orValue", "value"}}},
		"namespaced functions": {"json.marshal(a) + base64.encode(hash.md5(random.seededString(5, b)))", Inspection{
			References: []string{"a", "b"}, Unconditional: []string{"a", "b"}, Functions: []string{"base64.encode", "hash.md5", "json.marshal", "random.seededString"}}},
		"a node named like a namespace": {"json.metadata.name + hash.spec.marshal()", Inspection{
			References: []string{"hash", "json"}, Unconditional: []string{"hash", "json"}, Functions: []string{"marshal"}}},
		"unknown functions":    {"shout(a) + b.whisper()", Inspection{References: []string{"a", "b"}, Unconditional: []string{"a", "b"}, Functions: []string{"shout", "whisper"}}},
		"types":                {"type(a) == string || type(a) == net.IP", Inspection{References: []string{"a"}, Unconditional: []string{"a"}, Functions: []string{"type"}}},
		"one branch":           {"a ? b : c + d", Inspection{References: []string{"a", "b", "c", "d"}, Unconditional: []string{"a"}, Conditional: []string{"b", "c", "d"}}},
		"both branches":        {"a ? b.x : b.y", Inspection{References: []string{"a", "b"}, Unconditional: []string{"a", "b"}}},
		"behind a logical and": {"a && a.b == c", Inspection{References: []string{"a", "c"}, Unconditional: []string{"a"}}},
		"a branch and elsewhere": {"a ? b : (c || d ? e : f) + a", Inspection{
			References: []string{"a", "b", "c", "d", "e", "f"}, Unconditional: []string{"a"}, Conditional: []string{"b", "c", "d", "e", "f"}}},
		"a branch, and not a branch": {"(a ? b : c) + b + (d && e)", Inspection{References: []string{"a", "b", "c", "d", "e"}, Unconditional: []string{"a", "b"}, Conditional: []string{"c"}}},
		"in a loop":                  {"a.map(x, x.y, b ? c : x)", Inspection{References: []string{"a", "b", "c"}, Unconditional: []string{"a"}, Conditional: []string{"c"}}},
		"ternaries of macros are no way": {"a.map(x, x.y, b) + a.filter(x, c) + [a.exists_one(x, d)] + [a.?b.optFlatMap(v, e.?f)]", Inspection{
			References: []string{"a", "b", "c", "d", "e"}, Unconditional: []string{"a"}, Functions: []string{"hasValue", "optional.none", "value"}}},
		"defer":          {"defer(a ? b : c)", Inspection{References: []string{"a", "b", "c"}, Unconditional: []string{"a"}, Conditional: []string{"b", "c"}, Functions: []string{"defer"}, UsesDefer: true, Deferred: true}},
		"defer inside":   {"1 + defer(a)", Inspection{References: []string{"a"}, Unconditional: []string{"a"}, Functions: []string{"defer"}, UsesDefer: true}},
		"defer in defer": {"defer([defer(a)])", Inspection{References: []string{"a"}, Unconditional: []string{"a"}, Functions: []string{"defer"}, UsesDefer: true}},
		"omit":           {"a ? omit() : b", Inspection{References: []string{"a", "b"}, Unconditional: []string{"a"}, Conditional: []string{"b"}, Functions: []string{"omit"}, UsesOmit: true}},
		"condition":      {"runtime.condition(schema, 'Ready').status", Inspection{References: []string{"schema"}, Unconditional: []string{"schema"}, Functions: []string{"runtime.condition"}, UsesRuntime: true}},
		"new condition":  {"runtime.newCondition({type: 'A', status: a.b})", Inspection{References: []string{"a"}, Unconditional: []string{"a"}, UsesRuntime: true}},
		"nothing":        {"'x' + string(1)", Inspection{Functions: []string{"string"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Inspect(tc.source)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func propsOf(t *testing.T, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	var props apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(text), &props); err != nil {
		t.Fatalf("the test's schema: %v", err)
	}
	return &props
}

func TestFromJSONSchema(t *testing.T) {
	cases := map[string]struct {
		reason string
		props  string
		want   *Node
	}{
		"Scalars": {
			reason: "type, format and nullable are kept; descriptions, defaults and limits are not",
			props:  `{type: object, properties: {a: {type: integer, format: int32, minimum: 1, default: 3, description: d}, b: {type: string, nullable: true}}}`,
			want:   &Node{Type: "object", Properties: map[string]*Node{"a": {Type: "integer", Format: "int32"}, "b": {Type: "string", Nullable: true}}},
		},
		"Required": {
			reason: "required is sorted and without repetition",
			props:  `{type: object, required: [b, a, b], properties: {a: {type: string}, b: {type: string}}}`,
			want:   &Node{Type: "object", Required: []string{"a", "b"}, Properties: map[string]*Node{"a": {Type: "string"}, "b": {Type: "string"}}},
		},
		"MapOfLists": {
			reason: "additionalProperties and items nest",
			props:  `{type: object, additionalProperties: {type: array, items: {type: boolean}}}`,
			want:   &Node{Type: "object", AdditionalProperties: &Node{Type: "array", Items: &Node{Type: "boolean"}}},
		},
		"AnyAdditional": {
			reason: "additionalProperties: true takes values of any shape",
			props:  `{type: object, additionalProperties: true}`,
			want:   &Node{Type: "object", AnyAdditional: true},
		},
		"NoAdditional": {
			reason: "additionalProperties: false says no more than nothing does",
			props:  `{type: object, additionalProperties: false}`,
			want:   &Node{Type: "object"},
		},
		"BareObject": {
			reason: "the server prunes every field of such an object in a CRD, so that it takes none",
			props:  `{type: object}`,
			want:   &Node{Type: "object"},
		},
		"PreserveUnknown": {
			reason: "free-form fields, with and without a type (Flux' HelmRelease values)",
			props:  `{type: object, properties: {values: {x-kubernetes-preserve-unknown-fields: true}, spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`,
			want:   &Node{Type: "object", Properties: map[string]*Node{"values": {PreserveUnknown: true}, "spec": {Type: "object", PreserveUnknown: true}}},
		},
		"Untyped": {
			reason: "a field without a type takes anything",
			props:  `{type: object, properties: {a: {description: free}}}`,
			want:   &Node{Type: "object", Properties: map[string]*Node{"a": {PreserveUnknown: true}}},
		},
		"IntOrString": {
			reason: "the union that CRDs write beside the extension says nothing more",
			props:  `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: x}`,
			want:   &Node{IntOrString: true},
		},
		"Quantity": {
			reason: "a union of text and a number is how documents write Quantity",
			props:  `{oneOf: [{type: string}, {type: number}]}`,
			want:   &Node{IntOrString: true},
		},
		"Union": {
			reason: "members of several types make a union; those that only limit values are left out",
			props:  `{oneOf: [{type: array, items: {type: string}}, {type: string}], anyOf: [{maxLength: 3}, {required: [x]}]}`,
			want:   &Node{Union: []*Node{{Type: "array", Items: &Node{Type: "string"}}, {Type: "string"}, {Type: "object", PreserveUnknown: true}}},
		},
		"UnionBesideType": {
			reason: "beside a type, oneOf only limits values",
			props:  `{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}`,
			want:   &Node{Type: "object", Properties: map[string]*Node{"a": {Type: "string"}, "b": {Type: "string"}}},
		},
		"EmbeddedResource": {
			reason: "a whole object has apiVersion, kind and a typed metadata, whatever the CRD says of them",
			props:  `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`,
			want: &Node{Type: "object", PreserveUnknown: true, EmbeddedResource: true, Properties: map[string]*Node{
				"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": ObjectMeta(),
			}},
		},
		"AllOfLimits": {
			reason: "allOf in a CRD limits values",
			props:  `{type: string, allOf: [{maxLength: 3}, {pattern: a}]}`,
			want:   &Node{Type: "string"},
		},
		"AllOfTypes": {
			reason: "allOf that states types is merged, what stands beside it first",
			props:  `{properties: {a: {type: string}}, allOf: [{type: object, required: [b], properties: {a: {type: integer}, b: {type: integer}}}, {type: object, nullable: true}]}`,
			want:   &Node{Type: "object", Nullable: true, Required: []string{"b"}, Properties: map[string]*Node{"a": {Type: "string"}, "b": {Type: "integer"}}},
		},
		"Inferred": {
			reason: "a schema that is no structural one, as in a file that no server has seen: its keywords give the type away",
			props:  `{properties: {a: {items: {type: string}}, b: {additionalProperties: {type: string}}}}`,
			want: &Node{Type: "object", Properties: map[string]*Node{
				"a": {Type: "array", Items: &Node{Type: "string"}}, "b": {Type: "object", AdditionalProperties: &Node{Type: "string"}},
			}},
		},
		"Tuple": {
			reason: "a schema for each position is not a type of all elements",
			props:  `{type: array, items: [{type: string}, {type: integer}]}`,
			want:   &Node{Type: "array", Items: &Node{PreserveUnknown: true}},
		},
		"Reference": {
			reason: "there is nothing that a $ref in a CRD could refer to",
			props:  `{type: object, properties: {a: {$ref: "#/definitions/x"}}}`,
			want:   &Node{Type: "object", Properties: map[string]*Node{"a": {PreserveUnknown: true}}},
		},
		"ExternalDocs": {
			reason: "a CRD with externalDocs brought the peer down",
			props:  `{type: object, externalDocs: {url: "https://example.org"}, properties: {a: {type: string, externalDocs: {url: x}}}}`,
			want:   &Node{Type: "object", Properties: map[string]*Node{"a": {Type: "string"}}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FromJSONSchema(propsOf(t, c.props))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestFromNoSchema(t *testing.T) {
	if diff := cmp.Diff(&Node{PreserveUnknown: true}, FromJSONSchema(nil)); diff != "" {
		t.Errorf("no schema allows anything (-want +got):\n%s", diff)
	}
}

func TestLeavesAreShared(t *testing.T) {
	n := FromJSONSchema(propsOf(t, `{type: object, properties: {a: {type: string, format: custom}, b: {type: string, format: custom}, c: {type: string}}}`))
	if n.Properties["a"] != n.Properties["b"] {
		t.Error("two equal leaves of one schema are two nodes")
	}
	if n.Properties["c"] != ObjectMeta().Properties["name"] {
		t.Error("plain text is not the one node that all schemas share")
	}
}

// schemaText draws the JSON of a schema: of any kind, sensible or not, or a plain one, in which a reference stands alone and nothing is combined.
func schemaText(depth int, plain bool) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		s := map[string]any{}
		if plain && rapid.IntRange(0, 4).Draw(t, "refers") == 0 {
			return map[string]any{"$ref": "#/components/schemas/" + rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "to")}
		}
		draw := func(key string, value func() any) {
			if rapid.IntRange(0, 3).Draw(t, key) == 0 {
				s[key] = value()
			}
		}
		text := func(values ...string) func() any {
			return func() any { return rapid.SampledFrom(values).Draw(t, "text") }
		}
		flag := func() any { return rapid.Bool().Draw(t, "flag") }
		draw("type", text("object", "array", "string", "integer", "number", "boolean", "weird"))
		draw("format", text("int64", "byte", "int-or-string", "date-time"))
		for _, key := range []string{"nullable", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"} {
			draw(key, flag)
		}
		draw("description", text("{", `"`, `\`, "]}"))
		draw("required", func() any { return []any{"b", "a"} })
		if !plain {
			draw("$ref", text("#/components/schemas/a", "#/components/schemas/b", "elsewhere"))
		}
		if depth == 0 {
			return s
		}
		below := func() any { return schemaText(depth-1, plain).Draw(t, "schema") }
		draw("properties", func() any { return map[string]any{"a": below(), "b": below(), "c\"\u00e9": below()} })
		draw("items", below)
		draw("additionalProperties", func() any {
			if rapid.Bool().Draw(t, "schema or not") {
				return below()
			}
			return flag()
		})
		if plain {
			return s
		}
		for _, key := range []string{"allOf", "oneOf", "anyOf"} {
			draw(key, func() any { return []any{below(), below()} })
		}
		return s
	})
}

func TestFromJSONSchemaAcceptsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(schemaText(3, false).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		var props apiextensionsv1.JSONSchemaProps
		if err := json.Unmarshal(text, &props); err != nil {
			t.Fatal(err)
		}
		n := FromJSONSchema(&props)
		checkNode(t, n)
		if a, b := fingerprint(n, "p", true), fingerprint(FromJSONSchema(&props), "p", true); a != b {
			t.Fatalf("the same schema has the fingerprints %s and %s", a, b)
		}
	})
}

// fataler is what testing.T and rapid.T share.
type fataler interface{ Fatalf(string, ...any) }

// checkNode holds a node and all below it against what every published Node keeps to.
func checkNode(t fataler, root *Node) {
	seen := map[*Node]bool{}
	var check func(path string, n *Node)
	check = func(path string, n *Node) {
		switch {
		case n == nil:
			t.Fatalf("%s is nil", path)
		case seen[n]:
			return
		case !slices.IsSorted(n.Required):
			t.Fatalf("%s: required is not sorted: %v", path, n.Required)
		case n.IntOrString && (n.Type != "" || n.Union != nil):
			t.Fatalf("%s: int-or-string beside type %q, union %v", path, n.Type, n.Union)
		case n.Type != "" && n.Union != nil:
			t.Fatalf("%s: a union beside type %q", path, n.Type)
		case n.Type == "" && !n.IntOrString && !n.PreserveUnknown && n.Union == nil:
			t.Fatalf("%s: says nothing at all", path)
		}
		seen[n] = true
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			check(path+"."+name, n.Properties[name])
		}
		if n.Items != nil {
			check(path+"[]", n.Items)
		}
		if n.AdditionalProperties != nil {
			check(path+"{}", n.AdditionalProperties)
		}
		for i, member := range n.Union {
			check(fmt.Sprintf("%s|%d", path, i), member)
		}
	}
	check("$", root)
}

func TestMessages(t *testing.T) {
	err := &NotFoundError{}
	err.GVK.Group, err.GVK.Version, err.GVK.Kind = "example.com", "v1", "Widget"
	for _, part := range []string{"example.com/v1", "Widget"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
}

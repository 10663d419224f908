package slim

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func document(components string) []byte {
	return []byte(`{"openapi": "3.0.0", "paths": {}, "components": {"schemas": {"c": ` + components + `}}}`)
}

func TestReduceSchema(t *testing.T) {
	cases := map[string]struct {
		reason, schema, want string
	}{
		"Kept":        {"all that decides a type", `{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "x"}}, "additionalProperties": true, "nullable": false}`, `{"type":"object","required":["a"],"properties":{"a":{"$ref":"x"}},"additionalProperties":true,"nullable":false}`},
		"Dropped":     {"and nothing else", `{"description": "d", "default": {"type": "string"}, "type": "string", "enum": ["type"], "x-kubernetes-list-map-keys": ["type"], "not": {"type": "x"}}`, `{"type":"string"}`},
		"NamedLike":   {"a property may be named like a keyword", `{"properties": {"type": {"type": "string"}, "properties": {"description": "d"}, "description": {}}}`, `{"properties":{"type":{"type":"string"},"properties":{},"description":{}}}`},
		"WrongShape":  {"a keyword of another shape is dropped", `{"type": ["string", "null"], "items": [], "properties": [], "nullable": "yes", "required": true, "oneOf": {}, "format": null}`, `{}`},
		"FlagSchema":  {"true and false for a schema", `{"items": true, "properties": {"a": true, "b": false}, "anyOf": [true, {"type": "string"}]}`, `{"properties":{"a":{},"b":{}},"anyOf":[{},{"type":"string"}]}`},
		"Escapes":     {"names and texts with escapes", `{"properties": {"a\"b\u00e9\\": {"type": "string"}}, "description": "\\", "format": "a\tb"}`, `{"properties":{"a\"bé\\":{"type":"string"}},"format":"a\tb"}`},
		"Whitespace":  {"white space wherever it may be", "\n{ \"type\" :\t\"object\" , \"required\":[ \"a\" ,\"b\" ] }\r\n", `{"type":"object","required":["a","b"]}`},
		"Empty":       {"nothing said", `{}`, `{}`},
		"EmptyInside": {"empty lists and objects", `{"required": [], "properties": {}, "allOf": [ ]}`, `{"required":[],"properties":{},"allOf":[]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reduced, err := Reduce(document(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(reduced.Schemas["c"])); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestReduceErrors(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 300) + "{}" + strings.Repeat("}", 300)
	for name, text := range map[string]string{
		"Empty": "", "Array": "[]", "HTML": "<html>", "CutName": `{"pa`, "CutValue": `{"a": `, "CutString": `{"a": "x`, "CutEscape": `{"a": "x\`,
		"NoColon": `{"a" 1}`, "NoComma": `{"a": 1 "b": 2}`, "NoClose": `{"a": [1, 2`, "NoValue": `{"a": }`, "BadEscape": `{"components": {"schemas": {"\q": {}}}}`,
		"BadKind": `{"paths": {"/api/v1/pods": {"get": {"x-kubernetes-group-version-kind": {"kind": 1}}}}}`,
		"Numbers": `{"components": {"schemas": {"c": {"required": [1]}}}}`, "TooDeep": string(document(deep)),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Reduce([]byte(text)); err == nil {
				t.Errorf("got %v, want an error", got)
			}
		})
	}
}

func TestParsePath(t *testing.T) {
	cases := map[string]struct {
		own  bool
		want endpoint
	}{
		"/api/v1/pods":                                         {true, endpoint{"pods", false}}, // all namespaces
		"/api/v1/namespaces/{namespace}/pods":                  {true, endpoint{"pods", true}},
		"/api/v1/namespaces/{namespace}/pods/{name}":           {true, endpoint{"pods", true}},
		"/api/v1/namespaces":                                   {true, endpoint{"namespaces", false}},
		"/api/v1/namespaces/{name}":                            {true, endpoint{"namespaces", false}},
		"/apis/apps/v1/namespaces/{namespace}/deployments":     {true, endpoint{"deployments", true}},
		"/apis/g/v1/widgets/{name}":                            {true, endpoint{"widgets", false}},
		"/api/v1/namespaces/{name}/status":                     {},
		"/api/v1/namespaces/{namespace}/pods/{name}/log":       {},
		"/api/v1/namespaces/{namespace}/pods/{name}/proxy/{p}": {},
		"/api/v1/watch/pods":                                   {},
		"/api/v1/watch/namespaces/{namespace}/pods":            {},
		"/apis/apps/v1/":                                       {},
		"/apis/apps/":                                          {},
		"/api/v1/":                                             {},
		"/version/":                                            {},
		"":                                                     {},
	}
	for path, c := range cases {
		got, own := parsePath(path)
		if own != c.own || got != c.want {
			t.Errorf("%q: got %v, %v; want %v, %v", path, got, own, c.want, c.own)
		}
	}
}

func TestTrim(t *testing.T) {
	d := Document{Kinds: []Kind{{Version: "v1", Kind: "A", Schema: "a"}}, Schemas: map[string]json.RawMessage{
		"a": json.RawMessage(`{"properties":{"b":{"$ref":"#/components/schemas/b"},"gone":{"$ref":"#/components/schemas/gone"}}}`),
		"b": json.RawMessage(`{"items":{"$ref":"#/components/schemas/a"}}`),
		"c": json.RawMessage(`{"items":{"$ref":"#/components/schemas/a"}}`),
	}}
	d.Trim()
	if diff := cmp.Diff([]string{"a", "b"}, slices.Sorted(maps.Keys(d.Schemas))); diff != "" {
		t.Errorf("what a kind reaches stays (-want +got):\n%s", diff)
	}
}

// anyJSON draws a JSON value, indented or not.
func anyJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 6
		if depth == 0 {
			most = 4
		}
		switch rapid.IntRange(0, most).Draw(t, "shape") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
		case 3, 4:
			return rapid.String().Draw(t, "text")
		case 5:
			return rapid.SliceOfN(anyJSON(depth-1), 0, 3).Draw(t, "array")
		}
		object := map[string]any{}
		keys := append(slices.Sorted(maps.Keys(keywords)), "description", "\"}\u2028")
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 5).Draw(t, "keys") {
			object[key] = anyJSON(depth-1).Draw(t, "value")
		}
		return object
	})
}

// TestReduceAgreesWithADecoder: whatever valid JSON a schema is, its reduced form is valid JSON, and is what is left when the decoded value is reduced.
func TestReduceAgreesWithADecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyJSON(4).Draw(t, "schema")
		var text []byte
		if rapid.Bool().Draw(t, "indented") {
			text, _ = json.MarshalIndent(value, " ", "\t")
		} else {
			text, _ = json.Marshal(value)
		}
		reduced, err := Reduce(document(string(text)))
		var want any
		want, fits := reduceValue(value)
		if !fits {
			if err == nil {
				t.Fatalf("required with a member that is no string: want an error")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(reduced.Schemas["c"], &got); err != nil {
			t.Fatalf("reduced to %s: %v", reduced.Schemas["c"], err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

// reduceValue does to a decoded schema what writeSchema does to its text, the slow and plain way.
func reduceValue(value any) (any, bool) {
	object, is := value.(map[string]any)
	out := map[string]any{}
	if !is {
		return out, true
	}
	for key, member := range object {
		var kept any
		fits, keeps := true, true
		switch key {
		case "$ref", "type", "format":
			kept, keeps = member.(string)
		case "nullable", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource":
			kept, keeps = member.(bool)
		case "items", "additionalProperties":
			switch m := member.(type) {
			case map[string]any:
				kept, fits = reduceValue(m)
			case bool:
				kept, keeps = m, key == "additionalProperties"
			default:
				keeps = false
			}
		case "properties":
			var named map[string]any
			if named, keeps = member.(map[string]any); keeps {
				copied := map[string]any{}
				for name, m := range named {
					var ok bool
					copied[name], ok = reduceValue(m)
					fits = fits && ok
				}
				kept = copied
			}
		case "allOf", "oneOf", "anyOf", "required":
			var list []any
			if list, keeps = member.([]any); keeps {
				copied := make([]any, len(list))
				for i, m := range list {
					ok := true
					if key == "required" {
						copied[i], ok = m.(string)
					} else {
						copied[i], ok = reduceValue(m)
					}
					fits = fits && ok
				}
				kept = copied
			}
		default:
			keeps = false
		}
		if !fits {
			return nil, false
		}
		if keeps {
			out[key] = kept
		}
	}
	return out, true
}

func FuzzReduce(f *testing.F) {
	f.Add(document(`{"type": "object", "properties": {"a": {"type": "string"}}}`))
	f.Add([]byte(`{"paths": {"/api/v1/pods": {"get": {"x-kubernetes-group-version-kind": {"group": "", "kind": "Pod", "version": "v1"}}}}, "components": {}}`))
	f.Add([]byte(`{"components": {"schemas": {"a": {"x-kubernetes-group-version-kind": [{"kind": "A"}], "items": {"\u0074ype": "x"}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		reduced, err := Reduce(bytes.Clone(text))
		if err != nil || !json.Valid(text) {
			return
		}
		for name, schema := range reduced.Schemas {
			if !json.Valid(schema) {
				t.Errorf("valid JSON, but %s is reduced to %s", name, schema)
			}
		}
	})
}

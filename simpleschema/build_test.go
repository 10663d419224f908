package simpleschema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// document reads a YAML map as the API server hands it over.
func document(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("test document: %v", err)
	}
	return m
}

func schemaJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	if err := e.Encode(plain); err != nil {
		t.Fatalf("encode: %v", err)
	}
	return strings.TrimSpace(out.String())
}

func TestBuildGivesExactlyThisOpenAPI(t *testing.T) {
	cases := []struct {
		reason, spec, types, want string
	}{
		{
			reason: "scalars, object, lists and maps in each other; blanks in a type do not matter",
			spec: `
s: string
i: integer
b: boolean
f: float
o: object
lls: "[][]integer"
mls: "map[string][]boolean"
lmo: "[]map[string]object"
spaced: "  []   map[string]  float  "
deep: {in: {side: string, num: "[]object"}}
hollow: {}`,
			want: `{"properties":{"b":{"type":"boolean"},"deep":{"properties":{"in":{"properties":{"num":{"items":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"type":"array"},"side":{"type":"string"}},"type":"object"}},"type":"object"},"f":{"type":"number"},"hollow":{"type":"object"},"i":{"type":"integer"},"lls":{"items":{"items":{"type":"integer"},"type":"array"},"type":"array"},"lmo":{"items":{"additionalProperties":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"type":"object"},"type":"array"},"mls":{"additionalProperties":{"items":{"type":"boolean"},"type":"array"},"type":"object"},"o":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"s":{"type":"string"},"spaced":{"items":{"additionalProperties":{"type":"number"},"type":"object"},"type":"array"}},"type":"object"}`,
		},
		{
			reason: "named types in any order, in each other, with their markers and those at the place of use",
			types: `
Server: {endpoint: Endpoint, labels: "map[string]Label", retries: Count | default=2}
Endpoint: {port: Port, host: string | required=true}
Port: integer | minimum=1 maximum=65535
Label: string | pattern="^[a-z]+$"
Count: integer | default=1
Key: string | required=true minLength=2
Names: "[]Label"
Blob: object`,
			spec: `
main: Server
others: "[]Server"
byName: "map[string]Endpoint"
key: Key
keys: "[]Key"
loose: 'Key | required=false description="still required"'
names: Names | maxItems=4
extra: Blob
tries: Count | default=7`,
			want: `{"properties":{"byName":{"additionalProperties":{"properties":{"host":{"type":"string"},"port":{"maximum":65535,"minimum":1,"type":"integer"}},"required":["host"],"type":"object"},"type":"object"},"extra":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"key":{"minLength":2,"type":"string"},"keys":{"items":{"minLength":2,"type":"string"},"type":"array"},"loose":{"description":"still required","minLength":2,"type":"string"},"main":{"default":{},"properties":{"endpoint":{"properties":{"host":{"type":"string"},"port":{"maximum":65535,"minimum":1,"type":"integer"}},"required":["host"],"type":"object"},"labels":{"additionalProperties":{"pattern":"^[a-z]+$","type":"string"},"type":"object"},"retries":{"default":2,"type":"integer"}},"type":"object"},"names":{"items":{"pattern":"^[a-z]+$","type":"string"},"maxItems":4,"type":"array"},"others":{"items":{"default":{},"properties":{"endpoint":{"properties":{"host":{"type":"string"},"port":{"maximum":65535,"minimum":1,"type":"integer"}},"required":["host"],"type":"object"},"labels":{"additionalProperties":{"pattern":"^[a-z]+$","type":"string"},"type":"object"},"retries":{"default":2,"type":"integer"}},"type":"object"},"type":"array"},"tries":{"default":7,"type":"integer"}},"required":["key","loose"],"type":"object"}`,
		},
		{
			reason: "markers on scalars: a bar inside a value is text, enum values are trimmed, regular expressions keep their backslashes",
			spec: `
name: string|required=true
greeting: 'string | default="hello, world" description="what to say | to whom"'
bare: string | default=a|b
tz: string | enum="utc, cet ,est" default=cet
code: 'string | pattern="^[A-Z]{2}\.\d+$" minLength=4 maxLength=8'
port: integer | minimum=1 maximum=65535 default=8080
level: integer | enum="1,2,3"
ratio: float | minimum=0.5 maximum=1e3 default=1.25
on_: boolean | default=true
off_: boolean | required=false default=false
quoted: 'string | description="she said \"so\" and C:\\dir"'
tags: 'map[string]string | default={"a": "b c", "d": "e"}'
picks: '[]integer | default=[1, 2]'`,
			want: `{"properties":{"bare":{"default":"a|b","type":"string"},"code":{"maxLength":8,"minLength":4,"pattern":"^[A-Z]{2}\\.\\d+$","type":"string"},"greeting":{"default":"hello, world","description":"what to say | to whom","type":"string"},"level":{"enum":[1,2,3],"type":"integer"},"name":{"type":"string"},"off_":{"default":false,"type":"boolean"},"on_":{"default":true,"type":"boolean"},"picks":{"default":[1,2],"items":{"type":"integer"},"type":"array"},"port":{"default":8080,"maximum":65535,"minimum":1,"type":"integer"},"quoted":{"description":"she said \"so\" and C:\\dir","type":"string"},"ratio":{"default":1.25,"maximum":1000,"minimum":0.5,"type":"number"},"tags":{"additionalProperties":{"type":"string"},"default":{"a":"b c","d":"e"},"type":"object"},"tz":{"default":"cet","enum":["utc","cet","est"],"type":"string"}},"required":["name"],"type":"object"}`,
		},
		{
			reason: "markers on lists: counts, sets, atomic lists, lists keyed by one or two fields",
			types:  `route: {host: string | required=true, path: string | required=true, weight: integer}`,
			spec: `
counted: "[]string | minItems=0 maxItems=3"
unique: "[]string | uniqueItems=true"
plain: "[]string | uniqueItems=false"
bag: "[]string | listType=set"
whole: "[]route | listType=atomic"
both: "[]route | listMapKey=host listType=map listMapKey=path maxItems=5"`,
			want: `{"properties":{"bag":{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"set"},"both":{"items":{"properties":{"host":{"type":"string"},"path":{"type":"string"},"weight":{"type":"integer"}},"required":["host","path"],"type":"object"},"maxItems":5,"type":"array","x-kubernetes-list-map-keys":["host","path"],"x-kubernetes-list-type":"map"},"counted":{"items":{"type":"string"},"maxItems":3,"minItems":0,"type":"array"},"plain":{"items":{"type":"string"},"type":"array"},"unique":{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"set"},"whole":{"items":{"properties":{"host":{"type":"string"},"path":{"type":"string"},"weight":{"type":"integer"}},"required":["host","path"],"type":"object"},"type":"array","x-kubernetes-list-type":"atomic"}},"type":"object"}`,
		},
		{
			reason: "immutable and validation become rules in the order in which they are written",
			spec: `
zone: string | immutable=true
free: string | immutable=false
both: 'integer | default=4 immutable=true validation="self < 10"'`,
			want: `{"default":{},"properties":{"both":{"default":4,"type":"integer","x-kubernetes-validations":[{"message":"field is immutable","rule":"self == oldSelf"},{"message":"validation failed","rule":"self < 10"}]},"free":{"type":"string"},"zone":{"type":"string","x-kubernetes-validations":[{"message":"field is immutable","rule":"self == oldSelf"}]}},"type":"object"}`,
		},
		{
			reason: "an object whose children are all optional and one of which has a default gets {}, up to the top; a required child stops that",
			spec: `
ingress: {tls: {enabled: boolean | default=false, issuer: string}, host: string}
quiet: {a: string, deeper: {b: integer}}
mid: {need: string | required=true, has: 'string | default="x"'}`,
			want: `{"default":{},"properties":{"ingress":{"default":{},"properties":{"host":{"type":"string"},"tls":{"default":{},"properties":{"enabled":{"default":false,"type":"boolean"},"issuer":{"type":"string"}},"type":"object"}},"type":"object"},"mid":{"properties":{"has":{"default":"x","type":"string"},"need":{"type":"string"}},"required":["need"],"type":"object"},"quiet":{"properties":{"a":{"type":"string"},"deeper":{"properties":{"b":{"type":"integer"}},"type":"object"}},"type":"object"}},"type":"object"}`,
		},
		{
			reason: "a string default is any text, also one with quotes, backslashes and HTML",
			spec:   `{said: 'string | default="she said \"so\""', dir: 'string | default="C:\\temp"', op: 'string | enum="a&b,a<b" default="a<b"', none: 'string | default=""'}`,
			want:   `{"default":{},"properties":{"dir":{"default":"C:\\temp","type":"string"},"none":{"default":"","type":"string"},"op":{"default":"a<b","enum":["a&b","a<b"],"type":"string"},"said":{"default":"she said \"so\"","type":"string"}},"type":"object"}`,
		},
		{
			reason: "a field that its type and its marker ask for stands once in required",
			types:  `Key: string | required=true`,
			spec:   `{k: Key | required=true, a: string | required=true}`,
			want:   `{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"],"type":"object"}`,
		},
		{
			reason: "values that Go reads and JSON does not are written as what they mean; bounds on strings stay accepted",
			spec:   `{a: boolean | default=T, b: integer | default=007, c: float | default=.5, d: string | minimum=1}`,
			want:   `{"default":{},"properties":{"a":{"default":true,"type":"boolean"},"b":{"default":7,"type":"integer"},"c":{"default":0.5,"type":"number"},"d":{"minimum":1,"type":"string"}},"type":"object"}`,
		},
		{
			reason: "markers at the place of use leave the other uses of the type alone",
			types:  `Even: integer | validation="self % 2 == 0"`,
			spec:   `{a: Even | validation="self > 0", b: Even | validation="self < 0", c: Even}`,
			want:   `{"properties":{"a":{"type":"integer","x-kubernetes-validations":[{"message":"validation failed","rule":"self % 2 == 0"},{"message":"validation failed","rule":"self > 0"}]},"b":{"type":"integer","x-kubernetes-validations":[{"message":"validation failed","rule":"self % 2 == 0"},{"message":"validation failed","rule":"self < 0"}]},"c":{"type":"integer","x-kubernetes-validations":[{"message":"validation failed","rule":"self % 2 == 0"}]}},"type":"object"}`,
		},
		{reason: "no fields at all are an object without fields", spec: `{}`, want: `{"type":"object"}`},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			got, faults := Build(document(t, c.spec), document(t, c.types))
			if len(faults) > 0 {
				t.Fatalf("Build: unexpected faults: %v", faults)
			}
			if errs := structuralErrors(t, got); len(errs) > 0 {
				t.Errorf("not structural: %v", errs)
			}
			if diff := cmp.Diff(c.want, schemaJSON(t, got)); diff != "" {
				t.Errorf("Build: -want +got:\n%s", diff)
			}
		})
	}
}

func TestBuildNamesWhatIsWrong(t *testing.T) {
	cases := []struct {
		reason, field, types string
		message, hint        string
	}{
		{reason: "other languages' number", field: `number`, message: "unknown type: number", hint: "float"},
		{reason: "other languages' double", field: `double`, message: "unknown type: double", hint: "float"},
		{reason: "other languages' int", field: `int`, message: "unknown type: int", hint: "integer"},
		{reason: "upper case", field: `String`, message: "unknown type: String", hint: "string?"},
		{reason: "a forgotten bar", field: `string required=true`, message: "unknown type", hint: "string | required=true"},
		{reason: "nothing", field: `""`, message: "empty type"},
		{reason: "list of nothing", field: `"[]"`, message: "empty slice element type"},
		{reason: "map with other keys", field: `map[integer]string`, message: "map key must be string"},
		{reason: "unclosed map", field: `map[string`, message: "map key must be string"},
		{reason: "map of nothing", field: `map[string]`, message: "map value type is required"},
		{reason: "deep inside", field: `"[]map[string]nope"`, message: "unknown type: nope"},
		{reason: "a list", field: `[string]`, message: "unexpected type: []interface {}", hint: "'[]string'"},
		{reason: "a number", field: `3`, message: "unexpected type: float64"},
		{reason: "null", field: `null`, message: "unexpected type: <nil>"},
		{reason: "too deep", field: `"[][][][][][][][][][][][][][][][][]string"`, message: `type nesting too deep (max 16): "string"`},
		{reason: "unknown marker", field: `string | nullable=true`, message: `invalid marker key "nullable": unknown marker: nullable`},
		{reason: "min", field: `integer | min=1`, message: "unknown marker: min", hint: "minimum=1"},
		{reason: "max", field: `integer | max=1`, message: "unknown marker: max", hint: "maximum=1"},
		{reason: "a second bar", field: `'string | required=true | default="x"'`, message: `invalid marker key "|default": unknown marker: |default`, hint: "only the first |"},
		{reason: "words without quotes", field: `string | description=two words`, message: "marker key 'words' without a value", hint: "quotes"},
		{reason: "a bar and nothing", field: `'string |'`, message: "marker key '' without a value"},
		{reason: "no value", field: `string | required`, message: "marker key 'required' without a value"},
		{reason: "no key", field: `string | =x`, message: "empty marker key"},
		{reason: "open quote", field: `'string | default="x'`, message: "unclosed quote"},
		{reason: "open brace", field: `'object | default={"a":1'`, message: "unclosed bracket/brace"},
		{reason: "stray bracket", field: `string | default=]`, message: "unmatched closing bracket/brace"},
		{reason: "crossed brackets", field: `'object | default={[}]'`, message: "unmatched closing bracket/brace"},
		{reason: "required, no bool", field: `string | required=sure`, message: "failed to parse required marker value"},
		{reason: "default, no integer", field: `integer | default=one`, message: "default value must be a valid integer, got: one"},
		{reason: "default, no number", field: `float | default=NaN`, message: "default value must be a valid number, got: NaN"},
		{reason: "default, no boolean", field: `boolean | default=yes`, message: "default value must be a valid boolean, got: yes"},
		{reason: "default, no JSON", field: `object | default=x`, message: "must be valid JSON"},
		{reason: "minimum, no number", field: `integer | minimum=low`, message: "failed to parse minimum enum value"},
		{reason: "maximum, infinite", field: `integer | maximum=Inf`, message: "failed to parse maximum enum value"},
		{reason: "enum of booleans", field: `'boolean | enum="true,false"'`, message: "enum values only supported for string and integer types, got type: boolean"},
		{reason: "empty enum value", field: `'string | enum="a,,b"'`, message: "empty enum values are not allowed"},
		{reason: "enum, no integer", field: `'integer | enum="1,b"'`, message: "failed to parse integer enum value"},
		{reason: "pattern on integer", field: `integer | pattern="x"`, message: "pattern marker is only valid for string types, got type: integer"},
		{reason: "broken pattern", field: `string | pattern="("`, message: "invalid pattern regex"},
		{reason: "empty pattern", field: `string | pattern=""`, message: "pattern marker value cannot be empty"},
		{reason: "length of integer", field: `integer | minLength=1`, message: "minLength marker is only valid for string types, got type: integer"},
		{reason: "length, no number", field: `string | maxLength=x`, message: "failed to parse maxLength value"},
		{reason: "items of string", field: `string | maxItems=1`, message: "maxItems marker is only valid for array types, got type: string"},
		{reason: "unknown list type", field: `'[]string | listType=bag'`, message: "unsupported value for listType bag, needs to be one of atomic, set, or map"},
		{reason: "list type of string", field: `string | listType=set`, message: "listType marker only applies to array types"},
		{reason: "key without map", field: `'[]object | listMapKey=a'`, message: "listMapKey set while listType is unset, listType must be set to map"},
		{reason: "key of set", field: `'[]string | listType=set listMapKey=a'`, message: "listMapKey set while listType is set to set"},
		{reason: "key twice", field: `'[]object | listType=map listMapKey=a listMapKey=a'`, message: "duplicate listMapKey marker, value a"},
		{reason: "atomic and unique", field: `'[]string | listType=atomic uniqueItems=true'`, message: "cannot set unique when listType is set to atomic"},
		{reason: "unique and map", field: `'[]string | uniqueItems=true listType=map'`, message: "listType attempting to overwrite set type of set"},
		{reason: "blank rule", field: `string | validation=" "`, message: "validation failed"},
		{reason: "immutable, no bool", field: `string | immutable=maybe`, message: "failed to parse immutable marker value"},

		// What only the API server said before, when the CRD was written.
		{reason: "default outside enum", field: `'string | enum="a,b" default="c"'`, message: `default value "c" does not fit the field`},
		{reason: "default above maximum", field: `integer | maximum=10 default=11`, message: "should be less than or equal to 10"},
		{reason: "default outside pattern", field: `'string | pattern="^[0-9]+$" default="abc"'`, message: "should match '^[0-9]+$'"},
		{reason: "default of another type", field: `'[]string | default=[1]'`, message: "default value [1] does not fit the field"},
		{reason: "default with unknown field", types: `P: {x: integer}`, field: `'P | default={"y": 1}'`, message: `default value {"y": 1} has unknown fields: y`},
		{reason: "default without required field", types: `P: {x: integer | required=true}`, field: `'P | default={}'`, message: "does not fit the field: x"},
		{reason: "default against rule", field: `'integer | validation="self > 5" default=5'`, message: "refused by the field's own validation"},
		{reason: "default against rule inside", types: `P: {x: 'integer | validation="self > 5"'}`, field: `'P | default={"x": 5}'`, message: "refused by the field's own validation"},
		{reason: "rule that does not compile", field: `'integer | validation="self >"'`, message: `validation "self >" is not a valid CEL expression`},
		{reason: "rule of wrong type", field: `'integer | validation="self.size() > 1"'`, message: "found no matching overload"},
		{reason: "set of objects", field: `'[]object | listType=set'`, message: "a set cannot have objects as elements"},
		{reason: "map list without key", field: `'[]object | listType=map'`, message: "listType=map needs at least one listMapKey"},
		{reason: "map list of strings", field: `'[]string | listType=map listMapKey=a'`, message: "listType=map needs objects as elements, got type: string"},
		{reason: "key that is no field", types: `P: {x: integer}`, field: `'[]P | listType=map listMapKey=y'`, message: "listMapKey y is not a field of the elements"},
		{reason: "key that may be absent", types: `P: {x: integer}`, field: `'[]P | listType=map listMapKey=x'`, message: "listMapKey x must be required or have a default"},
		{reason: "key that is a list", types: `P: {x: "[]string | required=true"}`, field: `'[]P | listType=map listMapKey=x'`, message: "listMapKey x must be a scalar, got type: array"},
		{reason: "immutable in a list without identity", types: `P: {x: string | immutable=true}`, field: `'[]P'`, message: "uses oldSelf"},
		{reason: "a rule that costs too much", types: `P: string | validation="self.contains(self)"`, field: `'[][]P'`, message: "costs too much", hint: "maxItems"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			schema, faults := Build(map[string]any{"outer": document(t, "a: "+c.field)}, document(t, c.types))
			if len(faults) != 1 {
				t.Fatalf("Build: want one fault with %q, got %q", c.message, faults)
			}
			if !strings.Contains(faults[0].Message, c.message) || !strings.Contains(faults[0].Hint, c.hint) {
				t.Errorf("Build: want message with %q and hint with %q, got %q", c.message, c.hint, faults[0])
			}
			if !strings.HasPrefix(faults[0].Path, "spec.outer.a") {
				t.Errorf("Build: want path spec.outer.a, got %q", faults[0].Path)
			}
			if _, ok := schema.Properties["outer"]; !ok {
				t.Errorf("Build: the schema lacks the faulty field's object: %s", schemaJSON(t, schema))
			}
		})
	}
}

func TestBuildAcceptsRulesWhereTheOldValueIsKnown(t *testing.T) {
	types := document(t, `P: {k: string | required=true maxLength=20, x: 'string | immutable=true maxLength=20'}
Q: {x: 'boolean | immutable=true'}`)
	spec := document(t, `{list: '[]P | listType=map listMapKey=k maxItems=10', byName: 'map[string]Q', one: P}`)
	if _, faults := Build(spec, types); len(faults) > 0 {
		t.Errorf("Build: unexpected faults: %q", faults)
	}
}

func TestBuildReportsAllFaultsInOrder(t *testing.T) {
	spec := `
b: {z: double, v: 'integer | min=1 maximum=x'}
a: Missing
c: Broken
"d.e": nope
ok: string`
	types := `
Broken: {x: Gone}
Ping: {x: Pong}
Pong: {x: "map[string]Ping"}
Me: {x: "[]Me"}
Alias: Alias`
	_, faults := Build(document(t, spec), document(t, types))
	var got []string
	for _, f := range faults {
		got = append(got, f.Path+": "+f.Message)
	}
	want := []string{
		`spec.a: unknown type: Missing`,
		`spec.b.v: invalid marker key "min": unknown marker: min`,
		`spec.b.v: failed to parse maximum enum value: strconv.ParseFloat: parsing "x": invalid syntax`,
		`spec.b.z: unknown type: double`,
		`spec["d.e"]: unknown type: nope`,
		`types.Alias: type Alias: self references are not allowed`,
		`types.Broken.x: unknown type: Gone: node Gone does not exist`,
		`types.Me.x: type Me: self references are not allowed`,
		`types.Pong.x: cyclic dependency in type Ping: graph contains a cycle: Ping -> Pong -> Ping`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Build: -want +got:\n%s", diff)
	}
}

func TestBuildRecognisesOpenAPI(t *testing.T) {
	cases := []struct {
		reason, field, hint string
	}{
		{"a field with a description", `{type: string, description: what it is}`, "'string | description"},
		{"a list", `{type: array, items: {type: string}}`, "'[]string | description"},
		{"an object", `{type: object, properties: {a: {type: string}}, required: [a]}`, "without type and properties"},
		{"a number", `{type: number, minimum: 1}`, "'float | description"},
		{"a struct with a field named type", `{type: string, other: nope}`, "the types are"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			_, faults := Build(document(t, "{a: "+c.field+"}"), nil)
			if len(faults) == 0 {
				t.Fatal("Build: no faults")
			}
			for _, f := range faults {
				if !strings.Contains(f.Hint, c.hint) {
					t.Errorf("Build: want hint with %q, got %q", c.hint, f)
				}
			}
		})
	}
}

func TestBuildBoundsTheSizeOfTypesThatDouble(t *testing.T) {
	types := map[string]any{"T0": map[string]any{"x": "string"}}
	for i := 1; i < 40; i++ {
		name := func(i int) string { return "T" + string(rune('0'+i/10)) + string(rune('0'+i%10)) }
		below := name(i - 1)
		if i == 1 {
			below = "T0"
		}
		types[name(i)] = map[string]any{"a": below, "b": below}
	}
	_, faults := Build(map[string]any{"x": "T39"}, types)
	if len(faults) == 0 || !strings.Contains(faults[0].Message, "more than 50000 fields") {
		t.Errorf("Build: want faults about the size, got %q", faults)
	}
}

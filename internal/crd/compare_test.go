package crd

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// thing gives a CRD whose spec and status have these schemas, in YAML.
func thing(t testing.TB, spec, status string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	parse := func(text string) apiextensionsv1.JSONSchemaProps {
		var s apiextensionsv1.JSONSchemaProps
		if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
			t.Fatalf("test schema: %v", err)
		}
		return s
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", ListKind: "ThingList", Plural: "things", Singular: "thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": parse(spec), "status": parse(status)},
				}},
			}},
		},
	}
	crd.Name = "things.example.com"
	return crd
}

// object writes the schema of an object with one property a.
func object(a string) string { return "{type: object, properties: {a: " + a + "}}" }

func TestCompareSchemas(t *testing.T) {
	const str, integer, open = `{type: string}`, `{type: integer}`, `{x-kubernetes-preserve-unknown-fields: true}`
	const free = `{type: object, x-kubernetes-preserve-unknown-fields: true}`
	cases := []struct {
		reason, old, next string
		breaking          []string
		harmless          []string
	}{
		{reason: "nothing", old: object(str), next: object(str)},

		{reason: "property removed", old: object(str), next: `{type: object}`, breaking: []string{"spec.a: Property a was removed"}},
		{reason: "property removed from an object that keeps unknown fields", old: object(str), next: free,
			harmless: []string{"spec: Unknown fields are preserved", "spec.a: Property a was removed"}},
		{reason: "optional property added", old: `{type: object}`, next: object(str), harmless: []string{"spec.a: Optional property a was added"}},
		{reason: "required property added", old: `{type: object}`, next: `{type: object, required: [a], properties: {a: {type: string}}}`,
			breaking: []string{"spec.a: Field a is newly required"}, harmless: []string{"spec.a: Required property a was added"}},
		{reason: "required property with default added", old: `{type: object}`, next: `{type: object, required: [a], properties: {a: {type: string, default: x}}}`,
			harmless: []string{"spec.a: Required property a was added", "spec.a: Field a is newly required"}},
		{reason: "property declared where any was allowed", old: free, next: `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`,
			breaking: []string{"spec.a: Optional property a was added"}},
		{reason: "existing field required", old: object(str), next: `{type: object, required: [a], properties: {a: {type: string}}}`,
			breaking: []string{"spec.a: Field a is newly required"}},
		{reason: "field no longer required", old: `{type: object, required: [a], properties: {a: {type: string}}}`, next: object(str),
			harmless: []string{"spec.a: Field a is no longer required"}},
		{reason: "undeclared name required", old: free, next: `{type: object, required: [x], x-kubernetes-preserve-unknown-fields: true}`,
			breaking: []string{"spec.x: Field x is newly required"}},

		{reason: "type changed", old: object(str), next: object(integer), breaking: []string{"spec.a: Type changed from string to integer"}},
		{reason: "type opened", old: object(str), next: object(open), harmless: []string{"spec.a: Type changed from string to any"}},
		{reason: "type closed", old: object(open), next: object(str), breaking: []string{"spec.a: Type changed from any to string"}},
		{reason: "type widened", old: object(str), next: object(`{x-kubernetes-int-or-string: true}`), harmless: []string{"spec.a: Type changed from string to integer or string"}},
		{reason: "type narrowed", old: object(`{x-kubernetes-int-or-string: true}`), next: object(str), breaking: []string{"spec.a: Type changed from integer or string to string"}},
		{reason: "nothing more is said below a changed type", old: object(object(str)), next: object(str), breaking: []string{"spec.a: Type changed from object to string"}},

		{reason: "unknown fields no longer kept", old: object(free), next: object(`{type: object}`), breaking: []string{"spec.a: Unknown fields are no longer preserved"}},
		{reason: "null refused", old: object(`{type: string, nullable: true}`), next: object(str), breaking: []string{"spec.a: Null is no longer allowed"}},
		{reason: "null allowed", old: object(str), next: object(`{type: string, nullable: true}`), harmless: []string{"spec.a: Null is allowed"}},
		{reason: "embedded resource", old: object(free), next: object(`{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}`),
			breaking: []string{"spec.a: Embedded resource was changed from false to true"}},
		{reason: "map type", old: object(free), next: object(`{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-map-type: atomic}`),
			harmless: []string{"spec.a: Map type changed from granular to atomic"}},

		{reason: "description", old: object(`{type: string, description: old}`), next: object(`{type: string, description: new}`),
			harmless: []string{"spec.a: Description field was changed from old to new"}},
		{reason: "default changed", old: object(`{type: string, default: a}`), next: object(`{type: string, default: "<b>"}`),
			harmless: []string{`spec.a: Default value was changed from "a" to "<b>"`}},
		{reason: "default added", old: object(integer), next: object(`{type: integer, default: 1}`), harmless: []string{"spec.a: Default value 1 was added"}},
		{reason: "default removed from an optional field", old: object(`{type: integer, default: 1}`), next: object(integer), harmless: []string{"spec.a: Default value 1 was removed"}},
		{reason: "default removed from a required field", old: `{type: object, required: [a], properties: {a: {type: integer, default: 1}}}`,
			next:     `{type: object, required: [a], properties: {a: {type: integer}}}`,
			breaking: []string{"spec.a: Default value removed from required field a"}, harmless: []string{"spec.a: Default value 1 was removed"}},

		{reason: "enum value removed and added", old: object(`{type: string, enum: [one, two]}`), next: object(`{type: string, enum: [one, three]}`),
			breaking: []string{`spec.a: Enum value "two" was removed`}, harmless: []string{`spec.a: Enum value "three" was added`}},
		{reason: "first enum", old: object(str), next: object(`{type: string, enum: [p, q]}`), breaking: []string{`spec.a: Enum constraint ["p","q"] was added`}},
		{reason: "enum gone", old: object(`{type: string, enum: [p, q]}`), next: object(str), harmless: []string{`spec.a: Enum constraint ["p","q"] was removed`}},
		{reason: "enum order", old: object(`{type: string, enum: [p, q]}`), next: object(`{type: string, enum: [q, p]}`),
			harmless: []string{`spec.a: Enum order was changed from ["p","q"] to ["q","p"]`}},
		{reason: "pattern added", old: object(str), next: object(`{type: string, pattern: ^x}`), breaking: []string{"spec.a: Validation pattern ^x was added"}},
		{reason: "pattern changed", old: object(`{type: string, pattern: ^x}`), next: object(`{type: string, pattern: ^z}`),
			breaking: []string{"spec.a: Validation pattern changed from ^x to ^z"}},
		{reason: "pattern removed", old: object(`{type: string, pattern: ^x}`), next: object(str), harmless: []string{"spec.a: Validation pattern ^x was removed"}},
		{reason: "format added", old: object(str), next: object(`{type: string, format: date-time}`), breaking: []string{"spec.a: Format date-time was added"}},
		{reason: "format changed", old: object(`{type: string, format: byte}`), next: object(`{type: string, format: date-time}`),
			breaking: []string{"spec.a: Format changed from byte to date-time"}},
		{reason: "format removed", old: object(`{type: string, format: byte}`), next: object(str), harmless: []string{"spec.a: Format byte was removed"}},

		{reason: "minimum added", old: object(integer), next: object(`{type: integer, minimum: 0}`), breaking: []string{"spec.a: Minimum constraint 0 was added"}},
		{reason: "minimum raised", old: object(`{type: integer, minimum: 1}`), next: object(`{type: integer, minimum: 2}`), breaking: []string{"spec.a: Minimum was increased from 1 to 2"}},
		{reason: "minimum lowered", old: object(`{type: integer, minimum: 2}`), next: object(`{type: integer, minimum: 0.5}`), harmless: []string{"spec.a: Minimum was decreased from 2 to 0.5"}},
		{reason: "maximum added", old: object(integer), next: object(`{type: integer, maximum: 9}`), breaking: []string{"spec.a: Maximum constraint 9 was added"}},
		{reason: "maximum lowered", old: object(`{type: integer, maximum: 9}`), next: object(`{type: integer, maximum: 3}`), breaking: []string{"spec.a: Maximum was decreased from 9 to 3"}},
		{reason: "maximum raised", old: object(`{type: integer, maximum: 3}`), next: object(`{type: integer, maximum: 9}`), harmless: []string{"spec.a: Maximum was increased from 3 to 9"}},
		{reason: "maximum removed", old: object(`{type: integer, maximum: 3}`), next: object(integer), harmless: []string{"spec.a: Maximum constraint 3 was removed"}},
		{reason: "bound made exclusive", old: object(`{type: integer, maximum: 3}`), next: object(`{type: integer, maximum: 3, exclusiveMaximum: true}`),
			breaking: []string{"spec.a: Maximum was changed from exclusive false to exclusive true"}},
		{reason: "multiple of", old: object(integer), next: object(`{type: integer, multipleOf: 2}`), breaking: []string{"spec.a: MultipleOf constraint 2 was added"}},
		{reason: "lengths", old: object(`{type: string, minLength: 1, maxLength: 9}`), next: object(`{type: string, minLength: 3, maxLength: 3}`),
			breaking: []string{"spec.a: MinLength was increased from 1 to 3", "spec.a: MaxLength was decreased from 9 to 3"}},
		{reason: "a least count of zero binds nothing", old: object(str), next: object(`{type: string, minLength: 0}`), harmless: []string{"spec.a: MinLength constraint 0 was added"}},
		{reason: "counts of items", old: object(`{type: array, maxItems: 4, items: {type: string}}`), next: object(`{type: array, minItems: 1, maxItems: 2, items: {type: string}}`),
			breaking: []string{"spec.a: MinItems constraint 1 was added", "spec.a: MaxItems was decreased from 4 to 2"}},
		{reason: "counts of properties", old: object(free), next: object(`{type: object, x-kubernetes-preserve-unknown-fields: true, minProperties: 1, maxProperties: 2}`),
			breaking: []string{"spec.a: MinProperties constraint 1 was added", "spec.a: MaxProperties constraint 2 was added"}},

		{reason: "element type", old: object(`{type: array, items: {type: string}}`), next: object(`{type: array, items: {type: integer}}`),
			breaking: []string{"spec.a[]: Type changed from string to integer"}},
		{reason: "elements no longer described", old: object(`{type: array, items: {type: string}}`), next: object(`{type: array}`), breaking: []string{"spec.a: Items schema was removed"}},
		{reason: "map value type", old: object(`{type: object, additionalProperties: {type: string}}`), next: object(`{type: object, additionalProperties: {type: integer}}`),
			breaking: []string{"spec.a.*: Type changed from string to integer"}},
		{reason: "map values no longer kept", old: object(`{type: object, additionalProperties: {type: string}}`), next: object(`{type: object}`),
			breaking: []string{"spec.a: Map value schema was removed"}},
		{reason: "map of anything", old: object(`{type: object, additionalProperties: {type: string}}`), next: object(`{type: object, additionalProperties: true}`),
			harmless: []string{"spec.a.*: Type changed from string to any"}},
		{reason: "list made a set", old: object(`{type: array, items: {type: string}}`), next: object(`{type: array, x-kubernetes-list-type: set, items: {type: string}}`),
			breaking: []string{"spec.a: List type changed from atomic to set"}},
		{reason: "set made a list", old: object(`{type: array, x-kubernetes-list-type: set, items: {type: string}}`), next: object(`{type: array, items: {type: string}}`),
			harmless: []string{"spec.a: List type changed from set to atomic"}},
		{reason: "key dropped", old: object(`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object}}`),
			next:     object(`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object}}`),
			breaking: []string{"spec.a: List map keys changed from [k l] to [k]"}},
		{reason: "key added", old: object(`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object}}`),
			next:     object(`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object}}`),
			harmless: []string{"spec.a: List map keys changed from [k] to [k l]"}},

		{reason: "rule added", old: object(integer), next: object(`{type: integer, x-kubernetes-validations: [{rule: self > 5}]}`), breaking: []string{"spec.a: Validation rule self > 5 was added"}},
		{reason: "immutability added", old: object(integer), next: object(`{type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}`),
			harmless: []string{"spec.a: Validation rule self == oldSelf was added"}},
		{reason: "rule removed", old: object(`{type: integer, x-kubernetes-validations: [{rule: self > 5}]}`), next: object(integer), harmless: []string{"spec.a: Validation rule self > 5 was removed"}},
		{reason: "message of a rule", old: object(`{type: integer, x-kubernetes-validations: [{rule: self > 5}]}`),
			next:     object(`{type: integer, x-kubernetes-validations: [{rule: self > 5, message: m}]}`),
			harmless: []string{"spec.a: Message of validation rule self > 5 was changed"}},
		{reason: "combined schemas", old: `{type: object, anyOf: [{required: [a]}]}`, next: `{type: object, anyOf: [{required: [b]}], oneOf: [{required: [c]}]}`,
			breaking: []string{"spec: anyOf was changed", "spec: oneOf was added"}},

		{reason: "JSON that a server writes in another way", old: object(`{type: object, x-kubernetes-preserve-unknown-fields: true, default: {"b": 1.0, "a": "x<y&z"}}`),
			next: object(`{type: object, x-kubernetes-preserve-unknown-fields: true, default: {"a": "x\u003cy\u0026z", "b": 1}}`)},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			old, next := thing(t, c.old, `{type: object}`), thing(t, c.next, `{type: object}`)
			var breaking, harmless []string
			for _, change := range Compare(old, next).Changes {
				if change.Breaking {
					breaking = append(breaking, change.String())
					continue
				}
				harmless = append(harmless, change.String())
			}
			if diff := cmp.Diff(c.breaking, breaking); diff != "" {
				t.Errorf("breaking: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.harmless, harmless); diff != "" {
				t.Errorf("harmless: -want +got:\n%s", diff)
			}
		})
	}
}

func TestCompareStatus(t *testing.T) {
	const graph = `{type: object, properties: {graph: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	cases := []struct {
		reason, old, next string
		breaking          bool
		none              bool
	}{
		{reason: "kro's own field appears", old: `{type: object}`, next: graph},
		{reason: "kro's own field is switched off", old: graph, next: `{type: object}`},
		{reason: "the author takes the field over", old: graph, next: `{type: object, properties: {graph: {type: string}}}`},
		{reason: "the author's own field of that name goes", old: `{type: object, properties: {graph: {type: string}}}`, next: `{type: object}`, breaking: true},
		{reason: "another type of a field", old: object(`{type: string}`), next: object(`{type: integer}`), breaking: true},
		{reason: "a type that other releases did not know", old: object(`{x-kubernetes-preserve-unknown-fields: true, description: "unknown CEL type: optional_type(string)"}`), next: object(`{type: string}`)},
		{reason: "a name that other releases escaped", old: `{type: object, properties: {__namespace__: {type: string}}}`, next: `{type: object, properties: {namespace: {type: string}}}`},
		{reason: "an escaped name that is the author's", old: `{type: object, properties: {__namespace__: {type: string}}}`, next: `{type: object}`, breaking: true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			r := Compare(thing(t, `{type: object}`, c.old), thing(t, `{type: object}`, c.next))
			if r.Empty() || r.Breaking() != c.breaking {
				t.Errorf("Compare: breaking %t, want %t: %v", r.Breaking(), c.breaking, r.Changes)
			}
		})
	}
}

func TestCompareCRDs(t *testing.T) {
	type crd = apiextensionsv1.CustomResourceDefinition
	cases := []struct {
		reason   string
		edit     func(*crd)
		want     []string
		breaking bool
	}{
		{"nothing", func(*crd) {}, nil, false},
		{"the conversion that the server fills in", func(c *crd) {
			c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		}, nil, false},
		{"labels are not the API", func(c *crd) { c.Labels = map[string]string{"a": "b"} }, nil, false},
		{"group", func(c *crd) { c.Spec.Group = "g" }, []string{"Group changed from example.com to g"}, true},
		{"scope", func(c *crd) { c.Spec.Scope = apiextensionsv1.ClusterScoped }, []string{"Scope changed from Namespaced to Cluster"}, true},
		{"kind", func(c *crd) { c.Spec.Names.Kind = "K" }, []string{"Kind changed from Thing to K"}, true},
		{"plural", func(c *crd) { c.Spec.Names.Plural = "p" }, []string{"Plural changed from things to p"}, true},
		{"singular and list kind", func(c *crd) { c.Spec.Names.Singular, c.Spec.Names.ListKind = "s", "L" },
			[]string{"Singular changed from thing to s", "List kind changed from ThingList to L"}, false},
		{"aliases", func(c *crd) { c.Spec.Names.ShortNames, c.Spec.Names.Categories = []string{"t"}, []string{"all"} },
			[]string{"Short name t was added", "Category all was added"}, false},
		{"version renamed", func(c *crd) { c.Spec.Versions[0].Name = "v2" }, []string{"Version v1 was removed", "Version v2 was added"}, true},
		{"version not served", func(c *crd) { c.Spec.Versions[0].Served = false }, []string{"Version v1 is no longer served"}, true},
		{"storage", func(c *crd) { c.Spec.Versions[0].Storage = false }, []string{"Storage in version v1 was changed from true to false"}, false},
		{"deprecation", func(c *crd) { c.Spec.Versions[0].Deprecated = true }, []string{"Deprecation of version v1 was changed"}, false},
		{"status subresource", func(c *crd) { c.Spec.Versions[0].Subresources = nil }, []string{"Status subresource was removed"}, true},
		{"scale subresource", func(c *crd) {
			c.Spec.Versions[0].Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{}
		},
			[]string{"Scale subresource was added"}, false},
		{"columns", func(c *crd) {
			c.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "A"}}
		}, []string{"Printer columns of version v1 were changed"}, false},
		{"selectable fields", func(c *crd) {
			c.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".x"}}
		},
			[]string{"Selectable fields of version v1 were changed"}, false},
		{"unknown fields of the whole CRD", func(c *crd) { c.Spec.PreserveUnknownFields = true }, []string{"Preservation of unknown fields was changed from false to true"}, false},
		{"no schema at all", func(c *crd) { c.Spec.Versions[0].Schema = nil }, []string{"Type changed from object to any"}, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			old := thing(t, object(`{type: string}`), `{type: object}`)
			next := old.DeepCopy()
			c.edit(next)
			r := Compare(old, next)
			var got []string
			for _, change := range r.Changes {
				got = append(got, change.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" || r.Breaking() != c.breaking {
				t.Errorf("Compare: breaking %t, want %t; -want +got:\n%s", r.Breaking(), c.breaking, diff)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	cases := []struct {
		reason  string
		changes []Change
		want    string
	}{
		{"none", nil, "no breaking changes"},
		{"only harmless ones", []Change{{Message: "a"}}, "no breaking changes"},
		{"harmless ones are left out", []Change{{Message: "a"}, {Path: "p", Message: "b", Breaking: true}}, "p: b"},
		{"three are told", []Change{{Message: "a", Breaking: true}, {Message: "b", Breaking: true}, {Message: "c", Breaking: true}}, "a; b; c"},
		{"more are counted", []Change{{Message: "a", Breaking: true}, {Message: "b", Breaking: true}, {Message: "c", Breaking: true}, {Message: "d", Breaking: true}, {Message: "e", Breaking: true}},
			"a; b; c; and 2 more changes"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := (Report{Changes: c.changes}).Summary(); got != c.want {
				t.Errorf("Summary = %q, want %q", got, c.want)
			}
		})
	}
}

// A keyword that a newer Kubernetes adds to schemas must be compared too, or edits of it never reach the CRD.
func TestCompareNoticesEveryKeyword(t *testing.T) {
	samples := map[string]any{
		"Type": "string", "XPreserveUnknownFields": ptr.To(true), "XListType": ptr.To("set"), "XMapType": ptr.To("atomic"), "Ref": ptr.To("#/x"),
		"Schema": apiextensionsv1.JSONSchemaURL("u"), "Default": &apiextensionsv1.JSON{Raw: []byte("1")}, "Example": &apiextensionsv1.JSON{Raw: []byte("1")},
		"Enum": []apiextensionsv1.JSON{{Raw: []byte("1")}}, "Items": &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
		"Not": &apiextensionsv1.JSONSchemaProps{Type: "string"}, "AdditionalProperties": &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true},
		"AdditionalItems": &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}, "ExternalDocs": &apiextensionsv1.ExternalDocumentation{URL: "u"},
		"Required": []string{"x"}, "XListMapKeys": []string{"x"}, "XValidations": apiextensionsv1.ValidationRules{{Rule: "true"}},
		"Dependencies": apiextensionsv1.JSONSchemaDependencies{"x": {Property: []string{"y"}}}, "Definitions": apiextensionsv1.JSONSchemaDefinitions{"x": {Type: "string"}},
		"Properties": map[string]apiextensionsv1.JSONSchemaProps{"x": {}}, "PatternProperties": map[string]apiextensionsv1.JSONSchemaProps{"x": {}},
		"AllOf": []apiextensionsv1.JSONSchemaProps{{Type: "string"}}, "AnyOf": []apiextensionsv1.JSONSchemaProps{{Type: "string"}}, "OneOf": []apiextensionsv1.JSONSchemaProps{{Type: "string"}},
	}
	keywords := reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()
	for i := range keywords.NumField() {
		name := keywords.Field(i).Name
		t.Run(name, func(t *testing.T) {
			s := apiextensionsv1.JSONSchemaProps{}
			field := reflect.ValueOf(&s).Elem().Field(i)
			sample, ok := samples[name]
			switch {
			case ok:
				field.Set(reflect.ValueOf(sample))
			case field.Kind() == reflect.String:
				field.SetString("x")
			case field.Kind() == reflect.Bool:
				field.SetBool(true)
			case field.Type() == reflect.TypeFor[*int64]():
				field.Set(reflect.ValueOf(ptr.To(int64(1))))
			case field.Type() == reflect.TypeFor[*float64]():
				field.Set(reflect.ValueOf(ptr.To(1.0)))
			default:
				t.Fatalf("no sample for %s", field.Type())
			}
			for _, pair := range [][2]*apiextensionsv1.JSONSchemaProps{{{}, &s}, {&s, {}}} {
				r := &Report{}
				r.schemas(pair[0], pair[1])
				if r.Empty() {
					t.Errorf("a change of %s is not noticed", name)
				}
			}
		})
	}
}

func TestCompareWritesNumbersAsPeopleDo(t *testing.T) {
	r := Compare(thing(t, object(`{type: number, minimum: 1000000}`), `{type: object}`), thing(t, object(`{type: number, minimum: 2500000.5}`), `{type: object}`))
	if got, want := r.Changes[0].Message, "Minimum was increased from 1000000 to 2500000.5"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

package graph

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema"
)

// want is one expected fault: its path, and pieces of its text (message and hint).
type want struct {
	path   string
	pieces []string
}

func one(path string, pieces ...string) []want { return []want{{path, pieces}} }

// expect compares the faults of a definition with the expected ones: all of them, in this order, and no others.
func expect(t *testing.T, text string, wants []want) {
	t.Helper()
	p, faults := compileText(t, text)
	if (p == nil) != (len(faults) > 0) {
		t.Fatalf("program %v beside %d faults", p != nil, len(faults))
	}
	var wanted []string
	for _, w := range wants {
		wanted = append(wanted, w.path)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Fatalf("places of faults: -want, +got:\n%s\n%s", diff, faults.Error())
	}
	for i, w := range wants {
		for _, piece := range w.pieces {
			if !strings.Contains(faults[i].Error(), piece) {
				t.Errorf("fault at %s lacks %q:\n%s", w.path, piece, faults[i].Error())
			}
		}
	}
}

type faultCase struct {
	reason string
	text   string
	wants  []want
}

func runFaults(t *testing.T, cases map[string]faultCase) {
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			expect(t, tc.text, tc.wants)
		})
	}
}

const data = "spec.resources[0].template.data.v"

func TestNameFaults(t *testing.T) {
	runFaults(t, map[string]faultCase{
		"ReservedID":  {"reserved words are no ids", resources(configMap("instance", "", "{}")), one("spec.resources[0].id", "naming convention violation: id instance is a reserved keyword in KRO")},
		"UpperID":     {"ids are lower camel case, and a bad id is still known to others", resources(configMap("Upper", "", "{}"), configMap("b", "", `{v: "${Upper.metadata.name}"}`)), one("spec.resources[0].id", "id Upper is not a valid KRO resource id: must be lower camelCase")},
		"EmptyID":     {"an id is needed", resources(`{id: "", template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`), one("spec.resources[0].id", "must be lower camelCase")},
		"DuplicateID": {"the second is told", resources(configMap("a", "", "{}"), configMap("a", "", "{}")), one("spec.resources[1].id", "found duplicate resource IDs a", "spec.resources[0] has it")},
		"Kind":        {"kinds are upper camel case", "schema: {apiVersion: v1, kind: thing}", one("spec.schema.kind", "kind 'thing' is not a valid KRO kind name: must be UpperCamelCase")},
		"Kind length": {"the CRD of a kind must fit too", "schema: {apiVersion: v1, kind: Thing" + strings.Repeat("g", 57) + "}", one("spec.schema.kind", "is too long")},
		"APIVersion":  {"a version is no group-version", "schema: {apiVersion: example.com/v1, kind: Thing}", one("spec.schema.apiVersion", `apiVersion "example.com/v1" is not a version`)},
		"Plural":      {"plurals are DNS labels", "schema: {apiVersion: v1, kind: Thing, plural: My_Things}", one("spec.schema.plural", "My_Things")},
		"Aliases":     {"so are aliases", "schema: {apiVersion: v1, kind: Thing, shortNames: [ok, Bad], categories: ['-']}", []want{{"spec.schema.shortNames[1]", []string{"Bad"}}, {"spec.schema.categories[0]", nil}}},
		"Group":       {"groups are domains", "schema: {apiVersion: v1, kind: Thing, group: local}", one("spec.schema.group", `group "local" is not a domain name`)},
		"CRDMetadata": {"what the CRD cannot carry", "schema: {apiVersion: v1, kind: Thing, metadata: {labels: {a: 'b c'}, annotations: {'-a': x}}, additionalPrinterColumns: [{name: A, type: text, jsonPath: .x}, {name: B, type: string, jsonPath: x}]}",
			[]want{{`spec.schema.metadata.labels.a`, []string{`label "a"`}}, {"spec.schema.metadata.annotations.-a", []string{"annotation"}}, {"spec.schema.additionalPrinterColumns[0]", []string{`type "text" is none of`}}, {"spec.schema.additionalPrinterColumns[1]", []string{"must start with a dot"}}}},
		"Scope":        {"two scopes exist", "schema: {apiVersion: v1, kind: Thing, scope: Galaxy}", one("spec.schema.scope", "neither Namespaced nor Cluster")},
		"IteratorName": {"iterators are no reserved words", resources(`{id: cm, forEach: [{item: "${schema.spec.l}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${item}"}}}`), one("spec.resources[0].forEach[0]", `resource "cm": forEach iterator name "item" is a reserved keyword`)},
		"IteratorCase": {"iterators are lower camel case", resources(`{id: cm, forEach: [{Vee: "${schema.spec.l}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${Vee}"}}}`), one("spec.resources[0].forEach[0]", `forEach iterator name "Vee" is not valid: must be lowerCamelCase`)},
		"IteratorHides": {"iterators hide no node", resources(`{id: cm, forEach: [{b: "${schema.spec.l}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${b}"}}}`, configMap("b", "", "{}")),
			one("spec.resources[0].forEach[0]", `forEach iterator name "b" conflicts with resource ID`)},
		"IteratorTwice": {"iterators are unique", resources(`{id: cm, forEach: [{v: "${schema.spec.l}"}, {v: "${schema.spec.l}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}}`), one("spec.resources[0].forEach[1]", `duplicate forEach iterator name "v"`)},
		"IteratorPair":  {"one iterator an entry", resources(`{id: cm, forEach: [{v: "${schema.spec.l}", w: "${schema.spec.l}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x"}}}`), one("spec.resources[0].forEach[0]", "exactly one iterator, got 2")},
	})
}

func TestShapeFaults(t *testing.T) {
	object := func(fields string) string { return resources(`{id: x, template: {` + fields + `}}`) }
	runFaults(t, map[string]faultCase{
		"NoSchema":     {"a definition without schema is refused, not followed", "resources: []", one("spec.schema", "there is no schema")},
		"NullResource": {"a null entry harms nobody else", resources("null", configMap("b", "", "{}")), one("spec.resources[0]", "the resource is null")},
		"Neither":      {"template or reference", resources("{id: x}"), one("spec.resources[0]", `failed to build resource "x": invalid combination of resource fields: resource "x": exactly one of template or externalRef must be provided`)},
		"Both": {"not both", resources(`{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`),
			one("spec.resources[0]", "cannot use externalRef with template")},
		"ForEachRef": {"a reference is no collection", resources(`{id: x, forEach: [{v: "${schema.spec.l}"}], externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}}`),
			[]want{{"spec.resources[0]", []string{"cannot use externalRef with forEach"}}, {"spec.resources[0].externalRef.metadata.name", []string{"references unknown identifiers: [v]"}}}},
		"NoObject":     {"a template is an object", resources(`{id: x, template: [1]}`), one("spec.resources[0].template", "is not a valid Kubernetes object: expected an object, got array")},
		"NoKind":       {"all that is missing is told", object("data: {}"), []want{{"spec.resources[0].template.apiVersion", []string{"apiVersion field not found"}}, {"spec.resources[0].template.kind", []string{"kind field not found"}}, {"spec.resources[0].template.metadata", []string{"metadata field not found"}}}},
		"OddTypes":     {"types are told", object("apiVersion: 1, kind: [], metadata: x"), []want{{"spec.resources[0].template.apiVersion", []string{"apiVersion field is not a string"}}, {"spec.resources[0].template.kind", []string{"kind field is not a string"}}, {"spec.resources[0].template.metadata", []string{"metadata field is not a map"}}}},
		"ComputedKind": {"kinds are literal", object(`apiVersion: v1, kind: "${schema.spec.a}", metadata: {name: a}`), one("spec.resources[0].template", "failed to extract GVK from resource x: invalid kind")},
		"Slashes":      {"group and version", object(`apiVersion: a/b/c, kind: ConfigMap, metadata: {name: a}`), one("spec.resources[0].template", `failed to extract GVK from resource x: invalid apiVersion format "a/b/c"`)},
		"BadGroup":     {"groups are domains", object(`apiVersion: A_b/v1, kind: ConfigMap, metadata: {name: a}`), one("spec.resources[0].template", "invalid apiVersion format", "group")},
		"BadKind":      {"kinds are names", object(`apiVersion: v1, kind: "Config Map", metadata: {name: a}`), one("spec.resources[0].template", `invalid kind "Config Map"`, "DNS-1035")},
		"NotStandalone": {"conditions are whole expressions", resources(configMap("cm", `includeWhen: ["${schema.spec.flag} "], readyWhen: ["cm.data != null"]`, "{}")),
			[]want{{"spec.resources[0].includeWhen[0]", []string{"failed to parse includeWhen expressions: only standalone expressions are allowed"}}, {"spec.resources[0].readyWhen[0]", []string{"failed to parse readyWhen expressions: only standalone"}}}},
		"ForEachText":  {"so are lists", resources(`{id: cm, forEach: [{v: "schema.spec.l"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}}`), one("spec.resources[0].forEach[0].v", `invalid forEach expression for dimension "v": only standalone expressions are allowed`)},
		"Unterminated": {"an expression that is never closed is an error", resources(configMap("cm", "", `{v: "a ${schema.spec.a"}`)), one(data, `at path "data.v"`, "never closed")},
		"Nested":       {"nesting is an error", resources(configMap("cm", "", `{v: "${schema.spec.a + ${schema.spec.a}}"}`)), one(data, "nested expressions are not allowed unless inside string literals")},
		"TooMany": {"dimensions are limited", resources(`{id: cm, forEach: [` + manyIterators("{v%d: \"${schema.spec.l}\"}", ", ") + `], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "` + manyIterators("${v%d}", "-") + `"}}}`),
			one("spec.resources[0].forEach", "forEach cannot have more than 10 dimensions, got 11")},
	})
}

// manyIterators repeats a piece for eleven iterators.
func manyIterators(piece, separator string) string {
	var pieces []string
	for i := range 11 {
		pieces = append(pieces, fmt.Sprintf(piece, i))
	}
	return strings.Join(pieces, separator)
}

func TestKindFaults(t *testing.T) {
	text := resources(
		`{id: ghost, includeWhen: ["${schema.spec.flag}"], template: {apiVersion: nowhere.example.com/v1, kind: Ghost, metadata: {name: a, namespace: b}, spec: {x: "${schema.spec.b}"}}}`,
		configMap("cm", "", `{v: "${ghost.status.address}", w: "${ghost.status.port.map(p, string(p)).join(',')}"}`),
		`{id: ref, externalRef: {apiVersion: v1, kind: Configmap, metadata: {name: a}}}`)
	expect(t, text, []want{
		{"spec.resources[0].template", []string{`failed to build resource "ghost": failed to get schema for resource ghost: schema not found for `}},
		{"spec.resources[0].template.spec.x", []string{"undefined field 'b'"}},
		{"spec.resources[2].externalRef", []string{"failed to get schema for resource ref: "}},
	})
	_, faults := compileText(t, text)
	wantMissing := []kschema.GroupVersionKind{{Group: "nowhere.example.com", Version: "v1", Kind: "Ghost"}, {Version: "v1", Kind: "Configmap"}}
	if diff := cmp.Diff(wantMissing, faults.Missing()); diff != "" {
		t.Errorf("missing kinds: -want, +got:\n%s", diff)
	}
	_, faults = Compile(FromDefinition("x", parse(t, resources(configMap("cm", "", "{}")))), Env{Kinds: brokenResolver{}})
	if len(faults) != 1 || !faults[0].Transient || len(faults.Missing()) != 0 {
		t.Errorf("a question that could not be answered is no missing kind: %+v", faults)
	}
	if _, faults = Compile(FromDefinition("x", parse(t, resources(configMap("cm", "", "{}")))), Env{}); len(faults.Missing()) != 1 {
		t.Errorf("without a resolver nothing is known: %+v", faults)
	}
}

type brokenResolver struct{}

func (brokenResolver) Resolve(kschema.GroupVersionKind) (*schema.Kind, error) {
	return nil, errors.New("connection refused")
}

func TestLiteralFaults(t *testing.T) {
	deployment := func(fields string) string {
		return resources(`{id: x, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, ` + fields + `}}`)
	}
	runFaults(t, map[string]faultCase{
		"Integer": {"types of literals", deployment("spec: {replicas: three}"), one("spec.resources[0].template.spec.replicas", "failed to extract CEL expressions from schema for resource x: expected integer type for path spec.replicas, got string")},
		"Boolean": {"types of literals", deployment(`spec: {paused: "yes"}`), one("spec.resources[0].template.spec.paused", "expected boolean type for path spec.paused, got string")},
		"Object":  {"types of literals", deployment("spec: {selector: text}"), one("spec.resources[0].template.spec.selector", "expected object type for path spec.selector, got string")},
		"Array":   {"types of literals", deployment("spec: {template: {spec: {containers: {name: c}}}}"), one("spec.resources[0].template.spec.template.spec.containers", "expected array type for path spec.template.spec.containers, got object")},
		"String":  {"types of literals", resources(configMap("x", "", "{v: 1, w: {x: z}}")), []want{{data, []string{"expected string type for path data.v, got integer"}}, {"spec.resources[0].template.data.w", []string{"expected string type for path data.w, got object"}}}},
		"Text":    {"text around an expression is text", deployment(`spec: {replicas: "1${schema.spec.a}"}`), one("spec.resources[0].template.spec.replicas", "expected integer type for path spec.replicas, got string")},
		"Field":   {"unknown fields, with the likely one", deployment("spec: {replica: 1}"), one("spec.resources[0].template.spec.replica", "error getting field schema for path spec.replica: schema not found for field replica", "did you mean replicas?")},
		"Deep":    {"anywhere", deployment("spec: {template: {spec: {containers: [{name: c, imagine: x}]}}}"), one("spec.resources[0].template.spec.template.spec.containers[0].imagine", "schema not found for field imagine")},
		"Root":    {"at the root", resources(`{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, datum: {v: x}}}`), one("spec.resources[0].template.datum", "path .datum: schema not found for field datum")},
		"InCRD":   {"CRDs are data", resources(`{id: x, template: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "x.${schema.spec.a}"}, spec: {group: "${schema.spec.a}", odd: [1]}}}`), one("spec.resources[0].template.spec.group", `CEL expressions in CRDs are only supported for metadata fields, found in path "spec.group", resource x`)},
	})
}

func TestLiteralsAccepted(t *testing.T) {
	mustCompile(t, resources(
		`{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: null}, data: null}}`,
		`{id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kro.run.example.com/mine: "x", app.kubernetes.io/name: "y"}}}}`,
		`{id: c, template: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {v: aGk=, x: "${b'hi'}", y: "${base64.encode(b'hi')}"}, stringData: {w: "${schema.spec.a}"}}}`,
		`{id: d, template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: "0.5", memory: 0.5}}}]}}}`,
		`{id: e, template: {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80, targetPort: web}, {port: "${schema.spec.num}", targetPort: "${schema.spec.num}"}, {port: 81, targetPort: 8081}, {port: 82, targetPort: "${schema.spec.a}"}]}}}`,
		`{id: f, template: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "x.${schema.spec.a}"}, spec: {anything: {goes: [1, {here: true}]}}}}`,
		`{id: g, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${schema.metadata.name}", labels: "${{'word': schema.spec.a}}"}, spec: {replicas: "${schema.spec.?num}", selector: "${{'matchLabels': {'w': schema.spec.a}}}", template: {metadata: {labels: "${schema.spec.m}"}, spec: {containers: [{name: a, image: "img:${schema.spec.a}", args: "${['x', schema.spec.a]}"}]}}}}}`,
	))
}

func TestIdentityFaults(t *testing.T) {
	meta := func(metadata string) string {
		return resources(`{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: ` + metadata + `}}`)
	}
	cluster := func(resource string) string {
		return "schema: {apiVersion: v1, kind: Wide, scope: Cluster, spec: {a: string}}\nresources:\n- " + resource
	}
	each := func(resource string) string {
		return resources(`{id: x, forEach: [{v: "${schema.spec.l}"}, {w: "${schema.spec.l}"}], template: ` + resource + `}`)
	}
	runFaults(t, map[string]faultCase{
		"NoName":       {"an object needs a name", meta("{}"), one("spec.resources[0].template.metadata.name", `resource "x" must set metadata.name`)},
		"GenerateName": {"which cannot be left to the server", meta("{generateName: a-}"), one("spec.resources[0].template.metadata.name", "must set metadata.name", "generateName")},
		"Label":        {"kro's labels are its own", meta(`{name: a, labels: {kro.run/mine: "x"}}`), one(`spec.resources[0].template.metadata.labels["kro.run/mine"]`, `invalid label for resource "x"`, `labels with prefix "kro.run/" are reserved for internal use`)},
		"Annotation":   {"kro's annotations are its own", meta(`{name: a, annotations: {internal.kro.run/mine: "x"}}`), one(`spec.resources[0].template.metadata.annotations["internal.kro.run/mine"]`, `invalid annotation for resource "x"`, `annotations with prefix "internal.kro.run/" are reserved for internal use`)},
		"ClusterKind":  {"cluster-scoped objects have no namespace", resources(`{id: role, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, namespace: default}}}`), one("spec.resources[0].template.metadata.namespace", `resource "role" is cluster-scoped and must not set metadata.namespace`)},
		"NoNamespace":  {"cluster-scoped instances lend none", cluster(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`), one("spec.resources[0].template.metadata.namespace", `resource "cm" is namespaced and must set metadata.namespace when the instance CRD is cluster-scoped`)},
		"Blank":        {"blank is none", cluster(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "  "}}}`), one("spec.resources[0].template.metadata.namespace", "must set metadata.namespace")},
		"Ref":          {"references too", cluster(`{id: cm, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`), one("spec.resources[0].externalRef.metadata.namespace", "must set metadata.namespace")},
		"OwnNamespace": {"a cluster-scoped instance has none", cluster(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "${schema.metadata.namespace}"}}}`), one("spec.resources[0].template.metadata.namespace", "undefined field 'namespace'")},
		"OmitName":     {"names cannot be omitted", meta(`{name: "${schema.spec.a == '' ? omit() : schema.spec.a}"}`), one("spec.resources[0].template.metadata.name", `resource "x": omit() cannot be used at path "metadata.name"`)},
		"OmitNamespace": {"nor namespaces that nothing stands in for", cluster(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "${schema.spec.a == '' ? omit() : schema.spec.a}"}}}`),
			one("spec.resources[0].template.metadata.namespace", `omit() cannot be used at path "metadata.namespace"`)},
		"Unused":      {"iterators make items distinct", each(`{apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}`), one("spec.resources[0].forEach", `node "x": all forEach dimensions must be used to produce a unique resource identity, missing: [w]`)},
		"ClusterItem": {"a namespace makes no cluster-scoped object distinct", each(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fixed, labels: {v: "${v}${w}"}}}`), one("spec.resources[0].forEach", "missing: [v w]")},
	})
	mustCompile(t, each(`{apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}", namespace: "${w}"}}`))
	mustCompile(t, meta(`{name: a, namespace: "${schema.spec.a == '' ? omit() : schema.spec.a}"}`))
	mustCompile(t, cluster(`{id: picked, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {}}}}`))
}

func TestReferenceFaults(t *testing.T) {
	ref := func(metadata string) string {
		return resources(`{id: x, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: ` + metadata + `}}`)
	}
	const at = "spec.resources[0].externalRef.metadata"
	runFaults(t, map[string]faultCase{
		"Neither":   {"name or selector", ref("{namespace: a}"), one(at, "exactly one of name or selector must be provided")},
		"Both":      {"not both", ref("{name: a, selector: {}}"), one(at, "exactly one of name or selector must be provided")},
		"Field":     {"a misspelt selector would select everything", ref("{selector: {matchLabel: {a: b}}}"), one(at+".selector.matchLabel", "schema not found for field matchLabel", "did you mean matchLabels?")},
		"Operator":  {"operators exist or not", ref("{selector: {matchExpressions: [{key: a, operator: Has}]}}"), one(at+".selector", "invalid selector", "Has")},
		"Key":       {"requirements have a key", ref("{selector: {matchExpressions: [{operator: Exists}]}}"), one(at+".selector", "need key and operator")},
		"Text":      {"text is no selector", ref("{selector: a=b}"), one(at+".selector", "only standalone expressions are allowed")},
		"List":      {"a list is no selector", ref("{selector: [a]}"), one(at+".selector", "got array")},
		"Type":      {"an expression must return one", ref(`{selector: "${schema.spec.a}"}`), one(at+".selector", `type mismatch in resource "x" at path "selector"`)},
		"LabelType": {"labels are text", ref(`{selector: {matchLabels: {a: "${schema.spec.num}"}}}`), one(at+".selector.matchLabels.a", `type mismatch in resource "x" at path "selector.matchLabels.a"`)},
		"NameType":  {"names are text", ref(`{name: "${schema.spec.num}"}`), one(at+".name", `type mismatch in resource "x" at path "name"`)},
		"NameField": {"fields exist", ref(`{name: "${schema.spec.nope}"}`), one(at+".name", "undefined field 'nope'")},
		"Omit":      {"nothing to omit here", ref(`{name: "${omit()}"}`), one(at+".name", "omit() can only be used in resource template expressions")},
		"Self":      {"not itself", ref(`{name: "${x.metadata.name}"}`), one(at+".name", "self references are not allowed")},
	})
	p := mustCompile(t, ref(`{selector: "${{'matchLabels': {'a': schema.spec.a}}}"}`))
	if !p.Nodes[0].Collection || p.Nodes[0].Kind != Selection {
		t.Errorf("a whole expression is a selector too: %+v", p.Nodes[0])
	}
}

func TestExpressionFaults(t *testing.T) {
	cm := func(value string) string { return resources(configMap("cm", "", `{v: "`+value+`"}`)) }
	each := func(list string) string {
		return resources(`{id: cm, forEach: [{v: "` + list + `"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}}`)
	}
	runFaults(t, map[string]faultCase{
		"Syntax":      {"syntax", cm("${schema.spec.a +}"), one(data, `resource "cm" at path "data.v"`, "parse error: ERROR: <input>", "Syntax error")},
		"Empty":       {"empty", cm("${}"), one(data, "parse error")},
		"Identifier":  {"unknown names, with the likely one", resources(configMap("config", "", "{}"), configMap("b", "", `{v: "${confg.metadata.name}"}`)), one("spec.resources[1].template.data.v", "references unknown identifiers: [confg]", "did you mean config?")},
		"Function":    {"unknown functions", cm("${shout(schema.spec.a)}"), one(data, "uses unknown functions", "shout")},
		"Method":      {"unknown methods", cm("${schema.spec.a.shout()}"), one(data, "shout")},
		"Field":       {"unknown fields", cm("${schema.spec.b}"), one(data, `failed to validate resource "cm": failed to compile template expression "schema.spec.b" at path "data.v": ERROR: <input>:1:12: undefined field 'b'`)},
		"Status":      {"no status of its own", cm("${schema.status.state}"), one(data, "undefined field 'status'")},
		"Child":       {"fields of others", resources(configMap("one", "", "{}"), configMap("two", "", `{v: "${one.spec.x}"}`)), one("spec.resources[1].template.data.v", "undefined field 'spec'")},
		"Self":        {"not itself", cm("${cm.metadata.name}"), one(data, "self references are not allowed")},
		"Each":        {"each is for readyWhen", cm("${each.metadata.name}"), one(data, "references unknown identifiers: [each]", "node each does not exist")},
		"Runtime":     {"runtime is for conditions", cm("${runtime.condition(schema, 'Ready').status}"), one(data, "runtime is only available in status.conditions expressions")},
		"Optional":    {"comparisons of optionals", cm("${schema.spec.?num > 0 ? 'a' : 'b'}"), one(data, "found no matching overload", ".orValue(")},
		"Joined":      {"text joins text", cm("x-${schema.spec.num}"), one(data, "found no matching overload for '_+_'", "string(")},
		"IntString":   {"types fit", cm("${schema.spec.num}"), one(data, `type mismatch in resource "cm" at path "data.v": expression "schema.spec.num" returns type "int" but expected "string"`, "string(")},
		"TwoInts":     {"two integers side by side are a sum", cm("${schema.spec.num}${schema.spec.num}"), one(data, `returns type "int" but expected "string"`)},
		"Null":        {"null is no text", cm("${null}"), one(data, `type mismatch in resource "cm" at path "data.v"`)},
		"MapValues":   {"values of maps", resources(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: "${{'a': 1}}"}}`), one("spec.resources[0].template.data", "map value type incompatible")},
		"ReadyOther":  {"readyWhen looks at its own", resources(configMap("one", "", "{}"), configMap("two", `readyWhen: ["${one.metadata.name != ''}"]`, "{}")), one("spec.resources[1].readyWhen[0]", `resource "two" readyWhen: references unknown identifiers: [one]`)},
		"ReadySchema": {"not at schema", resources(configMap("cm", `readyWhen: ["${schema.spec.flag}"]`, "{}")), one("spec.resources[0].readyWhen[0]", "readyWhen", "references unknown identifiers: [schema]")},
		"ReadyEach":   {"each needs a collection", resources(configMap("cm", `readyWhen: ["${each.metadata.name != ''}"]`, "{}")), one("spec.resources[0].readyWhen[0]", "references unknown identifiers: [each]")},
		"ReadyItem":   {"a collection's items are each", resources(`{id: cm, forEach: [{v: "${schema.spec.l}"}], readyWhen: ["${cm.all(c, true)}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}}`), one("spec.resources[0].readyWhen[0]", "references unknown identifiers: [cm]", "as each")},
		"ReadyBool":   {"conditions are bool", resources(configMap("cm", `readyWhen: ["${cm.metadata.name}"]`, "{}")), one("spec.resources[0].readyWhen[0]", `readyWhen expression "cm.metadata.name" in resource "cm" must return bool or optional_type(bool), but returns "string"`)},
		"ReadyOmit":   {"nothing to omit", resources(configMap("cm", `readyWhen: ["${cm.metadata.name == 'x' ? omit() : true}"]`, "{}")), one("spec.resources[0].readyWhen[0]", "omit() can only be used in resource template expressions")},
		"IncludeBool": {"conditions are bool", resources(configMap("cm", `includeWhen: ["${schema.spec.num}"]`, "{}")), one("spec.resources[0].includeWhen[0]", "must return bool or optional_type(bool), but returns \"int\"")},
		"IncludeDyn":  {"and known to be", resources(configMap("cm", `includeWhen: ["${schema.spec.o.flag}"]`, "{}")), one("spec.resources[0].includeWhen[0]", "must return bool or optional_type(bool), but returns \"dyn\"")},
		"IncludeSelf": {"not itself", resources(configMap("cm", `includeWhen: ["${cm.metadata.name == ''}"]`, "{}")), one("spec.resources[0].includeWhen[0]", "self references are not allowed")},
		"IncludeName": {"unknown names", resources(configMap("cm", `includeWhen: ["${other}"]`, "{}")), one("spec.resources[0].includeWhen[0]", `resource "cm" includeWhen: references unknown identifiers: [other]`)},
		"EachString":  {"lists", each("${schema.spec.a}"), one("spec.resources[0].forEach[0].v", `node "cm": forEach iterator "v" must return a list, got "string"`)},
		"EachMap":     {"no maps", each("${schema.spec.m}"), one("spec.resources[0].forEach[0].v", "must return a list", "sort()")},
		"EachDyn":     {"no unknown things", each("${schema.spec.o.x}"), one("spec.resources[0].forEach[0].v", "must return a list")},
		"EachOpt":     {"no optional lists", each("${schema.spec.?l}"), one("spec.resources[0].forEach[0].v", "must return a list", "orValue([])")},
		"EachOmit":    {"nothing to omit", each("${omit()}"), one("spec.resources[0].forEach[0].v", "omit() can only be used in resource template expressions")},
		"EachSelf":    {"not itself", each("${cm.map(c, c.metadata.name)}"), one("spec.resources[0].forEach[0].v", "self references are not allowed")},
		"Siblings": {"iterators are independent", resources(`{id: cm, forEach: [{v: "${schema.spec.l}"}, {w: "${[v]}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}-${w}"}}}`),
			one("spec.resources[0].forEach[1].w", `node "cm": forEach iterator "w" cannot reference other iterators [v] - forEach iterators are independent (cartesian product)`)},
		"ItemType": {"iterators are typed", resources(`{id: cm, forEach: [{v: "${lists.range(3)}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}}}`), one("spec.resources[0].template.metadata.name", "found no matching overload")},
	})
}

func TestCycleFaults(t *testing.T) {
	runFaults(t, map[string]faultCase{
		"Three": {"the way round is told", resources(configMap("one", "", `{v: "${three.metadata.name}"}`), configMap("two", "", `{v: "${one.metadata.name}"}`), configMap("three", "", `{v: "${two.metadata.name}"}`)),
			one("spec.resources[0]", "graph contains a cycle: one -> three -> two -> one")},
		"Include": {"conditions are edges", resources(configMap("one", `includeWhen: ["${two.metadata.name == 'x'}"]`, "{}"), configMap("two", "", `{v: "${one.metadata.name}"}`)),
			one("spec.resources[0]", "graph contains a cycle: one -> two -> one")},
		"AndMore": {"a cycle hides no other fault", resources(configMap("one", "", `{v: "${two.metadata.name}"}`), configMap("two", "", `{v: "${one.metadata.name}", w: "${schema.spec.nope}"}`)),
			[]want{{"spec.resources[0]", []string{"cycle"}}, {"spec.resources[1].template.data.w", []string{"nope"}}}},
	})
}

func TestStatusFaults(t *testing.T) {
	runFaults(t, map[string]faultCase{
		"Literal":   {"a literal is no status, of whatever type", withStatus(`{phase: ready, count: 3, x: {deep: [{v: "${cm.metadata.name}"}, {v: plain}]}}`), []want{{"spec.schema.status.count", []string{"status fields without expressions are not supported: [count]"}}, {"spec.schema.status.phase", []string{"[phase]"}}, {"spec.schema.status.x.deep[1].v", []string{"[x.deep[1].v]"}}}},
		"Alone":     {"an expression looks at something", withStatus(`{who: "${'nobody'}"}`), one("spec.schema.status.who", "instance status field must refer to a resource or schema: status.who")},
		"Unknown":   {"names", withStatus(`{who: "${cn.metadata.name}"}`), one("spec.schema.status.who", `status field "who" expression "cn.metadata.name": references unknown identifiers: [cn]`)},
		"Field":     {"fields", withStatus(`{who: "${cm.spec.name}"}`), one("spec.schema.status.who", `failed to type-check status expression "cm.spec.name" at path "who": `, "undefined field 'spec'")},
		"Joined":    {"text joins text", withStatus(`{who: "n=${cm.metadata.generation}"}`), one("spec.schema.status.who", "found no matching overload")},
		"Own":       {"not its own status", withStatus(`{who: "${schema.status.state}"}`), one("spec.schema.status.who", "undefined field 'status'")},
		"Omit":      {"nothing to omit", withStatus(`{who: "${omit()}"}`), one("spec.schema.status.who", "omit() can only be used in resource template expressions")},
		"Open":      {"never closed", withStatus(`{who: "${cm"}`), one("spec.schema.status.who", "never closed")},
		"List":      {"status is a map", withStatus(`[a]`), one("spec.schema.status", "failed to unmarshal status schema: expected an object, got array")},
		"Mixed":     {"a list has one type", withStatus(`{parts: ["${cm.metadata.name}", "${size(cm.data)}"]}`), one("spec.schema.status.parts[1]", `list "parts"`, "is integer where string came before")},
		"MixedDeep": {"also inside", withStatus(`{parts: [{a: "${cm.metadata.name}"}, {a: "${size(cm.data)}"}]}`), one("spec.schema.status.parts[1]", `field "a" is integer where string came before`)},
		"State":     {"state is a string of kro's", withStatus(`{state: "${size(cm.data)}"}`), one("spec.schema.status.state", "status.state is written by kro")},
	})
}

func TestConditionFaults(t *testing.T) {
	conditions := func(entries string) string { return withStatus(`{conditions: ` + entries + `}`) }
	first := "spec.schema.status.conditions[0]"
	runFaults(t, map[string]faultCase{
		"Map":      {"a list", conditions(`{a: "${cm.metadata.name}"}`), one("spec.schema.status.conditions", "status.conditions must be a list, got object")},
		"Item":     {"of text", conditions(`[{a: b}]`), one(first, "status.conditions[0] must be a CEL expression string, got object")},
		"Text":     {"of expressions", conditions(`["text"]`), one(first, "only standalone expressions are allowed")},
		"String":   {"of conditions", conditions(`["${cm.metadata.name}"]`), one(first, `condition expressions must return runtime.newCondition(...) or a list of them, got "string"`)},
		"Literal":  {"a map", conditions(`["${runtime.newCondition(cm)}"]`), one(first, "argument must be a map literal")},
		"Quoted":   {"of bare keys", conditions(`["${runtime.newCondition({'type': 'Up', 'status': 'True'})}"]`), one(first, "keys must be bare identifiers")},
		"Unknown":  {"that exist", conditions(`["${runtime.newCondition({type: 'Up', status: 'True', color: 'red'})}"]`), one(first, `unknown key "color"`)},
		"NoType":   {"with a type", conditions(`["${runtime.newCondition({status: 'True'})}"]`), one(first, "'type' is required")},
		"Status":   {"of three", conditions(`["${runtime.newCondition({type: 'Up', status: 'Maybe'})}"]`), one(first, `status must be one of True, False, Unknown (got "Maybe")`)},
		"Empty":    {"and a name", conditions(`["${runtime.newCondition({type: '', status: 'True'})}"]`), one(first, "type must not be empty")},
		"Twice":    {"declared once", conditions(`["${runtime.newCondition({type: 'Up', status: 'True'})}", "${runtime.newCondition({type: 'Up', status: 'True'})}"]`), one("spec.schema.status.conditions[1]", `condition type "Up" is declared by more than one conditions entry`)},
		"Each":     {"not reading each other", conditions(`["${runtime.newCondition({type: 'Up', status: 'True'})}", "${runtime.newCondition({type: 'Two', status: runtime.condition(schema, 'Up').status})}"]`), one("spec.schema.status.conditions[1]", `runtime.condition(schema, "Up"): custom conditions cannot reference each other`)},
		"Stranger": {"only kro's", conditions(`["${runtime.newCondition({type: 'Two', status: runtime.condition(schema, 'Nope').status})}"]`), one(first, `runtime.condition(schema, "Nope"): unknown condition type`)},
		"Field":    {"fields exist", conditions(`["${runtime.newCondition({type: 'Two', status: runtime.condition(schema, 'Ready').colour})}"]`), one(first, "colour")},
		"Omit":     {"nothing to omit", conditions(`["${omit()}"]`), one(first, "omit() can only be used in resource template expressions")},
		"Names":    {"names exist", conditions(`["${runtime.newCondition({type: nope, status: 'True'})}"]`), one(first, "references unknown identifiers: [nope]")},
	})
	p := mustCompile(t, conditions(`["${runtime.newCondition({type: 'Ready', status: runtime.condition(schema, 'ResourcesReady').status, reason: 'Own', message: cm.metadata.name})}", "${[runtime.newCondition({type: 'A', status: 'True'}), runtime.newCondition({type: 'B', status: schema.spec.a})]}"]`))
	if !p.HasConditions || len(p.Conditions) != 2 {
		t.Errorf("conditions: %v %d", p.HasConditions, len(p.Conditions))
	}
	if p = mustCompile(t, conditions(`[]`)); !p.HasConditions || len(p.Conditions) != 0 {
		t.Errorf("an empty list is declared all the same: %v %d", p.HasConditions, len(p.Conditions))
	}
}

// TestAllFaultsAtOnce: every fault is told once, in the order of the document, and none that only follows from another.
func TestAllFaultsAtOnce(t *testing.T) {
	text := strings.TrimRight(head, "\n") + `
  status:
    who: "${third.metadata.name}"
    conditions: ["${ghost.x}"]
resources:
- ` + strings.Join([]string{
		configMap("first", "", `{v: "${schema.spec.missing}", w: 3}`),
		configMap("fine", "", `{v: "${first.data.v}"}`),
		configMap("third", `includeWhen: ["${schema.spec.a}"], readyWhen: ["${fine.data.x}"]`, `{v: "${nobody}"}`),
		`{id: fourth, template: {apiVersion: x.example.com/v1, kind: Ghost, metadata: {}}}`,
	}, "\n- ")
	expect(t, text, []want{
		{"spec.schema.status.conditions[0]", []string{"ghost"}},
		{"spec.resources[0].template.data.v", []string{"missing"}},
		{"spec.resources[0].template.data.w", []string{"got integer"}},
		{"spec.resources[2].includeWhen[0]", []string{"includeWhen"}},
		{"spec.resources[2].template.data.v", []string{"nobody"}},
		{"spec.resources[2].readyWhen[0]", []string{"[fine]"}},
		{"spec.resources[3].template", []string{"Ghost"}},
		{"spec.resources[3].template.metadata.name", []string{"metadata.name"}},
	})
}

func TestSimpleSchemaFaults(t *testing.T) {
	runFaults(t, map[string]faultCase{
		"Field": {"faults of the spec have a path, and what follows from them is not told",
			"schema: {apiVersion: v1, kind: Thing, spec: {x: double, q: {z: 3}}}\nresources:\n- " + configMap("cm", "", `{v: "${string(schema.spec.x)}", w: "${schema.spec.no}"}`),
			[]want{{"spec.schema.spec.q.z", nil}, {"spec.schema.spec.x", []string{"failed to build OpenAPI schema for instance", "unknown type: double", "float"}}, {"spec.resources[0].template.data.w", []string{"undefined field 'no'"}}}},
		"NotAMap": {"the spec is a map", "schema: {apiVersion: v1, kind: Thing, spec: [a]}\nresources:\n- " + configMap("cm", "", `{v: "${schema.spec.x}"}`), one("spec.schema.spec", "expected an object, got array")},
	})
}

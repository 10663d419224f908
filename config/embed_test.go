package config

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// admission does with objects of one kind what the API server does.
type admission struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

func admissionOf(t *testing.T, name string) *admission {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	for _, crd := range crds {
		if crd.Name != name {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			t.Fatalf("converting the schema of %s: %v", name, err)
		}
		s, err := structuralschema.NewStructural(&internal)
		if err != nil {
			t.Fatalf("schema of %s: %v", name, err)
		}
		if errs := structuralschema.ValidateStructural(nil, s); len(errs) > 0 {
			t.Fatalf("schema of %s is not structural: %v", name, errs)
		}
		return &admission{
			structural: s,
			openAPI:    validation.NewSchemaValidatorFromOpenAPI(s.ToKubeOpenAPI()),
			rules:      cel.NewValidator(s, true, celconfig.PerCallLimit),
		}
	}
	t.Fatalf("no CRD %s", name)
	return nil
}

// refusals admits an object in YAML, as an update of another when there is one, and gives what is wrong with it.
func (a *admission) refusals(t *testing.T, text, oldText string) (map[string]any, []string) {
	t.Helper()
	object, old := a.read(t, text), a.read(t, oldText)
	var texts []string
	for _, err := range validation.ValidateCustomResource(nil, object, a.openAPI) {
		texts = append(texts, err.Error())
	}
	for _, err := range listtype.ValidateListSetsAndMaps(nil, a.structural, object) {
		texts = append(texts, err.Error())
	}
	var oldValue any
	if oldText != "" {
		oldValue = old
	}
	errs, _ := a.rules.Validate(context.Background(), nil, a.structural, object, oldValue, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return object, texts
}

func (a *admission) read(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("test object: %v", err)
	}
	if object == nil {
		return nil
	}
	pruning.Prune(object, a.structural, true)
	defaulting.Default(object, a.structural)
	return object
}

func definition(schema, rest string) string {
	return "{apiVersion: kro.run/v1alpha1, kind: ResourceGraphDefinition, metadata: {name: x}, spec: {schema: " + schema + rest + "}}"
}

func TestDefinitionsThatAreRefused(t *testing.T) {
	const good = `{apiVersion: v1alpha1, kind: Thing}`
	resource := func(text string) string { return definition(good, ", resources: ["+text+"]") }
	reference := func(metadata string) string {
		return resource("{id: a, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: " + metadata + "}}")
	}
	long := strings.Repeat("a", 64)
	cases := []struct {
		reason, object, want string
	}{
		{"no spec", `{apiVersion: kro.run/v1alpha1, kind: ResourceGraphDefinition, metadata: {name: x}}`, "spec is required"},
		{"empty spec", `{apiVersion: kro.run/v1alpha1, kind: ResourceGraphDefinition, metadata: {name: x}, spec: {}}`, "spec.schema: Required"},
		{"no kind", definition(`{apiVersion: v1alpha1}`, ""), "spec.schema.kind: Required"},
		{"no version", definition(`{kind: Thing}`, ""), "spec.schema.apiVersion: Required"},
		{"lower-case kind", definition(`{apiVersion: v1alpha1, kind: thing}`, ""), "spec.schema.kind"},
		{"kind with a dash", definition(`{apiVersion: v1alpha1, kind: With-Dash}`, ""), "spec.schema.kind"},
		{"kind of 64 letters", definition(`{apiVersion: v1alpha1, kind: K`+long[:63]+`}`, ""), "spec.schema.kind"},
		{"version with group", definition(`{apiVersion: example.com/v1, kind: Thing}`, ""), "spec.schema.apiVersion"},
		{"odd version", definition(`{apiVersion: v1gamma1, kind: Thing}`, ""), "spec.schema.apiVersion"},
		{"unknown scope", definition(`{apiVersion: v1alpha1, kind: Thing, scope: Global}`, ""), "spec.schema.scope"},
		{"odd plural", definition(`{apiVersion: v1alpha1, kind: Thing, plural: Things}`, ""), "spec.schema.plural"},
		{"empty plural", definition(`{apiVersion: v1alpha1, kind: Thing, plural: ""}`, ""), "spec.schema.plural"},
		{"long plural", definition(`{apiVersion: v1alpha1, kind: Thing, plural: `+long+`}`, ""), "spec.schema.plural"},
		{"a column without a type", definition(`{apiVersion: v1alpha1, kind: Thing, additionalPrinterColumns: [{name: A, jsonPath: .spec.a}]}`, ""), "type: Required"},
		{"a short name twice", definition(`{apiVersion: v1alpha1, kind: Thing, shortNames: [dup, dup]}`, ""), "Duplicate value"},
		{"an empty category", definition(`{apiVersion: v1alpha1, kind: Thing, categories: [""]}`, ""), "spec.schema.categories"},
		{"a short name that ends in a dash", definition(`{apiVersion: v1alpha1, kind: Thing, shortNames: [ends-]}`, ""), "spec.schema.shortNames"},
		{"33 short names", definition(`{apiVersion: v1alpha1, kind: Thing, shortNames: [a`+strings.Repeat("a,a", 32)+`]}`, ""), "spec.schema.shortNames"},
		{"no id", resource(`{template: {}}`), "id: Required"},
		{"neither template nor reference", resource(`{id: a}`), "exactly one of template or externalRef must be provided"},
		{"template and reference", resource(`{id: a, template: {}, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}`), "exactly one of template or externalRef must be provided"},
		{"reference without kind", resource(`{id: a, externalRef: {apiVersion: v1, metadata: {name: x}}}`), "kind: Required"},
		{"reference to nothing", reference(`{}`), "metadata"},
		{"reference to a namespace only", reference(`{namespace: x}`), "metadata"},
		{"reference with an empty name", reference(`{name: ""}`), "name"},
		{"name and selector", reference(`{name: x, selector: {}}`), "metadata"},
		{"a requirement without operator", reference(`{selector: {matchExpressions: [{key: a}]}}`), "operator: Required"},
		{"a label that is no text", reference(`{selector: {matchLabels: {a: 1}}}`), "matchLabels.a"},
		{"a template and values", resource(`{id: a, template: {}, def: {}}`), "exactly one of template or externalRef must be provided"},
		{"values and a patch", resource(`{id: a, patch: {}, def: {}}`), "exactly one of template or externalRef must be provided"},
		{"values that are no object", resource(`{id: a, def: [1]}`), "def"},
		{"an unknown deletion policy", resource(`{id: a, template: {}, deletionPolicy: Retain}`), "deletionPolicy"},
		{"a deletion policy of a reference", resource(`{id: a, deletionPolicy: Orphaned, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}`), "belong to a template"},
		{"external fields of a patch", resource(`{id: a, externalFields: [a.b], patch: {}}`), "belong to a template"},
		{"an external field twice", resource(`{id: a, externalFields: [a.b, a.b], template: {}}`), "Duplicate value"},
		{"two iterators in one entry", resource(`{id: a, template: {}, forEach: [{a: "${[1]}", b: "${[2]}"}]}`), "forEach"},
		{"an empty iterator", resource(`{id: a, template: {}, forEach: [{}]}`), "forEach"},
	}
	a := admissionOf(t, "resourcegraphdefinitions.kro.run")
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if _, got := a.refusals(t, c.object, ""); !strings.Contains(strings.Join(got, "\n"), c.want) {
				t.Errorf("refusals %q, want one with %q", got, c.want)
			}
		})
	}
}

func TestDefinitionsThatAreAccepted(t *testing.T) {
	a := admissionOf(t, "resourcegraphdefinitions.kro.run")
	text := definition(`{apiVersion: v10beta11, kind: ABC9, plural: abc-nines, shortNames: [th, thi-ng], spec: {a: string}}`, `, resources: [
  {id: one, template: {a: {b: c}}},
  {id: two, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}},
  {id: three, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {}}}},
  {id: four, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: "${schema.spec.selector}"}}},
  {id: five, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, selector: {matchLabels: {a: b}, matchExpressions: [{key: k, operator: In, values: [v]}]}}}},
  {id: six, def: {a: [1, {b: "${schema.spec.a}"}]}},
  {id: seven, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}},
  {id: eight, template: {a: {b: c}}, deletionPolicy: Orphaned, externalFields: [a.b]}]`)
	object, got := a.refusals(t, text, "")
	if len(got) > 0 {
		t.Fatalf("refusals: %q", got)
	}
	schema := object["spec"].(map[string]any)["schema"].(map[string]any)
	if schema["group"] != "kro.run" || schema["scope"] != "Namespaced" {
		t.Errorf("defaults: group %v, scope %v", schema["group"], schema["scope"])
	}
	selector := object["spec"].(map[string]any)["resources"].([]any)[3].(map[string]any)["externalRef"].(map[string]any)["metadata"].(map[string]any)["selector"]
	if selector != "${schema.spec.selector}" {
		t.Errorf("selector %v", selector)
	}
}

func TestWhatCannotBeChanged(t *testing.T) {
	a := admissionOf(t, "resourcegraphdefinitions.kro.run")
	const before = `{apiVersion: v1alpha1, kind: Thing, group: g.example.com, plural: things, spec: {a: string}}`
	const none = `{apiVersion: kro.run/v1alpha1, kind: ResourceGraphDefinition, metadata: {name: x}}`
	cases := []struct {
		reason, old, next, want string
	}{
		{"kind", definition(before, ""), definition(strings.Replace(before, "Thing", "Other", 1), ""), "kind is immutable"},
		{"version", definition(before, ""), definition(strings.Replace(before, "v1alpha1", "v1", 1), ""), "apiVersion is immutable"},
		{"group", definition(before, ""), definition(strings.Replace(before, "g.example", "h.example", 1), ""), "group is immutable"},
		{"scope", definition(before, ""), definition(strings.Replace(before, "kind:", "scope: Cluster, kind:", 1), ""), "scope is immutable"},
		{"plural", definition(before, ""), definition(strings.Replace(before, "things", "thingies", 1), ""), "plural is immutable"},
		{"plural taken away", definition(before, ""), definition(strings.Replace(before, "plural: things,", "", 1), ""), "plural is immutable"},
		{"spec taken away", definition(before, ""), none, "spec is required"},
		{"anything else may change", definition(before, ""), definition(strings.Replace(before, "a: string", "b: integer", 1), ", resources: []"), ""},
		{"a definition that other releases let in without spec can be edited, so that it can lose its finalizer", none, none, ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			_, got := a.refusals(t, c.next, c.old)
			if joined := strings.Join(got, "\n"); !strings.Contains(joined, c.want) || (c.want == "") != (joined == "") {
				t.Errorf("refusals %q, want one with %q", got, c.want)
			}
		})
	}
}

func graphOf(spec string) string {
	return "{apiVersion: kro.run/v1alpha1, kind: Graph, metadata: {name: x, namespace: y}, spec: " + spec + "}"
}

func TestGraphsThatAreRefused(t *testing.T) {
	node := func(text string) string { return graphOf("{nodes: [" + text + "]}") }
	const oneOf = "exactly one of template, ref, def, graph, patch must be set"
	cases := []struct {
		reason, object, want string
	}{
		{"no spec", `{apiVersion: kro.run/v1alpha1, kind: Graph, metadata: {name: x}}`, "spec: Required"},
		{"no nodes", graphOf("{}"), "spec.nodes: Required"},
		{"an empty list of nodes", graphOf("{nodes: []}"), "spec.nodes"},
		{"two nodes of one id", node(`{id: a, def: {}}, {id: a, def: {}}`), "Duplicate value"},
		{"no id", node(`{def: {}}`), "id: Required"},
		{"an id with a dash", node(`{id: a-b, def: {}}`), "id"},
		{"an id that starts with a digit", node(`{id: 1a, def: {}}`), "id"},
		{"nothing", node(`{id: a}`), oneOf},
		{"two things", node(`{id: a, def: {}, template: {}}`), oneOf},
		{"an inline graph and a patch", node(`{id: a, graph: {}, patch: {}}`), oneOf},
		{"ref and watch", node(`{id: a, ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}, watch: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {}}}}`), oneOf},
		{"a reference to nothing", node(`{id: a, ref: {apiVersion: v1, kind: ConfigMap, metadata: {}}}`), "metadata"},
		{"a name and a selector", node(`{id: a, ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, selector: {}}}}`), "metadata"},
		{"external fields of values", node(`{id: a, externalFields: [a], def: {}}`), "belong to a template"},
		{"two iterators in one entry", node(`{id: a, template: {}, forEach: [{a: "${[1]}", b: "${[2]}"}]}`), "forEach"},
		{"an odd account", graphOf(`{serviceAccountName: Odd_Name, nodes: [{id: a, def: {}}]}`), "serviceAccountName"},
	}
	a := admissionOf(t, "graphs.kro.run")
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if _, got := a.refusals(t, c.object, ""); !strings.Contains(strings.Join(got, "\n"), c.want) {
				t.Errorf("refusals %q, want one with %q", got, c.want)
			}
		})
	}
}

func TestGraphsThatAreAccepted(t *testing.T) {
	a := admissionOf(t, "graphs.kro.run")
	object, got := a.refusals(t, graphOf(`{serviceAccountName: my.account-1, nodes: [
  {id: Upper, template: {apiVersion: "${a.b}", kind: x, extra: {kept: [1]}}, deletionPolicy: Delete, externalFields: [a.b, c]},
  {id: r, ref: {apiVersion: v1, kind: ConfigMap, metadata: {selector: "${x}"}}},
  {id: w, watch: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {}}}},
  {id: d, def: {a: 1}, forEach: [{x: "${[1]}"}], includeWhen: ["${true}"], readyWhen: ["${d.size() > 0}"]},
  {id: g, graph: {nodes: [{id: a, def: {b: c}}]}},
  {id: p, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}}]}`), "")
	if len(got) > 0 {
		t.Fatalf("refusals: %q", got)
	}
	nodes := object["spec"].(map[string]any)["nodes"].([]any)
	if inner := nodes[4].(map[string]any)["graph"].(map[string]any)["nodes"]; inner == nil {
		t.Error("the nodes of an inline graph are pruned")
	}
	if extra := nodes[0].(map[string]any)["template"].(map[string]any)["extra"]; extra == nil {
		t.Error("fields of a template are pruned")
	}
}

func TestConditionsAreAMapByType(t *testing.T) {
	a := admissionOf(t, "resourcegraphdefinitions.kro.run")
	text := definition(`{apiVersion: v1, kind: Thing}`, "")
	text = strings.TrimSuffix(text, "}") + `, status: {conditions: [{type: Ready, status: "True"}, {type: Ready, status: "False"}]}}`
	if _, got := a.refusals(t, text, ""); !strings.Contains(strings.Join(got, "\n"), "Duplicate value") {
		t.Errorf("refusals %q", got)
	}
}

func TestRevisions(t *testing.T) {
	a := admissionOf(t, "graphrevisions.internal.kro.run")
	revision := func(number, kind string) string {
		return `{apiVersion: internal.kro.run/v1alpha1, kind: GraphRevision, metadata: {name: x}, spec: {revision: ` + number +
			`, snapshot: {name: x, generation: 1, spec: {schema: {apiVersion: v1, kind: ` + kind + `}}}}}`
	}
	cases := []struct {
		reason, old, next, want string
	}{
		{"a good one", "", revision("1", "Thing"), ""},
		{"number zero", "", revision("0", "Thing"), "spec.revision"},
		{"a snapshot that is refused as a definition", "", revision("1", "thing"), "spec.snapshot.spec.schema.kind"},
		{"another number", revision("1", "Thing"), revision("2", "Thing"), "spec is immutable"},
		{"another snapshot", revision("1", "Thing"), revision("1", "Other"), "spec is immutable"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			_, got := a.refusals(t, c.next, c.old)
			if joined := strings.Join(got, "\n"); !strings.Contains(joined, c.want) || (c.want == "") != (joined == "") {
				t.Errorf("refusals %q, want one with %q", got, c.want)
			}
		})
	}
}

func TestCRDsAsInstalled(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	var names []string
	for _, crd := range crds {
		names = append(names, crd.Name)
		v := crd.Spec.Versions[0]
		scope := apiextensionsv1.ClusterScoped
		if crd.Name == "graphs.kro.run" {
			scope = apiextensionsv1.NamespaceScoped
		}
		if len(crd.Spec.Versions) != 1 || !v.Served || !v.Storage || v.Subresources == nil || v.Subresources.Status == nil || crd.Spec.Scope != scope {
			t.Errorf("%s: versions %v, scope %s", crd.Name, crd.Spec.Versions, crd.Spec.Scope)
		}
		if crd.Annotations["controller-gen.kubebuilder.io/version"] != "v0.21.0" {
			t.Errorf("%s: annotations %v", crd.Name, crd.Annotations)
		}
	}
	if got := strings.Join(names, " "); got != "graphrevisions.internal.kro.run graphs.kro.run resourcegraphdefinitions.kro.run" {
		t.Errorf("CRDs: %s", got)
	}
	if fields := crds[0].Spec.Versions[0].SelectableFields; len(fields) != 1 || fields[0].JSONPath != ".spec.snapshot.name" {
		t.Errorf("selectable fields %v", fields)
	}
}

package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema"
)

func TestCompileGraph(t *testing.T) {
	p := mustCompile(t, resources(
		configMap("last", "", `{v: "${first.metadata.name}", w: "${middle.metadata.name}", x: "${first.metadata.uid}"}`),
		configMap("first", `readyWhen: ["${first.metadata.name != ''}"]`, `{a: b}`),
		configMap("middle", `includeWhen: ["${first.data.a == 'b'}", "${schema.spec.flag}"]`, `{v: "${schema.spec.a}"}`),
		`{id: each1, forEach: [{x: "${schema.spec.l}"}, {i: "${lists.range(2)}"}], readyWhen: ["${each.metadata.name != ''}"], template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${x}-${string(i)}"}, spec: {replicas: "${i}", selector: {matchLabels: {x: "${x}"}}, template: {metadata: {labels: {x: "${x}"}}}}}}`,
		`{id: one, externalRef: {apiVersion: v1, kind: Secret, metadata: {name: "${middle.metadata.name}", namespace: other}}}`,
		`{id: many, readyWhen: ["${each.metadata.name != ''}", "${size(many) > 0}"], externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {matchLabels: {a: "${schema.spec.a}"}}}}}`,
	))
	type node struct {
		Kind                                   NodeKind
		Resource                               string
		Collection                             bool
		ForEach, IncludeWhen, ReadyWhen        int
		Dependencies, IncludeDeps, Dependents_ []string
		ApplyOrder                             int
	}
	got := map[string]node{}
	for i, n := range p.Nodes {
		if n.Index != i {
			t.Errorf("node %s has index %d at %d", n.ID, n.Index, i)
		}
		got[n.ID] = node{n.Kind, n.Resource.Resource, n.Collection, len(n.ForEach), len(n.IncludeWhen), len(n.ReadyWhen),
			ids(p, n.Dependencies), ids(p, n.IncludeDependencies), ids(p, n.Dependents), n.ApplyOrder}
	}
	none := []string{}
	want := map[string]node{
		"last":   {Template, "configmaps", false, 0, 0, 0, []string{"first", "middle"}, none, none, 3},
		"first":  {Template, "configmaps", false, 0, 0, 1, none, none, []string{"last", "middle"}, 1},
		"middle": {Template, "configmaps", false, 0, 2, 0, []string{"first"}, []string{"first"}, []string{"last", "one"}, 2},
		"each1":  {Template, "deployments", true, 2, 0, 1, none, none, none, 3},
		"one":    {Reference, "secrets", false, 0, 0, 0, []string{"middle"}, none, none, 3},
		"many":   {Selection, "configmaps", true, 0, 0, 2, none, none, none, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"first", "middle", "last", "each1", "one", "many"}, ids(p, p.Order)); diff != "" {
		t.Errorf("order: -want, +got:\n%s", diff)
	}
	if p.Layers != 3 {
		t.Errorf("layers: got %d, want 3", p.Layers)
	}
	wantKinds := []kschema.GroupKind{{Kind: "ConfigMap"}, {Group: "apps", Kind: "Deployment"}}
	if diff := cmp.Diff(wantKinds, p.GroupKinds); diff != "" {
		t.Errorf("group-kinds are those of templates only: -want, +got:\n%s", diff)
	}
	if len(p.Kinds) != 3 || p.Kinds[kschema.GroupVersionKind{Version: "v1", Kind: "Secret"}] == "" {
		t.Errorf("kinds with fingerprints: %v", p.Kinds)
	}
	if p.Node("one").Ref.Name == nil || p.Node("one").Ref.Namespace == nil || p.Node("many").Ref.Selector == nil {
		t.Error("references have lost their parts")
	}
}

func TestCompileCRD(t *testing.T) {
	p := mustCompile(t, `
schema:
  apiVersion: v1beta2
  kind: Policy
  group: acme.example.com
  shortNames: [pol]
  categories: [all]
  metadata: {labels: {team: a}, annotations: {note: b}}
  spec: {name: 'string | required=true', size: 'integer | default=3'}
  status: {name: "${schema.spec.name}"}
`)
	crd := p.Instance.CRD
	if crd.Name != "policies.acme.example.com" || p.Instance.Resource.Resource != "policies" || !p.Instance.Namespaced {
		t.Errorf("name %s, resource %s, namespaced %v", crd.Name, p.Instance.Resource, p.Instance.Namespaced)
	}
	if diff := cmp.Diff(map[string]string{"team": "a"}, crd.Labels); diff != "" {
		t.Error(diff)
	}
	wantNames := apiextensionsv1.CustomResourceDefinitionNames{Kind: "Policy", ListKind: "PolicyList", Plural: "policies", Singular: "policy", ShortNames: []string{"pol"}, Categories: []string{"all"}}
	if diff := cmp.Diff(wantNames, crd.Spec.Names); diff != "" {
		t.Errorf("names: -want, +got:\n%s", diff)
	}
	version := crd.Spec.Versions[0]
	wantColumns := `[{"name":"State","type":"string","description":"The state of a ResourceGraphDefinition instance","jsonPath":".status.state"},` +
		`{"name":"Ready","type":"string","description":"Whether a ResourceGraphDefinition instance is ready","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},` +
		`{"name":"Age","type":"date","description":"Age of the resource","jsonPath":".metadata.creationTimestamp"}]`
	if diff := cmp.Diff(wantColumns, toJSON(t, version.AdditionalPrinterColumns)); diff != "" {
		t.Errorf("columns: -want, +got:\n%s", diff)
	}
	wantSchema := `{"type":"object","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},` +
		`"spec":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer","default":3}}},` +
		`"status":{"type":"object","properties":{"conditions":{"type":"array","items":{"type":"object","properties":{` +
		`"lastTransitionTime":{"type":"string"},"message":{"type":"string"},"observedGeneration":{"type":"integer"},"reason":{"type":"string"},"status":{"type":"string"},"type":{"type":"string"}}}},` +
		`"graph":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"name":{"type":"string"},"state":{"type":"string"}}}}}`
	if diff := cmp.Diff(wantSchema, toJSON(t, version.Schema.OpenAPIV3Schema)); diff != "" {
		t.Errorf("schema: -want, +got:\n%s", diff)
	}
	if p.Instance.Schema.Properties["status"] != nil {
		t.Error("the variable schema has a status")
	}
}

func TestCompileOptions(t *testing.T) {
	text := `
schema: {apiVersion: v1, kind: Podinfo, plural: podinfos, scope: Cluster, spec: {}, status: {graph: "${schema.metadata.name}"}}
`
	p := mustCompile(t, text)
	if p.Instance.CRD.Name != "podinfos.kro.run" || p.Instance.Namespaced {
		t.Errorf("plural and the default group are taken: %s; scope: %v", p.Instance.CRD.Name, p.Instance.Namespaced)
	}
	status := p.Instance.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	if status.Properties["graph"].Type != "string" {
		t.Errorf("a field graph of the author stays: %v", status.Properties["graph"])
	}
	if p.ShowsGraph() || !mustCompile(t, head).ShowsGraph() {
		t.Error("kro shows its graph where the author has no field of that name")
	}
	bare, faults := Compile(FromDefinition("x", parse(t, head)), Env{NoStatusGraph: true})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if _, there := bare.Instance.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["graph"]; there {
		t.Error("NoStatusGraph leaves graph in")
	}
	if bare.ShowsGraph() {
		t.Error("without the field there is nowhere to show the graph")
	}
	if _, faults := Compile(FromDefinition("x", parse(t, resources(configMap("cm", "", `{v: "${schema.spec.flag ? 'x' : omit()}"}`)))),
		Env{Kinds: schema.Embedded(), NoOmit: true}); len(faults) != 1 {
		t.Errorf("NoOmit: %v", faults)
	}
}

func TestHash(t *testing.T) {
	base := resources(configMap("cm", "", `{a: b, c: d}`))
	hashOf := func(text string) string { return mustCompile(t, text).Hash }
	if hashOf(base) != hashOf(resources(configMap("cm", "", `{c: d, a: b}`))) {
		t.Error("the order of keys changes the hash")
	}
	for _, other := range []string{
		resources(configMap("cm", "", `{a: b, c: e}`)),
		resources(configMap("cn", "", `{a: b, c: d}`)),
		resources(configMap("cm", `includeWhen: ["${true}"]`, `{a: b, c: d}`)),
		withStatus(`{x: "${cm.metadata.name}"}`),
	} {
		if hashOf(base) == hashOf(other) {
			t.Errorf("another definition has the same hash:\n%s", other)
		}
	}
	kind := &schema.Kind{GVK: kschema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps", Namespaced: true,
		Schema: &schema.Node{Type: "object", PreserveUnknown: true}, Fingerprint: "other"}
	moved, faults := Compile(FromDefinition("test", parse(t, base)), Env{Kinds: schema.Static(kind)})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if moved.Hash == hashOf(base) {
		t.Error("another schema of a kind leaves the hash")
	}
}

func TestSourceKinds(t *testing.T) {
	src := FromDefinition("x", parse(t, resources(
		configMap("cm", "", "{}"), configMap("cn", "", "{}"),
		`{id: ghost, template: {apiVersion: nowhere.example.com/v1, kind: Ghost, metadata: {name: a}}}`,
		`{id: bad, template: {apiVersion: 3, kind: Ghost}}`,
		`{id: ref, externalRef: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}}`,
	)))
	var got []string
	for _, gvk := range src.Kinds() {
		got = append(got, gvk.String())
	}
	if diff := cmp.Diff([]string{"/v1, Kind=ConfigMap", "apps/v1, Kind=Deployment", "nowhere.example.com/v1, Kind=Ghost"}, got); diff != "" {
		t.Errorf("kinds that are looked up, there or not: -want, +got:\n%s", diff)
	}
}

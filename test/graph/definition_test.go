package graph

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/test/cluster"
)

var widgets = kschema.GroupVersionKind{Group: "kro.run", Version: "v1alpha1", Kind: "GraphTestWidget"}

// nodes are the same in both front doors, but for what the input is called.
const nodes = `  - id: settings
    def: {greeting: "hello ${INPUT}", list: ["a", "b"]}
  - id: main
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "main"}, data: {text: "${settings.greeting}"}}
  - id: parts
    forEach: [{part: "${settings.list}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "part-${part}"}, data: {of: "${main.data.text}", "key-${part}": x}}
  - id: kept
    deletionPolicy: Orphaned
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {text: stays}}
  - id: contributed
    patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {ours: "${main.data.text}"}}
`

const theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\ndata: {theirs: \"1\"}"

func TestDefinitionAndGraphOfTheSameNodesGiveTheSameObjects(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(theirs)
	b.apply(`apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: graph-test-widget}
spec:
  schema: {apiVersion: v1alpha1, kind: GraphTestWidget, spec: {who: string}}
  resources:
` + strings.Replace(nodes, "INPUT", "schema.spec.who", 1))
	t.Cleanup(func() {
		rgd := &unstructured.Unstructured{}
		rgd.SetGroupVersionKind(kschema.GroupVersionKind{Group: "kro.run", Version: "v1alpha1", Kind: "ResourceGraphDefinition"})
		rgd.SetName("graph-test-widget")
		_ = b.Client.Delete(context.Background(), rgd) // the test's own context has ended
	})
	b.apply("apiVersion: kro.run/v1alpha1\nkind: GraphTestWidget\nmetadata: {name: one}\nspec: {who: you}")
	b.eventually(widgets, b.ns, "one", func(o *unstructured.Unstructured) error { return cluster.Condition(o, "Ready", "True") })
	names := []string{"main", "part-a", "part-b", "kept"}
	var fromInstance []string
	for _, name := range names {
		fromInstance = append(fromInstance, fmt.Sprint(b.get(configMaps, b.ns, name).Object["data"]))
	}
	contributed(b, "hello you")
	b.delete(widgets, b.ns, "one")
	b.gone(widgets, b.ns, "one")
	released(b)

	b.apply("apiVersion: kro.run/v1alpha1\nkind: Graph\nmetadata: {name: same}\nspec:\n  serviceAccountName: worker\n  nodes:\n" +
		strings.Replace(nodes, "INPUT", "'you'", 1))
	b.converged("same")
	for i, name := range names {
		if got := fmt.Sprint(b.get(configMaps, b.ns, name).Object["data"]); got != fromInstance[i] {
			t.Errorf("%s is %s from a Graph and %s from an instance", name, got, fromInstance[i])
		}
	}
	contributed(b, "hello you")
	b.delete(graphs, b.ns, "same")
	b.gone(graphs, b.ns, "same")
	released(b)
}

// contributed checks the object of somebody else while fields are contributed to it.
func contributed(b *bench, text string) {
	b.t.Helper()
	object := b.get(configMaps, b.ns, "theirs")
	for key, want := range map[string]string{"ours": text, "theirs": "1"} {
		if err := field(want, "data", key)(object); err != nil {
			b.t.Error(err)
		}
	}
	if object.GetLabels()["kro.run/owned"] != "" {
		b.t.Error("an object of somebody else was labelled as kro's own")
	}
}

// released checks what a deletion leaves behind.
func released(b *bench) {
	b.t.Helper()
	for _, name := range []string{"main", "part-a", "part-b"} {
		b.gone(configMaps, b.ns, name)
	}
	b.eventually(configMaps, b.ns, "theirs", field("map[theirs:1]", "data"))
	kept := b.get(configMaps, b.ns, "kept")
	if len(kept.GetLabels()) > 0 || len(kept.GetAnnotations()) > 0 {
		b.t.Errorf("the object that stays is marked still: %v %v", kept.GetLabels(), kept.GetAnnotations())
	}
}

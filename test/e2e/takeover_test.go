package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/revision"
	"kro.run/kro/internal/version"
	"kro.run/kro/test/cluster"
)

// The definition of an installation of upstream. Its instances are a chain, a collection and a field that a later edit gives up.
const heirloom = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: heirlooms, finalizers: [kro.run/finalizer]}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Heirloom
    group: heirloom.example.com
    scope: Namespaced
    spec: {word: string, names: "[]string"}
    status: {word: "${base.data.word}"}
  resources:
  - {id: base, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-base", labels: {mine: "yes"}}, data: {word: "${schema.spec.word}"EXTRA}}}
  - {id: parts, forEach: [{part: "${schema.spec.names}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-${part}"}, data: {of: "${base.metadata.name}"}}}
`

var heirloomKind = kschema.GroupVersionKind{Group: "heirloom.example.com", Version: "v1alpha1", Kind: "Heirloom"}

// Another controller takes an installation of upstream over as it stands: no child gets another resourceVersion, no revision is issued; and what was
// upstream's is really ours then: a field that the template gives up leaves the child.
func TestTakeoverFromUpstreamChangesNothing(t *testing.T) {
	c := cluster.Of(t)
	ns := c.Namespace(t)
	written := asUpstreamLeavesIt(t, c, ns)
	children := []string{"old-base", "old-left", "old-right"}
	before := versions(t, c, ns, children)

	c.Kro(t)
	for _, object := range written { // from here on there is a controller to remove them
		t.Cleanup(func() { remove(t, c, object) })
	}
	cluster.Eventually(t, "the instance has been reconciled", func(ctx context.Context) error {
		object, err := c.Get(ctx, heirloomKind, ns, "old")
		if err != nil {
			return err
		}
		if _, found, _ := unstructured.NestedMap(object.Object, "status", "graph"); !found {
			return fmt.Errorf("its status has no graph yet: %v", object.Object["status"])
		}
		return cluster.Condition(object, "Ready", "True")
	})
	if after := versions(t, c, ns, children); !maps.Equal(before, after) {
		t.Errorf("children were changed: %v, before %v", after, before)
	}
	expectRevisions(t, c, "heirlooms-r00001")
	rgd := state(t, c, definitionKind, "", "heirlooms", "Active")
	if issued, _, _ := unstructured.NestedInt64(rgd.Object, "status", "lastIssuedRevision"); issued != 1 {
		t.Errorf("the definition tells of revision %d", issued)
	}

	c.Apply(t, cluster.Object(t, strings.ReplaceAll(heirloom, "EXTRA", "")))
	cluster.Eventually(t, "the field that the template gave up has left the child", func(ctx context.Context) error {
		child, err := c.Get(ctx, configMapKind, ns, "old-base")
		if err != nil {
			return err
		}
		if data, _, _ := unstructured.NestedStringMap(child.Object, "data"); len(data) != 1 || data["word"] != "hi" {
			return fmt.Errorf("its data are %v", data)
		}
		return nil
	})
	expectRevisions(t, c, "heirlooms-r00001", "heirlooms-r00002")
	after := versions(t, c, ns, children[1:])
	for name, v := range after {
		if before[name] != v {
			t.Errorf("%s was changed by a revision that leaves it as it is", name)
		}
	}
}

// asUpstreamLeavesIt writes definition, CRD, revision, instance and children as the peer does, under its field managers. It
// gives what is to be removed, the last first.
func asUpstreamLeavesIt(t *testing.T, c *cluster.Cluster, ns string) []*unstructured.Unstructured {
	t.Helper()
	rgd := cluster.Object(t, strings.ReplaceAll(heirloom, "EXTRA", `, extra: "1"`))
	c.Apply(t, rgd)
	live, err := c.Get(t.Context(), definitionKind, "", rgd.GetName())
	if err != nil {
		t.Fatal(err)
	}
	rgdUID := string(live.GetUID())
	status(t, c, live, `{"state":"Active","lastIssuedRevision":1,"topologicalOrder":["base","parts"],"resources":[{"id":"parts","dependencies":[{"id":"base"}]}]}`)

	labels := map[string]any{"kro.run/owned": "true", "kro.run/kro-version": version.Label(), "kro.run/resource-graph-definition-id": rgdUID, "kro.run/resource-graph-definition-name": rgd.GetName()}
	crd := cluster.Object(t, heirloomCRD)
	crd.SetLabels(texts(labels))
	c.Apply(t, crd)

	var spec v1alpha1.ResourceGraphDefinitionSpec
	convert(t, live.Object["spec"], &spec)
	hash, err := revision.Hash(&spec)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := map[string]any{"name": rgd.GetName(), "generation": live.GetGeneration(), "spec": live.Object["spec"]}
	gr := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "internal.kro.run/v1alpha1", "kind": "GraphRevision",
		"metadata": map[string]any{
			"name": "heirlooms-r00001", "finalizers": []any{"kro.run/finalizer"},
			"labels":          map[string]any{"kro.run/owned": "true", "kro.run/kro-version": version.Label(), "kro.run/resource-graph-definition-name": rgd.GetName(), "kro.run/graph-revision-hash": hash},
			"ownerReferences": []any{map[string]any{"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "name": rgd.GetName(), "uid": rgdUID, "controller": true}},
		},
		"spec": map[string]any{"revision": int64(1), "snapshot": snapshot},
	}}
	if err := c.Client.Create(t.Context(), gr); err != nil {
		t.Fatal(err)
	}
	return []*unstructured.Unstructured{crd, rgd, upstreamInstance(t, c, ns, labels)}
}

// upstreamInstance writes the instance with the metadata of both of the peer's managers, and its children.
func upstreamInstance(t *testing.T, c *cluster.Cluster, ns string, labels map[string]any) *unstructured.Unstructured {
	t.Helper()
	instance := cluster.Object(t, "apiVersion: heirloom.example.com/v1alpha1\nkind: Heirloom\nmetadata: {name: old, namespace: "+ns+"}\nspec: {word: hi, names: [left, right]}")
	c.Apply(t, instance)
	live, err := c.Get(t.Context(), heirloomKind, ns, "old")
	if err != nil {
		t.Fatal(err)
	}
	id := apply.SetID("old", ns, heirloomKind.Kind, heirloomKind.Group)
	inventory := apply.Inventory{ID: id, GroupKinds: []kschema.GroupKind{configMapKind.GroupKind()}}
	identity := func(metadata map[string]any) *unstructured.Unstructured {
		metadata["name"], metadata["namespace"] = "old", ns
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "heirloom.example.com/v1alpha1", "kind": "Heirloom", "metadata": metadata}}
	}
	as(t, c, "kro.run/labeller", identity(map[string]any{"finalizers": []any{"kro.run/finalizer"}, "labels": labels}))
	as(t, c, "kro.run/applyset-parent", identity(map[string]any{
		"labels": map[string]any{"applyset.kubernetes.io/id": id}, "annotations": anys(inventory.Annotations("kro/" + version.Version())),
	}))
	status(t, c, live, `{"state":"ACTIVE","word":"hi","conditions":[
		{"type":"InstanceManaged","status":"True","reason":"Managed","message":"instance is properly managed with finalizers and labels","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"},
		{"type":"Ready","status":"True","reason":"Ready","message":"","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}`)

	child := func(name, node, order string, data, more map[string]any) {
		marks := map[string]any{
			"kro.run/owned": "true", "kro.run/kro-version": version.Label(), "app.kubernetes.io/managed-by": "kro", "kro.run/node-id": node,
			"kro.run/instance-id": string(live.GetUID()), "kro.run/instance-name": "old", "kro.run/instance-group": heirloomKind.Group,
			"kro.run/instance-version": heirloomKind.Version, "kro.run/instance-kind": heirloomKind.Kind, "kro.run/instance-namespace": ns,
			"applyset.kubernetes.io/part-of": id,
		}
		maps.Copy(marks, more)
		as(t, c, "kro.run/applyset", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"name": name, "namespace": ns, "labels": marks, "annotations": map[string]any{"internal.kro.run/apply-order": order}},
		}})
	}
	child("old-base", "base", "1", map[string]any{"word": "hi", "extra": "1"}, map[string]any{"mine": "yes"})
	for i, part := range []string{"left", "right"} {
		child("old-"+part, "parts", "2", map[string]any{"of": "old-base"}, map[string]any{"kro.run/collection-index": fmt.Sprint(i), "kro.run/collection-size": "2"})
	}
	return instance
}

const heirloomCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: heirlooms.heirloom.example.com}
spec:
  group: heirloom.example.com
  scope: Namespaced
  names: {kind: Heirloom, listKind: HeirloomList, plural: heirlooms, singular: heirloom}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: State, type: string, jsonPath: .status.state, description: The state of a ResourceGraphDefinition instance}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status', description: Whether a ResourceGraphDefinition instance is ready}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp, description: Age of the resource}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec: {type: object, properties: {word: {type: string}, names: {type: array, items: {type: string}}}}
          status:
            type: object
            properties:
              word: {type: string}
              state: {type: string}
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}, lastTransitionTime: {type: string}, observedGeneration: {type: integer}}}
`

// as applies an object under the name of a field manager.
func as(t *testing.T, c *cluster.Cluster, manager string, object *unstructured.Unstructured) {
	t.Helper()
	if err := c.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		t.Fatalf("apply %s %s as %s: %v", object.GetKind(), object.GetName(), manager, err)
	}
}

func status(t *testing.T, c *cluster.Cluster, object *unstructured.Unstructured, text string) {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	live, err := c.Get(t.Context(), object.GroupVersionKind(), object.GetNamespace(), object.GetName())
	if err != nil {
		t.Fatal(err)
	}
	live.Object["status"] = value
	if err := c.Client.Status().Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
}

func versions(t *testing.T, c *cluster.Cluster, ns string, names []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		object, err := c.Get(t.Context(), configMapKind, ns, name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = object.GetResourceVersion()
	}
	return out
}

func expectRevisions(t *testing.T, c *cluster.Cluster, want ...string) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(revisionKind)
	if err := c.Client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range list.Items {
		if strings.HasPrefix(item.GetName(), "heirlooms-") {
			got = append(got, item.GetName())
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("revisions %v, want %v", got, want)
	}
}

func convert(t *testing.T, from, to any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func anys(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

func texts(in map[string]any) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = fmt.Sprint(v)
	}
	return out
}

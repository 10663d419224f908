package graph

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/test/cluster"
)

const pair = `apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: pair}
spec:
  serviceAccountName: worker
  nodes:
  - id: first
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {a: "1"}}
  - id: second
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {b: "${first.data.a}"}}`

func TestRenameOfANodeKeepsItsObject(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	before := b.get(configMaps, b.ns, "first")

	b.apply(strings.NewReplacer("id: first", "id: renamed", "${first.", "${renamed.").Replace(pair))
	b.converged("pair")
	b.eventually(configMaps, b.ns, "first", field("renamed", "metadata", "labels", "kro.run/node-id"))
	after := b.get(configMaps, b.ns, "first")
	if after.GetUID() != before.GetUID() {
		t.Errorf("the object was made anew: %s, before %s", after.GetUID(), before.GetUID())
	}
	for _, entry := range after.GetManagedFields() {
		if entry.Manager != before.GetManagedFields()[0].Manager {
			t.Errorf("a manager was left behind: %s", entry.Manager)
		}
	}
}

func TestDeletionWithoutRightsWaitsAndNamesThem(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	b.delete(bindings, b.ns, "worker")
	b.delete(accounts, b.ns, "worker")
	b.delete(graphs, b.ns, "pair")
	message := b.condition("pair", "ResourcesConverged", "False", "DeleteFailed")
	for _, part := range []string{"system:serviceaccount:" + b.ns + ":worker", "configmaps", `in the namespace "` + b.ns + `"`} {
		if !strings.Contains(message, part) {
			t.Errorf("the message does not name %s: %s", part, message)
		}
	}
	b.get(configMaps, b.ns, "first")
	b.rights()
	b.gone(graphs, b.ns, "pair")
	b.gone(configMaps, b.ns, "first")
	b.gone(configMaps, b.ns, "second")
}

func TestMissingRightsAreNamed(t *testing.T) {
	b := newBench(t)
	b.apply(strings.Replace(pair, "serviceAccountName: worker", "serviceAccountName: nobody", 1))
	message := b.condition("pair", "ResourcesConverged", "False", "ApplyFailed")
	if !strings.Contains(message, "system:serviceaccount:"+b.ns+":nobody") || !strings.Contains(message, `cannot patch resource "configmaps"`) {
		t.Errorf("the message names neither who nor what: %s", message)
	}
	b.apply(`apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: reader}
spec:
  serviceAccountName: nobody
  nodes:
  - id: secrets
    ref: {apiVersion: v1, kind: Secret, metadata: {selector: {}}}`)
	message = b.condition("reader", "ResourcesConverged", "False", "ApplyFailed")
	if !strings.Contains(message, ":nobody") || !strings.Contains(message, `"secrets"`) || !strings.Contains(message, "at the cluster scope") {
		t.Errorf("the message does not name the right that is missing: %s", message)
	}
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	b.apply(strings.NewReplacer("name: pair", "name: other", `a: "1"`, `a: "2"`, "name: second", "name: third").Replace(pair))
	message := b.condition("other", "ResourcesConverged", "False", "FieldManagerConflict")
	if !strings.Contains(message, "Graph "+b.ns+"/pair") {
		t.Errorf("the message does not name the owner: %s", message)
	}
	if err := field("1", "data", "a")(b.get(configMaps, b.ns, "first")); err != nil {
		t.Error(err)
	}
	b.delete(graphs, b.ns, "pair")
	b.gone(graphs, b.ns, "pair")
	b.converged("other")
	b.delete(graphs, b.ns, "other")
	b.gone(graphs, b.ns, "other")
	b.gone(configMaps, b.ns, "first")
}

func TestAnObjectThatSomebodyMadeAnewSurvives(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(strings.Replace(pair, "metadata: {name: pair}", "metadata: {name: pair, annotations: {kro.run/reconcile: Running}}", 1))
	b.converged("pair")
	b.apply(strings.Replace(pair, "metadata: {name: pair}", "metadata: {name: pair, annotations: {kro.run/reconcile: Suspended}}", 1))
	b.condition("pair", "ResourcesConverged", "False", "ReconciliationSuspended")
	b.delete(configMaps, b.ns, "first")
	b.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\ndata: {mine: \"yes\"}")
	b.delete(graphs, b.ns, "pair")
	b.gone(graphs, b.ns, "pair")
	b.gone(configMaps, b.ns, "second")
	if err := field("yes", "data", "mine")(b.get(configMaps, b.ns, "first")); err != nil {
		t.Error(err)
	}
}

func TestNodesGoAndOrphansStay(t *testing.T) {
	b := newBench(t)
	b.rights()
	orphaning := strings.Replace(pair, "  - id: second\n", "  - id: kept\n    deletionPolicy: Orphaned\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {c: \"3\"}}\n  - id: second\n", 1)
	b.apply(orphaning)
	b.converged("pair")
	kept := b.get(configMaps, b.ns, "kept")
	b.apply(pair[:strings.Index(pair, "  - id: second")])
	b.gone(configMaps, b.ns, "second")
	b.eventually(configMaps, b.ns, "kept", func(o *unstructured.Unstructured) error {
		for key := range o.GetLabels() {
			if strings.Contains(key, "kro.run/") || key == "app.kubernetes.io/managed-by" {
				return fmt.Errorf("it has the label %s still", key)
			}
		}
		for key := range o.GetAnnotations() {
			if strings.Contains(key, "kro.run/") {
				return fmt.Errorf("it has the annotation %s still", key)
			}
		}
		return nil
	})
	b.converged("pair")
	b.delete(graphs, b.ns, "pair")
	b.gone(graphs, b.ns, "pair")
	b.gone(configMaps, b.ns, "first")
	if got := b.get(configMaps, b.ns, "kept"); got.GetUID() != kept.GetUID() || field("3", "data", "c")(got) != nil {
		t.Errorf("the object that was to stay is %v", got.Object)
	}
}

func TestExternalFieldsAreGivenUp(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(`apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: scaled}
spec:
  serviceAccountName: worker
  nodes:
  - id: settings
    externalFields: [data.replicas]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {replicas: "1", other: x}}`)
	b.converged("scaled")
	set := func(values map[string]any) {
		cluster.Eventually(t, "edit settings", func(ctx context.Context) error {
			object, err := b.Get(ctx, configMaps, b.ns, "settings")
			if err != nil {
				return err
			}
			object.Object["data"] = values
			return b.Client.Update(ctx, object)
		})
	}
	set(map[string]any{"replicas": "5", "other": "drifted"})
	b.eventually(configMaps, b.ns, "settings", field("x", "data", "other"))
	cluster.Holds(t, "the value of the other manager stays", 2*time.Second, func(ctx context.Context) error {
		object, err := b.Get(ctx, configMaps, b.ns, "settings")
		if err != nil {
			return err
		}
		return field("5", "data", "replicas")(object)
	})
	b.converged("scaled")
}

func TestAGraphWaitsForAKind(t *testing.T) {
	b := newBench(t)
	b.apply(`apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: early}
spec:
  nodes:
  - id: thing
    template: {apiVersion: late.example.com/v1, kind: Latecomer, metadata: {name: x}}`)
	if message := b.condition("early", "Accepted", "False", "InvalidGraph"); !strings.Contains(message, "Latecomer") {
		t.Errorf("the message does not name the kind: %s", message)
	}
	b.apply(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: latecomers.late.example.com}
spec:
  group: late.example.com
  scope: Namespaced
  names: {kind: Latecomer, plural: latecomers, singular: latecomer, listKind: LatecomerList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`)
	b.condition("early", "Accepted", "True", "Compiled")
	b.condition("early", "ResourcesConverged", "False", "ApplyFailed") // the account default may do nothing
}

func TestInlineGraphs(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(`apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: nested}
spec:
  serviceAccountName: worker
  nodes:
  - id: base
    def: {name: outer}
  - id: inner
    graph:
      nodes:
      - id: settings
        template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${base.name}-settings"}, data: {a: "1"}}
      - id: copy
        template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {of: "${settings.metadata.name}"}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {read: "${inner.copy.data.of}"}}`)
	b.converged("nested")
	if err := field("outer-settings", "data", "read")(b.get(configMaps, b.ns, "reader")); err != nil {
		t.Error(err)
	}
	inner := b.get(configMaps, b.ns, "copy")
	if inner.GetLabels()["kro.run/node-id"] != "inner.copy" || inner.GetAnnotations()["internal.kro.run/node-path"] != "inner/copy" {
		t.Errorf("the marks of a nested node are %v %v", inner.GetLabels(), inner.GetAnnotations())
	}
	b.delete(graphs, b.ns, "nested")
	b.gone(graphs, b.ns, "nested")
	b.gone(configMaps, b.ns, "outer-settings")
}

func TestTwoNodesOfOneObjectAreRefusedBeforeEitherIsWritten(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(strings.NewReplacer("name: second", "name: first", "${first.data.a}", "2").Replace(pair))
	message := b.condition("pair", "ResourcesConverged", "False", "ApplyFailed")
	if !strings.Contains(message, "first") || !strings.Contains(message, "second") {
		t.Errorf("the message does not name both nodes: %s", message)
	}
	if err := b.Gone(t.Context(), configMaps, b.ns, "first"); err != nil {
		t.Error(err)
	}
}

func TestARejectedMemberIsShownAndItsSiblingsGoOn(t *testing.T) {
	b := newBench(t)
	b.rights()
	members := `apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: members}
spec:
  serviceAccountName: worker
  nodes:
  - id: each1
    forEach: [{i: "${['a', 'b']}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "m-${i}"}, immutable: IMMUTABLE, data: {v: "1"}}`
	b.apply(strings.Replace(members, "IMMUTABLE", "\"${i == 'a'}\"", 1))
	b.converged("members")
	b.apply(strings.NewReplacer("IMMUTABLE", "\"${i == 'a'}\"", `v: "1"`, `v: "2"`).Replace(members))
	message := b.condition("members", "ResourcesConverged", "False", "ApplyFailed")
	if !strings.Contains(message, "m-a") {
		t.Errorf("the message does not name the member: %s", message)
	}
	b.eventually(configMaps, b.ns, "m-b", field("2", "data", "v"))
	b.apply(strings.Replace(members, "IMMUTABLE", "\"${i == 'a'}\"", 1))
	b.converged("members")
}

func TestAComputedKindThatIsNotServedIsWaitedFor(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: which}\ndata: {kind: ConfigMap}")
	b.apply(`apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: dynamic}
spec:
  serviceAccountName: worker
  nodes:
  - id: which
    ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: which}}
  - id: made
    template: {apiVersion: v1, kind: "${which.data.kind}", metadata: {name: made}, data: {x: "1"}}`)
	b.converged("dynamic")
	b.get(configMaps, b.ns, "made")
	b.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: which}\ndata: {kind: Nonsense}")
	b.condition("dynamic", "ResourcesConverged", "False", "DataPending")
	b.get(configMaps, b.ns, "made") // nothing is pruned while a kind is missing
}

package graph

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

func TestObjectsThatReferToEachOtherConvergeAndRest(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(`apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: mutual}
spec:
  serviceAccountName: worker
  nodes:
  - id: left
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: left}, data: {own: "1", peer: "${defer(right.metadata.uid)}"}}
  - id: right
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: right}, data: {peer: "${left.metadata.uid}"}}`)
	b.eventually(configMaps, b.ns, "left", func(o *unstructured.Unstructured) error {
		right, err := b.Get(t.Context(), configMaps, b.ns, "right")
		if err != nil {
			return err
		}
		if err := field(o.GetUID(), "data", "peer")(right); err != nil {
			return err
		}
		return field(right.GetUID(), "data", "peer")(o)
	})
	b.converged("mutual")
	b.alone()
	before := b.requests(false)
	cluster.Holds(t, "nothing more is written", 2*time.Second, func(context.Context) error {
		return differ(map[string]float64{}, b.since(before, false))
	})
	b.Kro.Stop()
	b.Kro.Start()
	cluster.Holds(t, "nor after a restart", 3*time.Second, func(context.Context) error {
		return differ(map[string]float64{}, b.since(before, false))
	})
	b.delete(graphs, b.ns, "mutual")
	b.gone(graphs, b.ns, "mutual")
	b.gone(configMaps, b.ns, "left")
}

func TestKeysThatAreComputedCannotTakeWhatIsKros(t *testing.T) {
	b := newBench(t)
	b.rights()
	keys := `apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: keys}
spec:
  serviceAccountName: worker
  nodes:
  - id: names
    def: {label: KEY}
  - id: labelled
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: labelled, labels: {"${names.label}": blue}}
      data: {"${names.label.split('/')[1]}": x}`
	b.apply(strings.Replace(keys, "KEY", "kro.run/instance-id", 1))
	message := b.condition("keys", "ResourcesConverged", "False", "ApplyFailed")
	if !strings.Contains(message, `"kro.run/instance-id"`) || !strings.Contains(message, "labelled") {
		t.Errorf("the message names neither key nor node: %s", message)
	}
	if err := b.Gone(t.Context(), configMaps, b.ns, "labelled"); err != nil {
		t.Error(err)
	}
	b.apply(strings.Replace(keys, "KEY", "example.com/team", 1))
	b.converged("keys")
	object := b.get(configMaps, b.ns, "labelled")
	for key, want := range map[string]string{"kro.run/instance-id": string(b.get(graphs, b.ns, "keys").GetUID()), "example.com/team": "blue"} {
		if got := object.GetLabels()[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if err := field("x", "data", "team")(object); err != nil {
		t.Error(err)
	}
}

func TestExternalFieldsStayGivenUpOverARestart(t *testing.T) {
	b := newBench(t)
	b.rights()
	scaled := `apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: scaled}
spec:
  serviceAccountName: worker
  nodes:
  - id: settings
    externalFields: [data.replicas]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {replicas: "1", other: x}}`
	b.apply(scaled)
	b.converged("scaled")
	b.Kro.Stop()
	cluster.Eventually(t, "edit settings", func(ctx context.Context) error {
		object, err := b.Get(ctx, configMaps, b.ns, "settings")
		if err != nil {
			return err
		}
		object.Object["data"] = map[string]any{"replicas": "5", "other": "x"}
		return b.Client.Update(ctx, object)
	})
	b.Kro.Start()
	stays := func(ctx context.Context) error {
		object, err := b.Get(ctx, configMaps, b.ns, "settings")
		if err != nil {
			return err
		}
		return field("5", "data", "replicas")(object)
	}
	cluster.Holds(t, "what was taken over while kro was away stays", 3*time.Second, stays)
	b.apply(strings.Replace(scaled, "other: x", "other: changed", 1))
	b.eventually(configMaps, b.ns, "settings", field("changed", "data", "other"))
	b.converged("scaled")
	if err := stays(t.Context()); err != nil {
		t.Error("after another change of the template: ", err)
	}
}

func TestTheMissingRightSaysWhoWhatAndWhere(t *testing.T) {
	b := newBench(t)
	b.apply(strings.Replace(pair, "serviceAccountName: worker", "serviceAccountName: nobody", 1))
	message := b.condition("pair", "ResourcesConverged", "False", "ApplyFailed")
	for what, part := range map[string]string{
		"who": "system:serviceaccount:" + b.ns + ":nobody", "verb": "patch", "kind": "configmaps", "where": `in the namespace "` + b.ns + `"`,
	} {
		if !strings.Contains(message, part) {
			t.Errorf("the message does not say %s (%s): %s", what, part, message)
		}
	}
	// As soon as the right is there, no edit is needed.
	b.apply(strings.Replace(pair, "serviceAccountName: worker", "serviceAccountName: worker", 1))
	b.rights()
	b.converged("pair")
}

func TestAnObjectOfAnInstanceIsLeftAlone(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(`apiVersion: v1
kind: ConfigMap
metadata:
  name: first
  labels: {kro.run/owned: "true", applyset.kubernetes.io/part-of: applyset-of-somebody-v1, kro.run/instance-kind: Shop, kro.run/instance-name: theirs}
data: {a: theirs}`)
	b.apply(pair)
	message := b.condition("pair", "ResourcesConverged", "False", "ApplyFailed")
	if !strings.Contains(message, b.ns+"/first") || !strings.Contains(message, "applyset-of-somebody-v1") {
		t.Errorf("the message does not name the object and its owner: %s", message)
	}
	if err := field("theirs", "data", "a")(b.get(configMaps, b.ns, "first")); err != nil {
		t.Error(err)
	}
	b.delete(graphs, b.ns, "pair")
	b.gone(graphs, b.ns, "pair")
	b.get(configMaps, b.ns, "first")
}

func TestAComputedKindIsTakenUpWhenItsCRDArrives(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: late}
rules:
- {apiGroups: [late2.example.com], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: late}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: late}
subjects:
- {kind: ServiceAccount, name: worker, namespace: default}
---
apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: late}
spec:
  serviceAccountName: worker
  nodes:
  - id: which
    def: {kind: Later}
  - id: made
    template: {apiVersion: late2.example.com/v1, kind: "${which.kind}", metadata: {name: made}}`)
	b.condition("late", "ResourcesConverged", "False", "DataPending")
	crd := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: laters.late2.example.com}
spec:
  group: late2.example.com
  scope: Namespaced
  names: {kind: Later, plural: laters, singular: later, listKind: LaterList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`
	b.apply(crd)
	t.Cleanup(func() { _ = b.Client.Delete(context.Background(), cluster.Object(t, crd)) })
	b.converged("late")
	b.get(kschema.GroupVersionKind{Group: "late2.example.com", Version: "v1", Kind: "Later"}, b.ns, "made")
	b.delete(graphs, b.ns, "late")
	b.gone(graphs, b.ns, "late")
}

func TestEventsTellWhatWentWrongAndNothingElse(t *testing.T) {
	b := newBench(t)
	b.rights()
	of := func(graph string) (texts []string) {
		list := &corev1.EventList{}
		if err := b.Client.List(context.Background(), list, client.InNamespace(b.ns)); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == "Graph" && e.InvolvedObject.Name == graph {
				texts = append(texts, fmt.Sprintf("%s %s %s", e.Type, e.Reason, e.Message))
			}
		}
		return texts
	}
	b.apply(strings.Replace(pair, "name: pair", "name: good", 1))
	b.converged("good")
	b.apply(strings.NewReplacer("name: pair", "name: bad", "${first.data.a}", "${nobody.x}").Replace(pair))
	b.condition("bad", "Accepted", "False", "InvalidGraph")
	cluster.Eventually(t, "an event", func(context.Context) error {
		if text := strings.Join(of("bad"), "\n"); !strings.Contains(text, "Warning Accepted none -> False: InvalidGraph") {
			return fmt.Errorf("events: %s", text)
		}
		return nil
	})
	if texts := of("good"); len(texts) > 0 {
		t.Errorf("events of a Graph that is well: %v", texts)
	}
}

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/test/cluster"
)

const goodDefinition = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: NAME}
spec:
  schema: {apiVersion: v1alpha1, kind: Good, group: NAME.example.com, spec: {word: string}}
  resources:
  - {id: first, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-first"}, data: {word: "${schema.spec.word}"}}}
  - {id: second, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-second"}, data: {word: "${first.data.word}"}}}
`

// A definition that is wrong says where and what, and no other notices it: neither those that run nor those that come after it.
func TestBadDefinitionsHarmNoOther(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t)
	ns := c.Namespace(t)
	good := kschema.GroupVersionKind{Group: "isolated.example.com", Version: "v1alpha1", Kind: "Good"}
	define(t, c, fill(goodDefinition, "isolated"))
	state(t, c, definitionKind, "", "isolated", "Active")
	before := instance(t, c, ns, good, "before")
	state(t, c, good, ns, "before", "ACTIVE")

	schema := "schema: {apiVersion: v1alpha1, kind: Bad, group: NAME.example.com, spec: {word: string}}"
	for _, tc := range []struct {
		name, resources string
		says            []string
	}{
		{"bad-cycle", `
  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "${b.data.x}"}}}
  - {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: "${a.data.x}"}}}`,
			[]string{"graph contains a cycle", "a", "b"}},
		{"bad-field", `
  - {id: a, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicaz: 2}}}`,
			[]string{"replicaz", "spec.resources[0]"}},
		{"bad-kind", `
  - {id: a, template: {apiVersion: nowhere.example.com/v1, kind: Nothing, metadata: {name: a}}}`,
			[]string{"Nothing"}},
	} {
		define(t, c, fill("apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: NAME}\nspec:\n  "+schema+"\n  resources:"+tc.resources, tc.name))
		rgd := state(t, c, definitionKind, "", tc.name, "Inactive")
		for _, part := range tc.says {
			if text := message(rgd, "GraphAccepted"); !strings.Contains(text, part) {
				t.Errorf("%s: the condition does not say %q: %s", tc.name, part, text)
			}
		}
		if err := cluster.Condition(rgd, "Ready", "False"); err != nil {
			t.Error(err)
		}
	}
	if err := c.TryApply(t.Context(), cluster.Object(t, "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: bad-nothing}")); err == nil {
		t.Error("a definition without spec is not refused")
	}

	instance(t, c, ns, good, "after")
	state(t, c, good, ns, "after", "ACTIVE")
	merge(t, c, before, `{"spec":{"word":"new"}}`)
	awaitWord(t, c, ns, "before-second", "new")
	state(t, c, definitionKind, "", "isolated", "Active")
}

// A definition of a kind that is not there becomes Active by itself soon after the kind is.
func TestKindInstalledLater(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t)
	ns := c.Namespace(t)
	define(t, c, `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: patient}
spec:
  schema: {apiVersion: v1alpha1, kind: Patient, group: patient.example.com, spec: {}}
  resources:
  - {id: late, template: {apiVersion: late.example.com/v1, kind: Late, metadata: {name: "${schema.metadata.name}"}, spec: {size: 3}}}
`)
	state(t, c, definitionKind, "", "patient", "Inactive")
	crd := cluster.Object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.late.example.com}
spec:
  group: late.example.com
  scope: Namespaced
  names: {kind: Late, plural: lates}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]
`)
	c.Apply(t, crd)
	t.Cleanup(func() { remove(t, c, crd) })
	installed := time.Now()
	state(t, c, definitionKind, "", "patient", "Active")
	if took := time.Since(installed); took > 15*time.Second {
		t.Errorf("it took %s to notice the kind", took)
	}
	instance(t, c, ns, kschema.GroupVersionKind{Group: "patient.example.com", Version: "v1alpha1", Kind: "Patient"}, "p")
	state(t, c, kschema.GroupVersionKind{Group: "patient.example.com", Version: "v1alpha1", Kind: "Patient"}, ns, "p", "ACTIVE")
}

// What somebody changes by hand is put right within a second.
func TestDriftIsPutRightWithinASecond(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t)
	ns := c.Namespace(t)
	good := kschema.GroupVersionKind{Group: "drifting.example.com", Version: "v1alpha1", Kind: "Good"}
	define(t, c, fill(goodDefinition, "drifting"))
	instance(t, c, ns, good, "one")
	state(t, c, good, ns, "one", "ACTIVE")
	child, err := c.Get(t.Context(), configMapKind, ns, "one-first")
	if err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for range 5 {
		began := time.Now()
		merge(t, c, child, `{"data":{"word":"drift"}}`)
		awaitWord(t, c, ns, "one-first", "first")
		took = append(took, time.Since(began))
	}
	// The machine may be busy for a moment; the median tells how kro is.
	if slices.Sort(took); took[2] > time.Second {
		t.Errorf("drift was put right after %v", took)
	}
}

func instance(t *testing.T, c *cluster.Cluster, ns string, kind kschema.GroupVersionKind, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if kind.Kind == "Good" {
		object.Object["spec"] = map[string]any{"word": "first"}
	}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(ns)
	object.SetName(name)
	c.Apply(t, object)
	t.Cleanup(func() { remove(t, c, object) })
	return object
}

func awaitWord(t *testing.T, c *cluster.Cluster, ns, name, want string) {
	t.Helper()
	cluster.Eventually(t, name+" says "+want, func(ctx context.Context) error {
		object, err := c.Get(ctx, configMapKind, ns, name)
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(object.Object, "data", "word"); got != want {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
}

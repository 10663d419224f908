package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

const definition = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: lives}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Life
    group: faults.example.com
    spec: {v: string, extra: boolean, names: "[]string"}
    status: {seen: "${tail.data.v}", many: "${many.map(m, m.metadata.name)}"}
  resources:
  - {id: head, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-head"}, data: {v: "${schema.spec.v}"}}}
  - {id: code, template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}-code"}, stringData: {v: "${head.data.v}"}}}
  - {id: outside, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: outside}}}
  - {id: tail, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-tail"}, data: {v: "${outside.data.v + head.data.v}", code: "${code.metadata.name}"}}}
  - {id: many, forEach: [{name: "${schema.spec.names}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-${name}"}, data: {v: "${schema.spec.v}"}}}
  - {id: extra, includeWhen: ["${schema.spec.extra}"], template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}-extra"}, stringData: {v: "${schema.spec.v}"}}}
`

var lifeGVK = kschema.GroupVersionKind{Group: "faults.example.com", Version: "v1alpha1", Kind: "Life"}

// life is one run: an instance is made, edited and deleted.
type life struct {
	t          *testing.T
	cluster    *cluster.Cluster
	proxy      *proxy
	controller *cluster.Controller
	namespace  string
}

// until waits, and brings a killed controller back.
func (l *life) until(what string, check func(context.Context) error) {
	l.t.Helper()
	cluster.Eventually(l.t, what, func(ctx context.Context) error {
		if l.proxy.wasKilled() {
			l.controller.Start()
		}
		return check(ctx)
	})
}

func (l *life) apply(v string, extra bool, names string) {
	l.t.Helper()
	l.cluster.Apply(l.t, cluster.Object(l.t, fmt.Sprintf(
		"{apiVersion: faults.example.com/v1alpha1, kind: Life, metadata: {name: one, namespace: %s}, spec: {v: %q, extra: %t, names: %s}}", l.namespace, v, extra, names)))
}

func (l *life) active(generation int64) func(context.Context) error {
	return func(ctx context.Context) error {
		o, err := l.cluster.Get(ctx, lifeGVK, l.namespace, "one")
		if err != nil {
			return err
		}
		state, _, _ := unstructured.NestedString(o.Object, "status", "state")
		observed, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range observed {
			if m := c.(map[string]any); m["type"] == "Ready" && m["observedGeneration"] == generation && m["status"] == "True" && state == "ACTIVE" {
				return nil
			}
		}
		return fmt.Errorf("state %q, conditions %v", state, observed)
	}
}

// children is what belongs to instances in the namespace, as far as it does not depend on the run.
func (l *life) children(ctx context.Context) (map[string]any, error) {
	out := map[string]any{}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kschema.GroupVersionKind{Version: "v1", Kind: kind + "List"})
		if err := l.cluster.Client.List(ctx, list, client.InNamespace(l.namespace), client.HasLabels{"kro.run/owned"}); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			labels := o.GetLabels()
			for _, k := range []string{"kro.run/instance-id", "kro.run/instance-namespace", "applyset.kubernetes.io/part-of"} {
				delete(labels, k)
			}
			out[kind+" "+o.GetName()] = map[string]any{"data": o.Object["data"], "labels": labels, "annotations": o.GetAnnotations()}
		}
	}
	return out, nil
}

// run lives one life, and returns what stood at its height and how many writes it took.
func (l *life) run(n int, f fault) (height string, writes int) {
	l.t.Helper()
	l.namespace = l.cluster.Namespace(l.t)
	l.cluster.Apply(l.t, cluster.Object(l.t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: outside, namespace: "+l.namespace+"}, data: {v: out}}"))
	l.proxy.arm(n, f)
	l.apply("1", true, "[p, q]")
	l.until("the instance is ACTIVE", l.active(1))
	l.apply("2", false, "[q, r]")
	l.until("the edited instance is ACTIVE", l.active(2))
	l.until("what is not wanted is pruned", func(ctx context.Context) error {
		found, err := l.children(ctx)
		if err != nil {
			return err
		}
		if len(found) != 5 {
			return fmt.Errorf("%d children, want 5: %v", len(found), found)
		}
		text, err := json.MarshalIndent(found, "", " ")
		height = string(text)
		return err
	})
	instance := &unstructured.Unstructured{}
	instance.SetGroupVersionKind(lifeGVK)
	instance.SetNamespace(l.namespace)
	instance.SetName("one")
	if err := l.cluster.Client.Delete(l.t.Context(), instance, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		l.t.Fatal(err)
	}
	l.until("the instance is gone", func(ctx context.Context) error { return l.cluster.Gone(ctx, lifeGVK, l.namespace, "one") })
	l.until("nothing is left behind", func(ctx context.Context) error {
		found, err := l.children(ctx)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("left behind: %v", found)
		}
		return err
	})
	writes = l.proxy.count()
	l.proxy.arm(0, none)
	return height, writes
}

func TestFaultAtAnyWriteChangesNothingInTheEnd(t *testing.T) {
	c := cluster.Of(t)
	p := newProxy(t, c.Config)
	k := c.Kro(t, "--kubeconfig="+p.kubeconfig(t))
	p.kill = k.Kill
	l := &life{t: t, cluster: c, proxy: p, controller: k}
	c.Apply(t, cluster.Object(t, definition))

	want, writes := l.run(0, none)
	t.Logf("an undisturbed life takes %d writes", writes)
	for _, f := range []fault{refuse, lose, killBefore, killAfter} {
		for n := 1; n <= writes; n++ {
			t.Run(fmt.Sprintf("%s %d", f, n), func(t *testing.T) {
				l.t = t
				if got, _ := l.run(n, f); got != want {
					t.Errorf("the objects differ from those of an undisturbed life (-want +got):\n%s", cmp.Diff(want, got))
				}
			})
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

var (
	graphs      = kschema.GroupVersionKind{Group: "kro.run", Version: "v1alpha1", Kind: "Graph"}
	configMaps  = kschema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	deployments = kschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	services    = kschema.GroupVersionKind{Version: "v1", Kind: "Service"}
	ingresses   = kschema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	policies    = kschema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
	accounts    = kschema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	bindings    = kschema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}
)

// bench is one test: the cluster, with the controller at work, and a namespace.
type bench struct {
	*cluster.Cluster
	// Kro is the controller.
	Kro *cluster.Controller
	t   *testing.T
	ns  string
}

func newBench(t *testing.T) *bench {
	c := cluster.Of(t)
	b := &bench{Cluster: c, t: t, ns: c.Namespace(t)}
	b.Kro = c.Kro(t)
	t.Cleanup(func() { // while the controller runs: Graphs have finalizers
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(graphs.GroupVersion().WithKind("GraphList"))
		if err := c.Client.List(context.Background(), list, client.InNamespace(b.ns)); err != nil {
			t.Error(err)
		}
		for i := range list.Items {
			_ = c.Client.Delete(context.Background(), &list.Items[i])
		}
	})
	return b
}

// apply applies the documents of a text in the namespace of the test.
func (b *bench) apply(text string) {
	b.t.Helper()
	for _, document := range strings.Split(strings.ReplaceAll(text, "namespace: default", "namespace: "+b.ns), "\n---\n") {
		object := cluster.Object(b.t, document)
		if kind := object.GetKind(); object.GetNamespace() == "" && kind != "Namespace" && !strings.HasPrefix(kind, "Cluster") {
			object.SetNamespace(b.ns)
		}
		b.Apply(b.t, object)
	}
}

// example applies a file of examples/graph.
func (b *bench) example(name string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "graph", name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.apply(string(text))
}

// rights lets the ServiceAccount worker do what Graphs of these tests need.
func (b *bench) rights() {
	b.apply(`apiVersion: v1
kind: ServiceAccount
metadata: {name: worker}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: worker}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, update, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: worker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: worker}
subjects:
- {kind: ServiceAccount, name: worker, namespace: default}`)
}

// condition waits until a condition of a Graph has a status and reason, and gives its message.
func (b *bench) condition(graph, kind, status, reason string) (message string) {
	b.t.Helper()
	cluster.Eventually(b.t, fmt.Sprintf("%s %s=%s/%s", graph, kind, status, reason), func(ctx context.Context) error {
		object, err := b.Get(ctx, graphs, b.ns, graph)
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, entry := range conditions {
			c := entry.(map[string]any)
			if c["type"] == kind && c["status"] == status && c["reason"] == reason && c["observedGeneration"] == object.GetGeneration() {
				message, _ = c["message"].(string)
				return nil
			}
		}
		return fmt.Errorf("conditions at generation %d: %v", object.GetGeneration(), conditions)
	})
	return message
}

func (b *bench) converged(graph string) {
	b.t.Helper()
	b.condition(graph, "ResourcesConverged", "True", "Applied")
}

// get reads an object that must be there.
func (b *bench) get(gvk kschema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	b.t.Helper()
	object, err := b.Get(b.t.Context(), gvk, namespace, name)
	if err != nil {
		b.t.Fatal(err)
	}
	return object
}

// eventually waits until an object is there and a check of it holds.
func (b *bench) eventually(gvk kschema.GroupVersionKind, namespace, name string, check func(*unstructured.Unstructured) error) {
	b.t.Helper()
	cluster.Eventually(b.t, gvk.Kind+" "+name, func(ctx context.Context) error {
		object, err := b.Get(ctx, gvk, namespace, name)
		if err != nil {
			return err
		}
		return check(object)
	})
}

// field gives a check that a field has a value.
func field(want any, path ...string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		got, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%s is %v, want %v", strings.Join(path, "."), got, want)
		}
		return nil
	}
}

// delete deletes an object.
func (b *bench) delete(gvk kschema.GroupVersionKind, namespace, name string) {
	b.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(namespace)
	object.SetName(name)
	if err := b.Client.Delete(b.t.Context(), object); err != nil {
		b.t.Fatal(err)
	}
}

// gone waits until an object is gone.
func (b *bench) gone(gvk kschema.GroupVersionKind, namespace, name string) {
	b.t.Helper()
	cluster.Eventually(b.t, gvk.Kind+" "+name+" is gone", func(ctx context.Context) error { return b.Gone(ctx, gvk, namespace, name) })
}

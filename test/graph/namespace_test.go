package graph

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

var namespaces = kschema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// A namespace takes the rights of its accounts along when it is deleted, often before the Graphs that act by them. The Graphs go all the same.
func TestAGraphGoesWithItsNamespace(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	if err := b.Client.DeleteAllOf(t.Context(), cluster.Object(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}"), client.InNamespace(b.ns)); err != nil {
		t.Fatal(err)
	}
	if err := b.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.ns}}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the namespace is gone", func(ctx context.Context) error { return b.Gone(ctx, namespaces, "", b.ns) })
}

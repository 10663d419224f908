package cluster

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// fieldManager is who writes when tests do.
const fieldManager = "test"

// Namespace makes a namespace of the test's own and deletes it at the end.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended.
		if err := c.Client.Delete(context.Background(), ns); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// Object reads one object from YAML.
func Object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		t.Fatalf("read the object: %v\n%s", err, text)
	}
	return object
}

// Apply writes an object by server-side apply. It waits for the kind of the
// object to be served.
func (c *Cluster) Apply(t testing.TB, object *unstructured.Unstructured) {
	t.Helper()
	Eventually(t, "apply "+name(object), func(ctx context.Context) error {
		err := c.TryApply(ctx, object)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return Never(err)
		}
		return err
	})
}

// TryApply writes an object by server-side apply, once. It is for objects that
// the API server must refuse.
func (c *Cluster) TryApply(ctx context.Context, object *unstructured.Unstructured) error {
	copied := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
	return c.Client.Apply(ctx, copied, client.FieldOwner(fieldManager), client.ForceOwnership)
}

// Get reads an object.
func (c *Cluster) Get(ctx context.Context, gvk kschema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	return object, err
}

// Gone fails as long as the object is there.
func (c *Cluster) Gone(ctx context.Context, gvk kschema.GroupVersionKind, namespace, name string) error {
	object, err := c.Get(ctx, gvk, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s/%s is still there, finalizers %q", gvk.Kind, namespace, name, object.GetFinalizers())
}

// Condition fails as long as the object's condition has not this status. Its
// error shows the conditions there are.
func Condition(object *unstructured.Unstructured, kind, status string) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return Never(err)
	}
	for _, entry := range conditions {
		if fields, ok := entry.(map[string]any); ok && fields["type"] == kind && fields["status"] == status {
			return nil
		}
	}
	return fmt.Errorf("%s has no condition %s=%s: %v", name(object), kind, status, conditions)
}

func name(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

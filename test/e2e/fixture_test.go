package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

var (
	definitionKind = kschema.GroupVersionKind{Group: "kro.run", Version: "v1alpha1", Kind: "ResourceGraphDefinition"}
	revisionKind   = kschema.GroupVersionKind{Group: "internal.kro.run", Version: "v1alpha1", Kind: "GraphRevision"}
	configMapKind  = kschema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// define applies a definition, and removes it at the end.
func define(t *testing.T, c *cluster.Cluster, text string) string {
	t.Helper()
	rgd := cluster.Object(t, text)
	c.Apply(t, rgd)
	t.Cleanup(func() { remove(t, c, rgd) })
	return rgd.GetName()
}

// remove deletes an object at the end of a test and waits until it is gone, as long as the controller still runs.
func remove(t *testing.T, c *cluster.Cluster, object *unstructured.Unstructured) {
	t.Helper()
	ctx := context.Background() // that of the test has ended
	if err := c.Client.Delete(ctx, object.DeepCopy()); client.IgnoreNotFound(err) != nil {
		t.Errorf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
		return
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, cluster.Within, true, func(ctx context.Context) (bool, error) {
		last = c.Gone(ctx, object.GroupVersionKind(), object.GetNamespace(), object.GetName())
		return last == nil || meta.IsNoMatchError(last), nil
	})
	if err != nil {
		t.Errorf("waited for it to be gone: %v", last)
	}
}

// state waits for status.state of an object.
func state(t *testing.T, c *cluster.Cluster, kind kschema.GroupVersionKind, namespace, name, want string) *unstructured.Unstructured {
	t.Helper()
	var object *unstructured.Unstructured
	cluster.Eventually(t, fmt.Sprintf("%s %s is %s", kind.Kind, name, want), func(ctx context.Context) (err error) {
		if object, err = c.Get(ctx, kind, namespace, name); err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(object.Object, "status", "state"); got != want {
			return fmt.Errorf("it is %q: %v", got, object.Object["status"])
		}
		return nil
	})
	return object
}

func merge(t *testing.T, c *cluster.Cluster, object *unstructured.Unstructured, patch string) {
	t.Helper()
	if err := c.Client.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatalf("patch %s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// message gives the message of a condition.
func message(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if fields, ok := entry.(map[string]any); ok && fields["type"] == kind {
			return fmt.Sprint(fields["message"])
		}
	}
	return ""
}

// fill replaces NAME in a text, which keeps the braces of expressions readable.
func fill(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }

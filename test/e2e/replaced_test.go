package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/internal/executor"
	"kro.run/kro/test/cluster"
)

// The words by which the API server says that an object is not the one of the UID in a request are known to the executor: what has been replaced is left alone,
// and is not an error to be tried again.
func TestRequestsForAReplacedObjectLeaveItsSuccessorAlone(t *testing.T) {
	c := cluster.Of(t)
	ns := c.Namespace(t)
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	server := executor.Live{Client: client}
	gvr := kschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	c.Apply(t, cluster.Object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: successor, namespace: "+ns+"}, data: {v: own}}"))
	before, err := c.Get(t.Context(), configMapKind, ns, "successor")
	if err != nil {
		t.Fatal(err)
	}
	former := before.DeepCopy()
	former.SetUID(types.UID("former"))
	if err := server.Delete(t.Context(), gvr, former); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := server.Merge(t.Context(), gvr, former, map[string]any{"labels": map[string]any{"a": "b"}}); err != nil {
		t.Errorf("merge: %v", err)
	}
	wanted := cluster.Object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: successor, namespace: "+ns+"}, data: {v: former}}")
	if _, err := server.Apply(t.Context(), gvr, wanted, executor.ApplyOptions{Manager: "test", Force: true, UID: "former"}); !executor.Replaced(err) {
		t.Errorf("apply over another: %v", err)
	}
	wanted.SetName("gone")
	if _, err := server.Apply(t.Context(), gvr, wanted, executor.ApplyOptions{Manager: "test", Force: true, UID: "former"}); !executor.Replaced(err) {
		t.Errorf("apply to one that is gone: %v", err)
	}
	after, err := c.Get(t.Context(), configMapKind, ns, "successor")
	if err != nil {
		t.Fatal(err)
	}
	if after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("it was changed: %v", after.Object)
	}
}

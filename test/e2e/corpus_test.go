package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kro.run/kro/test/cluster"
)

// corpusVariable is the variable that names the folder of upstream's examples for Kubernetes; `make corpus` sets it.
const corpusVariable = "CORPUS"

// The examples that upstream publishes come up as they are.
func TestPublishedExamplesComeUp(t *testing.T) {
	folder := os.Getenv(corpusVariable)
	if folder == "" {
		t.Skip("the examples are not part of this repository; " + corpusVariable + " names their folder")
	}
	c := cluster.Of(t)
	c.Kro(t)
	for _, tc := range []struct {
		name        string
		definitions []string
		instance    string
	}{
		{"vote", []string{"dogsvscats/vote-app/rg.yaml"}, "dogsvscats/vote-app/instance.yaml"},
		{"result", []string{"dogsvscats/result-app/rg.yaml"}, "dogsvscats/result-app/instance.yaml"},
		{"worker", []string{"dogsvscats/worker-app/rg.yaml"}, "dogsvscats/worker-app/instance.yaml"},
		{"webapp", []string{"webapp/rg.yaml"}, "webapp/instance.yaml"},
		{"job", []string{"job-example/rgd.yaml"}, "job-example/instance.yaml"},
		{"core-dns", []string{"core-dns/core-dns.yaml"}, "core-dns/coredns-instance.yaml"},
		// The definition of tenants comes first though it needs the kinds of the other two: they are there when it is tried again.
		{"tenants", []string{"saas-multi-tenant/tenant-rgd.yaml", "saas-multi-tenant/tenant-environment-rgd.yaml", "saas-multi-tenant/tenant-application-rgd.yaml"}, "saas-multi-tenant/tenant-instance.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var names []string
			for _, path := range tc.definitions {
				rgd := readExample(t, folder, path)
				c.Apply(t, rgd)
				t.Cleanup(func() { remove(t, c, rgd) })
				names = append(names, rgd.GetName())
			}
			for _, name := range names {
				state(t, c, definitionKind, "", name, "Active")
			}
			instance := readExample(t, folder, tc.instance)
			if instance.GetNamespace() == "" {
				instance.SetNamespace("default")
			}
			c.Apply(t, instance)
			t.Cleanup(func() { remove(t, c, instance) })
			up := state(t, c, instance.GroupVersionKind(), instance.GetNamespace(), instance.GetName(), "ACTIVE")
			if err := cluster.Condition(up, "Ready", "True"); err != nil {
				t.Error(err)
			}
			if status, _, _ := unstructured.NestedMap(up.Object, "status", "graph"); len(status) == 0 {
				t.Errorf("the instance does not tell how its objects are: %v", up.Object["status"])
			}
		})
	}
}

// readExample reads an object as kubectl does: of a key that stands twice, which one example has, the last counts.
func readExample(t *testing.T, folder, path string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, path))
	object := &unstructured.Unstructured{}
	if err == nil {
		err = yaml.Unmarshal(data, &object.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

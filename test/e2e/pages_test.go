package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/test/cluster"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestExamplesOfThePageOnDefinitionsWork applies the documents of docs/definitions.md in their order, waits for what they promise, and takes them away again.
func TestExamplesOfThePageOnDefinitionsWork(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "definitions.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.Of(t)
	c.Kro(t)
	ns := c.Namespace(t)
	instances := map[string]*unstructured.Unstructured{}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		for _, text := range strings.Split(block[1], "\n---\n") {
			object := cluster.Object(t, text)
			switch kind := object.GetKind(); {
			case kind == definitionKind.Kind:
				define(t, c, text)
				state(t, c, definitionKind, "", object.GetName(), "Active")
			case object.GroupVersionKind().Group == "docs.example.com":
				object.SetNamespace(ns)
				c.Apply(t, object)
				t.Cleanup(func() { remove(t, c, object) })
				instances[kind] = state(t, c, object.GroupVersionKind(), ns, object.GetName(), "ACTIVE")
			default:
				object.SetNamespace(ns)
				c.Apply(t, object)
			}
		}
	}
	if address, _, _ := unstructured.NestedString(instances["Site"].Object, "status", "address"); address == "" {
		t.Errorf("the status of the Site is %v", instances["Site"].Object["status"])
	}
	if cache, _, _ := unstructured.NestedString(instances["Store"].Object, "status", "cache"); cache != "corner-cache" {
		t.Errorf("the status of the Store is %v", instances["Store"].Object["status"])
	}
	for _, name := range []string{"hello-a-example-com", "hello-b-example-com"} {
		if _, err := c.Get(t.Context(), kschema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, ns, name); err != nil {
			t.Error(err)
		}
	}
	server, err := c.Get(t.Context(), kschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, ns, "corner")
	if err != nil {
		t.Fatal(err)
	}
	account, err := c.Get(t.Context(), kschema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, ns, "corner")
	if err != nil {
		t.Fatal(err)
	}
	if uid := account.GetAnnotations()["docs.example.com/server"]; uid != string(server.GetUID()) {
		t.Errorf("the account names the server %q, want %q", uid, server.GetUID())
	}
	entry := func() string {
		directory, err := c.Get(t.Context(), configMapKind, ns, "directory")
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := unstructured.NestedString(directory.Object, "data", "store-corner")
		return line
	}
	if line := entry(); line != "corner" {
		t.Errorf("the line in the directory is %q", line)
	}

	remove(t, c, instances["Store"])
	if line := entry(); line != "" {
		t.Errorf("the line in the directory is %q after the store has gone", line)
	}
	cluster.Eventually(t, "the claim stays, without kro's labels", func(ctx context.Context) error {
		claim, err := c.Get(ctx, kschema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, ns, "corner-data")
		if err == nil && claim.GetLabels()["kro.run/owned"] != "" {
			t.Errorf("the claim has the labels %v", claim.GetLabels())
		}
		return err
	})
}

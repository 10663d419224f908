package conformance

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	definitionResource = kschema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}
	crdResource        = kschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaceResource  = kschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Clear removes what a case has left, as far as it can: its instances while its definitions still serve them, the definitions, their CRDs, its
// namespace.
func (r *Run) Clear(ctx context.Context) {
	group := r.Namespace + ".example.com"
	crds := r.list(ctx, crdResource, func(o *unstructured.Unstructured) bool { return text(o, "spec", "group") == group })
	for _, crd := range crds {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if len(versions) == 0 {
			continue
		}
		version, _ := versions[0].(map[string]any)["name"].(string)
		resource := kschema.GroupVersionResource{Group: group, Version: version, Resource: text(crd, "spec", "names", "plural")}
		r.remove(ctx, resource, func(*unstructured.Unstructured) bool { return true })
	}
	r.remove(ctx, definitionResource, func(o *unstructured.Unstructured) bool { return text(o, "spec", "schema", "group") == group })
	r.remove(ctx, crdResource, func(o *unstructured.Unstructured) bool { return text(o, "spec", "group") == group })
	_ = r.Client.Resource(namespaceResource).Delete(ctx, r.Namespace, metav1.DeleteOptions{})
}

// remove deletes the objects that are meant, and waits until they have gone.
func (r *Run) remove(ctx context.Context, resource kschema.GroupVersionResource, meant func(*unstructured.Unstructured) bool) {
	for _, o := range r.list(ctx, resource, meant) {
		_ = r.Client.Resource(resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	_ = until(ctx, patience, func() error {
		if left := len(r.list(ctx, resource, meant)); left > 0 {
			return fmt.Errorf("%d %s are still there", left, resource.Resource)
		}
		return nil
	})
}

func (r *Run) list(ctx context.Context, resource kschema.GroupVersionResource, meant func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	all, err := r.Client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var found []*unstructured.Unstructured
	for i := range all.Items {
		if meant(&all.Items[i]) {
			found = append(found, &all.Items[i])
		}
	}
	return found
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

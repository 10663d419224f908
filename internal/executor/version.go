package executor

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/apply"
)

// The version of kro stands in a label of every child. That kro has another version is no reason to write all children of a
// cluster: an object keeps the version that wrote it last until it changes for another reason.

// keepVersion leaves the version label of an object as it is when nothing else of it would change.
func (w *write) keepVersion() {
	if w.observed == nil {
		return
	}
	own, there := version(w.desired), version(w.observed)
	if own == there || own == "" || there == "" {
		return
	}
	setVersion(w.desired, there)
	if !apply.Contains(w.observed.Object, w.desired.Object) {
		setVersion(w.desired, own)
	}
}

// contentHash is the content of a desired object, whatever version of kro wants it.
func contentHash(desired *unstructured.Unstructured) string {
	own := version(desired)
	if own == "" {
		return apply.ContentHash(desired.Object)
	}
	setVersion(desired, "")
	hash := apply.ContentHash(desired.Object)
	setVersion(desired, own)
	return hash
}

func version(object *unstructured.Unstructured) string {
	labels, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "labels")
	entries, _ := labels.(map[string]any)
	v, _ := entries[v1alpha1.VersionLabel].(string)
	return v
}

func setVersion(desired *unstructured.Unstructured, v string) {
	labels, _, _ := unstructured.NestedFieldNoCopy(desired.Object, "metadata", "labels")
	if entries, ok := labels.(map[string]any); ok {
		entries[v1alpha1.VersionLabel] = v
	}
}

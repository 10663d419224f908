package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/internal/apply"
)

// External fields are those that a template gives up to whoever else writes them: the replicas that an autoscaler sets. kro sets such a field when it
// creates the object and keeps it until another manager writes it; from then on it applies the object without the field, which hands it over.
//
// The caches hold no managedFields. So what makes kro look is that the field has another value than the template gives; then the object is read once,
// live, with its managers. As long as the values agree nobody can tell who wrote them, and it does not matter.

// ceded are the fields of one object that were given up. A successor of the object starts with all of them.
type ceded struct {
	uid   UID
	paths map[string]bool
}

func (m *Memory) cededPaths(owner string, key Key, uid UID) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.ceded[owner][key]; c.uid == uid {
		return c.paths
	}
	return nil
}

func (m *Memory) cede(owner string, key Key, uid UID, paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ceded[owner] == nil {
		m.ceded[owner] = map[Key]ceded{}
	}
	c := m.ceded[owner][key]
	known := map[string]bool{}
	if c.uid == uid {
		for p := range c.paths {
			known[p] = true
		}
	}
	for _, p := range paths {
		known[p] = true
	}
	m.ceded[owner][key] = ceded{uid: uid, paths: known}
}

// leaveCeded takes the fields out of a desired object that have been given up before.
func (r *run) leaveCeded(w *write) {
	if len(w.node.ExternalFields) == 0 || w.observed == nil {
		return
	}
	gone := r.Memory.cededPaths(r.Owner.Key(), w.key, w.observed.GetUID())
	for _, path := range w.node.ExternalFields {
		if gone[strings.Join(path, ".")] {
			unstructured.RemoveNestedField(w.desired.Object, path...)
		}
	}
}

// yield looks for external fields that another manager has written since, and gives them up. It tells whether nothing is left to be sent.
func (r *run) yield(ctx context.Context, w *write, observed *unstructured.Unstructured) (inOrder bool, err error) {
	if !slices.ContainsFunc(w.node.ExternalFields, func(path []string) bool { return differs(w.desired, observed, path) }) {
		return false, nil
	}
	live, err := r.server().Get(ctx, w.key.GVR, w.key.Namespace, w.key.Name)
	if err != nil {
		return false, fmt.Errorf("looking for who writes the external fields: %w", err)
	}
	if live.GetUID() != observed.GetUID() || !r.cede(w, live) {
		return false, nil
	}
	return r.Memory.inOrder(r.Owner.Key(), w.slot(), w.desired, w.hash, observed, false), nil
}

// cede gives up the external fields that another manager holds on the live object. It tells whether there were any.
func (r *run) cede(w *write, live *unstructured.Unstructured) bool {
	var paths []string
	for _, path := range w.node.ExternalFields {
		if differs(w.desired, live, path) && heldByOther(live, w.manager, path) {
			unstructured.RemoveNestedField(w.desired.Object, path...)
			paths = append(paths, strings.Join(path, "."))
		}
	}
	if len(paths) == 0 {
		return false
	}
	r.Memory.cede(r.Owner.Key(), w.key, live.GetUID(), paths)
	w.hash = contentHash(w.desired)
	return true
}

func differs(desired, observed *unstructured.Unstructured, path []string) bool {
	want, has, err := unstructured.NestedFieldNoCopy(desired.Object, path...)
	if err != nil || !has {
		return false
	}
	stands, _, err := unstructured.NestedFieldNoCopy(observed.Object, path...)
	return err != nil || !apply.Contains(stands, want)
}

// heldByOther tells that a manager other than kro's own owns the field at a path, or something below it.
func heldByOther(live *unstructured.Unstructured, own string, path []string) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		if entry.Manager == own && entry.Operation == metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			return false
		}
		var fields map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			return false
		}
		for _, step := range path {
			next, ok := fields["f:"+step].(map[string]any)
			if !ok {
				return false
			}
			fields = next
		}
		return true
	})
}

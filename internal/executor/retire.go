package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/apply"
)

// Member is an object of an instance, with the resource to reach it by.
type Member struct {
	GVR    kschema.GroupVersionResource
	Object *unstructured.Unstructured
}

// Members lists the objects of an ApplySet in the caches of the given resources. It fails when a cache cannot say.
func Members(stores Stores, resources []kschema.GroupVersionResource, setID string) ([]Member, error) {
	var members []Member
	for _, gvr := range resources {
		store := stores.Members(gvr)
		if !store.Synced() {
			if err := store.Err(); err != nil {
				return nil, err
			}
			return nil, &UnsyncedError{GVR: gvr, Done: store.Done()}
		}
		for _, object := range store.ByIndex(IndexPartOf, setID) {
			members = append(members, Member{GVR: gvr, Object: object})
		}
	}
	return members, nil
}

// IndexPartOf is the index of the caches by ApplySet.
const IndexPartOf = "part-of"

// UnsyncedError says that a cache has not been read yet. It passes by itself.
type UnsyncedError struct {
	GVR  kschema.GroupVersionResource
	Done <-chan struct{}
}

// Error names the kind.
func (e *UnsyncedError) Error() string {
	return fmt.Sprintf("the objects of %s have not been read yet", e.GVR.GroupResource())
}

// Retire deletes the next wave of members: those whose node the graph no longer has first, then the highest
// apply-order. It does not wait; while members of a wave are on their way out, the wave below is left alone. It returns
// the members of the wave that it waits for.
func (e *Executor) Retire(ctx context.Context, owner string, members []Member, known func(node string) bool) ([]Member, error) {
	wave := nextWave(members, known)
	return wave, e.RetireWave(ctx, nil, owner, wave)
}

// Wave is the next wave of members, by apply-order.
func Wave(members []Member) []Member { return nextWave(members, nil) }

// RetireWave deletes members, or lets go of them, without waiting for them to be gone. The server is the executor's own unless another is given.
func (e *Executor) RetireWave(ctx context.Context, server Server, owner string, wave []Member) error {
	if server == nil {
		server = e.Server
	}
	errs := make([]error, len(wave))
	var removals sync.WaitGroup
	for i, m := range wave {
		if m.Object.GetDeletionTimestamp() != nil {
			continue
		}
		removals.Add(1)
		e.background(func() {
			defer removals.Done()
			if err := e.remove(ctx, server, owner, m); err != nil {
				errs[i] = fmt.Errorf("deleting %s: %w", Describe(m.Object), err)
			}
		})
	}
	removals.Wait()
	return errors.Join(errs...)
}

func (e *Executor) remove(ctx context.Context, server Server, owner string, m Member) error {
	select {
	case e.Slots <- struct{}{}:
		defer func() { <-e.Slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	key := Key{GVR: m.GVR, Namespace: m.Object.GetNamespace(), Name: m.Object.GetName()}
	defer e.locks.lock(key)()
	e.Memory.drop(owner, slot{Key: key})
	if isOrphan(m.Object) {
		return server.Merge(ctx, m.GVR, m.Object, withoutMarks(m.Object))
	}
	return server.Delete(ctx, m.GVR, m.Object)
}

// isOrphan tells that an object stays when its owner no longer wants it (deletionPolicy: Orphaned). The object itself says so: a deletion works without
// the graph.
func isOrphan(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()[v1alpha1.DeletionPolicyAnnotation] == string(v1alpha1.DeletionPolicyOrphaned)
}

// withoutMarks is the merge patch for the metadata of an object that kro lets go of: its labels and annotations are taken away, nothing else.
func withoutMarks(object *unstructured.Unstructured) map[string]any {
	labels, annotations := map[string]any{}, map[string]any{}
	for key, value := range object.GetLabels() {
		if isMark(key) || key == v1alpha1.PartOfLabel || key == v1alpha1.ManagedByLabel && value == v1alpha1.ManagedByValue {
			labels[key] = nil
		}
	}
	for key := range object.GetAnnotations() {
		if isMark(key) {
			annotations[key] = nil
		}
	}
	return map[string]any{"labels": labels, "annotations": annotations}
}

func isMark(key string) bool {
	return strings.HasPrefix(key, "kro.run/") || strings.HasPrefix(key, "internal.kro.run/")
}

func nextWave(members []Member, known func(node string) bool) []Member {
	if known != nil {
		var strangers []Member
		for _, m := range members {
			if !known(NodeOf(m.Object)) {
				strangers = append(strangers, m)
			}
		}
		if len(strangers) > 0 {
			members = strangers
		}
	}
	objects := make([]*unstructured.Unstructured, len(members))
	byUID := make(map[UID]Member, len(members))
	for i, m := range members {
		objects[i] = m.Object
		byUID[m.Object.GetUID()] = m
	}
	_, next := apply.NextWave(objects)
	wave := make([]Member, len(next))
	for i, o := range next {
		wave[i] = byUID[o.GetUID()]
	}
	return wave
}

// NodeOf is the id of the node that an object was made from.
func NodeOf(object *unstructured.Unstructured) string {
	if full := object.GetAnnotations()[v1alpha1.NodePathAnnotation]; full != "" {
		return full
	}
	return object.GetLabels()[v1alpha1.NodeIDLabel]
}

// isOwned tells that an object carries the label by which the caches select.
func isOwned(object *unstructured.Unstructured) bool {
	return object.GetLabels()[v1alpha1.OwnedLabel] == "true"
}

func isMember(object *unstructured.Unstructured, setID string) bool {
	return object.GetLabels()[v1alpha1.PartOfLabel] == setID
}

// Describe names an object for people: Kind namespace/name.
func Describe(object *unstructured.Unstructured) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return object.GetKind() + " " + name
}

// maxNamed bounds how many objects a message names.
const maxNamed = 5

// DescribeWave names the objects of a wave of deletion, the first few of them, and what holds each.
func DescribeWave(wave []Member) string {
	var names []string
	for i, m := range wave {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(wave)-maxNamed))
			break
		}
		name := Describe(m.Object)
		if finalizers := m.Object.GetFinalizers(); len(finalizers) > 0 {
			name += " (held by finalizer " + strings.Join(finalizers, ", ") + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

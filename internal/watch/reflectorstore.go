package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// reflectorStore is an informer's Store as the Reflector sees it. Objects are compacted once on their way in: pages of a list as they are read,
// objects of a streamed list by Transformer, those of watch events here.
type reflectorStore struct{ i *informer }

var (
	_ cache.TransformingStore        = reflectorStore{}
	_ cache.ReflectorBookmarkStore   = reflectorStore{}
	_ cache.ListerWatcherWithContext = &informer{}
)

// Add takes in a new object.
func (r reflectorStore) Add(obj any) error { return r.saw(obj, false) }

// Update takes in a changed object.
func (r reflectorStore) Update(obj any) error { return r.saw(obj, false) }

// Delete takes in the last state of an object that is gone.
func (r reflectorStore) Delete(obj any) error {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	return r.saw(obj, true)
}

func (r reflectorStore) saw(obj any, deleted bool) error {
	object, err := objectOf(obj)
	if err != nil {
		return err
	}
	r.i.compact.compact(object)
	r.i.store.saw(object, deleted)
	return nil
}

// Replace takes in a complete list.
func (r reflectorStore) Replace(listed []any, resourceVersion string) error {
	objs := make([]*unstructured.Unstructured, len(listed))
	for n, obj := range listed {
		object, err := objectOf(obj)
		if err != nil {
			return err
		}
		objs[n] = object
	}
	if r.i.streaming.Load() {
		r.i.store.works()
	}
	r.i.store.replace(objs, parseVersion(resourceVersion))
	return nil
}

// Bookmark takes in that there is nothing more up to a version.
func (r reflectorStore) Bookmark(resourceVersion string) error {
	r.i.store.bookmark(parseVersion(resourceVersion))
	return nil
}

// Resync has nothing to do: a store that is the state needs no reminding.
func (r reflectorStore) Resync() error { return nil }

// Transformer compacts the objects of a streamed list as they come.
func (r reflectorStore) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		object, err := objectOf(obj)
		if err != nil {
			return nil, err
		}
		r.i.compact.compact(object)
		return object, nil
	}
}

func objectOf(obj any) (*unstructured.Unstructured, error) {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("take in a %T from the watch: want *unstructured.Unstructured", obj)
	}
	return object, nil
}

package watch

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// key names an object within a source. Its strings are those of the object.
type key struct{ namespace, name string }

func keyOf(obj *unstructured.Unstructured) key {
	return key{namespace: obj.GetNamespace(), name: obj.GetName()}
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

func compareObjects(a, b *unstructured.Unstructured) int { return compareKeys(keyOf(a), keyOf(b)) }

// objects is an indexed set of objects. The zero value is empty and ready.
type objects struct {
	byKey      map[key]*unstructured.Unstructured
	byUID      map[types.UID]*unstructured.Unstructured
	partOf     map[string][]*unstructured.Unstructured // each ordered by key
	instanceID map[string][]*unstructured.Unstructured
}

// put sets what stands under k; nil removes it.
func (o *objects) put(k key, obj *unstructured.Unstructured) {
	if o.byKey == nil {
		o.reset(0)
	}
	if old := o.byKey[k]; old != nil {
		if old == obj {
			return
		}
		delete(o.byUID, old.GetUID())
		unlist(o.partOf, indexValue(IndexPartOf, old), old)
		unlist(o.instanceID, indexValue(IndexInstanceID, old), old)
	}
	if obj == nil {
		delete(o.byKey, k)
		return
	}
	o.byKey[k] = obj
	if uid := obj.GetUID(); uid != "" {
		o.byUID[uid] = obj
	}
	enlist(o.partOf, indexValue(IndexPartOf, obj), obj)
	enlist(o.instanceID, indexValue(IndexInstanceID, obj), obj)
}

// reset empties the set and makes room for n objects.
func (o *objects) reset(n int) {
	o.byKey = make(map[key]*unstructured.Unstructured, n)
	o.byUID = make(map[types.UID]*unstructured.Unstructured, n)
	o.partOf = map[string][]*unstructured.Unstructured{}
	o.instanceID = map[string][]*unstructured.Unstructured{}
}

// index gives the list that stands under value. It must not leave the lock of the store.
func (o *objects) index(index, value string) []*unstructured.Unstructured {
	switch index {
	case IndexPartOf:
		return o.partOf[value]
	case IndexInstanceID:
		return o.instanceID[value]
	}
	return nil
}

func enlist(index map[string][]*unstructured.Unstructured, value string, obj *unstructured.Unstructured) {
	if value == "" {
		return
	}
	listed := index[value]
	i, _ := slices.BinarySearchFunc(listed, obj, compareObjects)
	index[value] = slices.Insert(listed, i, obj)
}

func unlist(index map[string][]*unstructured.Unstructured, value string, obj *unstructured.Unstructured) {
	listed := index[value]
	i, ok := slices.BinarySearchFunc(listed, obj, compareObjects)
	if !ok {
		return
	}
	if len(listed) == 1 {
		delete(index, value)
		return
	}
	index[value] = slices.Delete(listed, i, i+1)
}

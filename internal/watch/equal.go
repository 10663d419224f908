package watch

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sameContent tells whether two states of an object differ in nothing but resourceVersion and managedFields: no reader can tell them apart.
func sameContent(a, b *unstructured.Unstructured) bool {
	if a == nil || b == nil {
		return a == b
	}
	if len(a.Object) != len(b.Object) {
		return false
	}
	for key, value := range a.Object {
		other, ok := b.Object[key]
		if !ok {
			return false
		}
		if key == "metadata" {
			if !sameMetadata(value, other) {
				return false
			}
			continue
		}
		if !sameJSON(value, other) {
			return false
		}
	}
	return true
}

// sameMetadata compares metadata without the two fields that change on every write.
func sameMetadata(a, b any) bool {
	first, ok := a.(map[string]any)
	second, alsoOK := b.(map[string]any)
	if !ok || !alsoOK {
		return sameJSON(a, b)
	}
	counted := 0
	for key, value := range first {
		if ignored(key) {
			continue
		}
		other, ok := second[key]
		if !ok || !sameJSON(value, other) {
			return false
		}
		counted++
	}
	for key := range second {
		if !ignored(key) {
			counted--
		}
	}
	return counted == 0
}

func ignored(key string) bool { return key == "resourceVersion" || key == "managedFields" }

// sameJSON compares two JSON values. Branches that share memory, as compact makes them, cost nothing.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMap(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && sameList(a, b)
	case string, bool, int64, float64, nil:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

func sameMap(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	if reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true
	}
	for key, value := range a {
		other, ok := b[key]
		if !ok || !sameJSON(value, other) {
			return false
		}
	}
	return true
}

func sameList(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !sameJSON(a[i], b[i]) {
			return false
		}
	}
	return true
}

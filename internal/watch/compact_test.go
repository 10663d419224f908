package watch

import (
	"encoding/json"
	"reflect"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"kro.run/kro/api/v1alpha1"
)

func TestCompactKeepsTheContent(t *testing.T) {
	obj, want := deployment(t, 1), deployment(t, 1)
	unstructured.RemoveNestedField(want.Object, "metadata", "managedFields")
	newCompactor().compact(obj)
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("compact: -want, +got:\n%s", diff)
	}
}

func TestCompactShares(t *testing.T) {
	c := newCompactor()
	objs := make([]*unstructured.Unstructured, 3)
	for i := range objs {
		objs[i] = deployment(t, i)
		c.compact(objs[i])
	}
	// The second sighting is kept, so the second and the third share.
	branch := func(obj *unstructured.Unstructured) unsafe.Pointer {
		strategy, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "strategy")
		return reflect.ValueOf(strategy).UnsafePointer()
	}
	if branch(objs[1]) != branch(objs[2]) {
		t.Error("equal branches of two objects do not share memory")
	}
	keyData := func(obj *unstructured.Unstructured) *byte {
		for key := range obj.Object["metadata"].(map[string]any)["labels"].(map[string]any) {
			if key == v1alpha1.InstanceIDLabel {
				return unsafe.StringData(key)
			}
		}
		return nil
	}
	if keyData(objs[0]) == nil || keyData(objs[0]) != keyData(objs[1]) {
		t.Error("equal keys of two objects do not share memory")
	}
	kind := func(obj *unstructured.Unstructured) *byte { return unsafe.StringData(obj.GetKind()) }
	if kind(objs[0]) != kind(objs[1]) {
		t.Error("equal strings of two objects do not share memory")
	}
}

// Whatever the objects, compaction changes nothing but managedFields, and does not mix objects up.
func TestCompactProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCompactor()
		for range rapid.IntRange(1, 6).Draw(t, "objects") {
			content := jsonObjects(3).Draw(t, "object")
			obj := &unstructured.Unstructured{Object: content}
			want := obj.DeepCopy()
			unstructured.RemoveNestedField(want.Object, "metadata", "managedFields")
			c.compact(obj)
			if diff := cmp.Diff(want.Object, obj.Object); diff != "" {
				t.Fatalf("compact: -want, +got:\n%s", diff)
			}
			if !sameContent(want, obj) {
				t.Fatalf("sameContent denies that %v is %v", want, obj)
			}
		}
	})
}

func TestCompactorForgets(t *testing.T) {
	var table generations[int, int]
	for i := range 3 * generationSize {
		table.put(i, i)
		if value, ok := table.get(0); !ok || value != 0 {
			t.Fatalf("after %d entries the one that is asked for all the time is gone", i)
		}
	}
	if n := len(table.young) + len(table.old); n > 2*generationSize {
		t.Errorf("the table has %d entries, want at most %d", n, 2*generationSize)
	}
	if _, ok := table.get(1); ok {
		t.Error("the table has not forgotten what nobody asked for")
	}
}

func TestSameContent(t *testing.T) {
	base := `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"b"}},"spec":{"n":1,"l":["x"]}}`
	tests := map[string]struct {
		reason string
		other  string
		want   bool
	}{
		"Same":            {"nothing differs", base, true},
		"ResourceVersion": {"a write that changed nothing", `{"kind":"K","metadata":{"name":"a","resourceVersion":"2","labels":{"a":"b"}},"spec":{"n":1,"l":["x"]}}`, true},
		"ManagedFields":   {"somebody else owns a field now", `{"kind":"K","metadata":{"name":"a","managedFields":[{}],"labels":{"a":"b"}},"spec":{"n":1,"l":["x"]}}`, true},
		"Label":           {"metadata counts", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"c"}},"spec":{"n":1,"l":["x"]}}`, false},
		"Annotations":     {"what was added to metadata counts", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"b"},"annotations":{}},"spec":{"n":1,"l":["x"]}}`, false},
		"Removed":         {"what was removed counts", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1"},"spec":{"n":1,"l":["x"]}}`, false},
		"Number":          {"a value", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"b"}},"spec":{"n":2,"l":["x"]}}`, false},
		"List":            {"a list element", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"b"}},"spec":{"n":1,"l":["y"]}}`, false},
		"Status":          {"a new part", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"b"}},"spec":{"n":1,"l":["x"]},"status":{}}`, false},
		"Renamed":         {"a part under another key", `{"kind":"K","metadata":{"name":"a","resourceVersion":"1","labels":{"a":"b"}},"other":{"n":1,"l":["x"]}}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := decode(t, base), decode(t, tc.other)
			if sameContent(a, b) != tc.want || sameContent(b, a) != tc.want {
				t.Errorf("%s\nsameContent: got %t, want %t", tc.reason, !tc.want, tc.want)
			}
		})
	}
	if sameContent(decode(t, base), nil) || !sameContent(nil, nil) {
		t.Error("sameContent: nothing is the same as nothing, and as nothing else")
	}
}

func jsonObjects(depth int) *rapid.Generator[map[string]any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just(any(nil)), rapid.Bool().AsAny(), rapid.StringMatching(`[ab]{0,2}`).AsAny(),
		rapid.Int64Range(0, 2).AsAny(), rapid.SampledFrom([]float64{0.5, 1}).AsAny(),
	}
	keys := rapid.SampledFrom([]string{"a", "b", "metadata", "managedFields"})
	if depth == 0 {
		return rapid.MapOfN(keys, rapid.OneOf(leaves...), 0, 2)
	}
	objects := jsonObjects(depth - 1).AsAny()
	values := rapid.OneOf(append(leaves, objects, rapid.SliceOfN(rapid.OneOf(append(leaves, objects)...), 0, 2).AsAny())...)
	return rapid.MapOfN(keys, values, 0, 4)
}

func decode(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

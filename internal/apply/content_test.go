package apply

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestContains(t *testing.T) {
	tests := map[string]struct {
		reason            string
		observed, desired string
		want              bool
	}{
		"More":            {"fields of others do not matter", `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"c":2}}`, true},
		"Other":           {"a value that drifted", `{"a":1}`, `{"a":2}`, false},
		"Missing":         {"a field that was removed", `{"b":1}`, `{"a":1}`, false},
		"NumberForms":     {"1 and 1.0 are one value", `{"a":1.0,"b":5,"c":1.5}`, `{"a":1,"b":5.0,"c":1.5}`, true},
		"NumberIsNoText":  {"an int-or-string keeps its type", `{"a":"80"}`, `{"a":80}`, false},
		"TrueIsNoText":    {"an annotation \"true\" is not a boolean", `{"a":"true"}`, `{"a":true}`, false},
		"ListDefaulted":   {"elements may gain defaults", `[{"port":80,"protocol":"TCP"}]`, `[{"port":80}]`, true},
		"ListLonger":      {"somebody added an element", `[1,2]`, `[1]`, false},
		"ListOrder":       {"position counts", `[2,1]`, `[1,2]`, false},
		"EmptyMapThere":   {"presence is what was asked for", `{"selfSigned":{}}`, `{"selfSigned":{}}`, true},
		"EmptyMapFilled":  {"defaults may fill it", `{"emptyDir":{"medium":""}}`, `{"emptyDir":{}}`, true},
		"EmptyMapAbsent":  {"its removal is drift", `{}`, `{"selfSigned":{}}`, false},
		"EmptyListAbsent": {"its removal may be drift", `{}`, `{"rules":[]}`, false},
		"EmptyListThere":  {"an empty list is an empty list", `{"rules":[]}`, `{"rules":[]}`, true},
		"NullAbsent":      {"servers drop null", `{}`, `{"a":null}`, true},
		"NullNull":        {"nullable fields keep it", `{"a":null}`, `{"a":null}`, true},
		"NullValue":       {"a value where none should be", `{"a":1}`, `{"a":null}`, false},
		"MapForList":      {"another type", `{"a":{}}`, `{"a":[]}`, false},
		"NullForMap":      {"null is no map", `{"a":null}`, `{"a":{}}`, false},
		"Quantity":        {"normalised values are sent again, once", `{"cpu":"1"}`, `{"cpu":"1000m"}`, false},
		"BigNumbers":      {"neighbours above 2^53 differ", `{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Contains(decode(t, tc.observed), decode(t, tc.desired)); got != tc.want {
				t.Errorf("%s\nContains(%s, %s): got %t, want %t", tc.reason, tc.observed, tc.desired, got, tc.want)
			}
		})
	}
}

func TestContentHash(t *testing.T) {
	type object = map[string]any
	tests := map[string]struct {
		reason string
		a, b   object
		equal  bool
	}{
		"NumberForms":   {"the same number", object{"a": int64(1), "b": 1.5}, object{"b": json.Number("1.5"), "a": 1.0}, true},
		"EmptyForms":    {"a nil map is an empty one", object{"a": map[string]any(nil), "b": []any(nil)}, object{"a": object{}, "b": []any{}}, true},
		"EmptyAndNull":  {"null is not empty", object{"a": nil}, object{"a": object{}}, false},
		"NullAndAbsent": {"null is not absent", object{"a": nil}, object{}, false},
		"MapAndList":    {"empty map and empty list", object{"a": object{}}, object{"a": []any{}}, false},
		"TextAndNumber": {"types count", object{"a": "1"}, object{"a": int64(1)}, false},
		"Boundaries":    {"texts do not run together", object{"ab": "c"}, object{"a": "bc"}, false},
		"Nesting":       {"where a list ends counts", object{"a": []any{[]any{"x"}, "y"}}, object{"a": []any{[]any{"x", "y"}}}, false},
		"BigNumbers":    {"neighbours above 2^53 differ", object{"a": int64(9007199254740993)}, object{"a": int64(9007199254740992)}, false},
		"Booleans":      {"true is not false", object{"a": true}, object{"a": false}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ContentHash(tc.a) == ContentHash(tc.b); got != tc.equal {
				t.Errorf("%s\nContentHash(%v) == ContentHash(%v): got %t, want %t", tc.reason, tc.a, tc.b, got, tc.equal)
			}
		})
	}
}

// The hash is kept in the status of instances: a release that changes it would apply every child of a fleet once more.
func TestContentHashStaysTheSame(t *testing.T) {
	const want = "2132dd790f37e36dfba53de57fb3c192"
	got := ContentHash(map[string]any{"kind": "ConfigMap", "data": map[string]any{"n": int64(1), "f": 1.5, "l": []any{"x", true, nil}}})
	if got != want {
		t.Errorf("ContentHash: got %s, want %s", got, want)
	}
}

// An object contains itself and all its parts, however its numbers are written, and what it contains both ways has the same hash.
func TestContentProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := objects(2).Draw(t, "a"), objects(2).Draw(t, "b")
		same := rewritten(a).(map[string]any)
		if ContentHash(a) != ContentHash(same) {
			t.Fatalf("ContentHash(%v) differs from that of %v", a, same)
		}
		if !Contains(a, same) || !Contains(same, a) {
			t.Fatalf("%v does not contain %v", a, same)
		}
		if ContentHash(a) == ContentHash(b) && !Contains(a, b) {
			t.Fatalf("%v and %v have one hash and differ", a, b)
		}
		grown := rewritten(a).(map[string]any)
		grown["an extra key"] = b
		if !Contains(grown, a) || ContentHash(grown) == ContentHash(a) {
			t.Fatalf("%v does not contain %v, or has the same hash", grown, a)
		}
	})
}

func objects(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		return rapid.MapOfN(rapid.StringMatching(`[a-d]{1,2}`), values(depth), 0, 4).Draw(t, "object")
	})
}

func values(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just(any(nil)), rapid.Bool().AsAny(), rapid.StringMatching(`[a-c1:]{0,3}`).AsAny(),
		rapid.Int64().AsAny(), rapid.Int64Range(-3, 3).AsAny(), rapid.Float64Range(-4, 4).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	return rapid.OneOf(append(leaves, objects(depth-1).AsAny(), rapid.SliceOfN(values(depth-1), 0, 3).AsAny())...)
}

// rewritten is a copy in which small whole numbers have another Go type.
func rewritten(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for k, v := range value {
			copied[k] = rewritten(v)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, v := range value {
			copied[i] = rewritten(v)
		}
		return copied
	case int64:
		if value > -1<<50 && value < 1<<50 {
			return float64(value)
		}
	}
	return value
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func BenchmarkContentHash(b *testing.B) {
	obj := deployment()
	b.ReportAllocs()
	for b.Loop() {
		ContentHash(obj)
	}
}

func BenchmarkContains(b *testing.B) {
	observed, desired := deployment(), deployment()
	b.ReportAllocs()
	for b.Loop() {
		if !Contains(observed, desired) {
			b.Fatal("a deployment does not contain itself")
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	obj := deployment()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(obj); err != nil {
			b.Fatal(err)
		}
	}
}

func deployment() map[string]any {
	type object = map[string]any
	labels := object{}
	for i := range 12 {
		labels[fmt.Sprintf("kro.run/label-%d", i)] = fmt.Sprintf("value-%d", i)
	}
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": object{"name": "web", "namespace": "prod", "labels": labels, "annotations": object{"internal.kro.run/apply-order": "2"}},
		"spec": object{
			"replicas": int64(3), "selector": object{"matchLabels": object{"app": "web"}},
			"template": object{
				"metadata": object{"labels": object{"app": "web"}},
				"spec": object{"containers": []any{object{
					"name": "web", "image": "nginx:1.27", "ports": []any{object{"containerPort": int64(80)}},
					"env":       []any{object{"name": "A", "value": "1"}, object{"name": "B", "value": "2"}},
					"resources": object{"requests": object{"cpu": "100m", "memory": "64Mi"}},
				}}},
			},
		},
	}
}

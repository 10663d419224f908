package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
)

// plain is what client-go decodes with.
func plain() runtime.SerializerInfo {
	return dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer.SupportedMediaTypes()[0]
}

func fast(lean bool) runtime.SerializerInfo {
	return fasten(dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer, lean).SupportedMediaTypes()[0]
}

// compare decodes data both ways.
func compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, data string, target func() runtime.Object) {
	t.Helper()
	want, wantGVK, wantErr := plain().Serializer.Decode([]byte(data), nil, target())
	got, gotGVK, gotErr := fast(false).Serializer.Decode([]byte(data), nil, target())
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		t.Fatalf("%s: the error is %v, not %v", data, gotErr, wantErr)
	}
	if wantErr != nil {
		return
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: (-client-go +wire)\n%s", data, cmp.Diff(want, got))
	}
	if *wantGVK != *gotGVK {
		t.Fatalf("%s: the kind is %v, not %v", data, gotGVK, wantGVK)
	}
}

func targets() map[string]func() runtime.Object {
	return map[string]func() runtime.Object{
		"object": func() runtime.Object { return &unstructured.Unstructured{} },
		"list":   func() runtime.Object { return &unstructured.UnstructuredList{} },
		"any":    func() runtime.Object { return nil },
	}
}

func TestDecodesAsClientGo(t *testing.T) {
	documents := []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"m"}]},"data":{"k":"v"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","n":[1,-1,0,-0,1.0,1e3,9223372036854775807,9223372036854775808,-9223372036854775808,1E-7,0.1]}`,
		`{"apiVersion":"v1","kind":"ConfigMap","n":1e999}`,
		`{"apiVersion":"v1","kind":"X","s":"\u00e9\n\"\\ \ud83d\ude00 \ud800 é😀","\u006bind2":1}`,
		"{\"apiVersion\":\"v1\",\"kind\":\"X\",\"s\":\"\xff\"}",
		`{"apiVersion":"v1","kind":"X","a":1,"a":{"b":2},"a":{"c":3}}`,
		`{"apiVersion":"v1","kind":"X","kind":"Y"}`,
		`{"apiVersion":"v1","kind":"X","nothing":null,"empty":{},"none":[],"t":true,"f":false}`,
		`{"kind":"X"}`, `{"apiVersion":"v1"}`, `{}`, `null`, `[]`, `"x"`, `1`, ``, ` `, `{`, `{"apiVersion":"v1","kind":"X"} x`, `{"apiVersion":"v1","kind":"X"}{}`,
		`{"apiVersion":1,"kind":"X"}`, `{"apiVersion":"v1","kind":["X"]}`,
		` {"apiVersion" : "v1" ,` + "\n" + `"kind":"X"} ` + "\n",
		`{"apiVersion":"v1","kind":"XList","metadata":{"resourceVersion":"5","continue":"c"},"items":[{"metadata":{"name":"a"}},{"apiVersion":"v2","kind":"Z"},{"kind":"Q"}]}`,
		`{"apiVersion":"v1","kind":"XList","items":[]}`, `{"apiVersion":"v1","kind":"XList","items":null}`, `{"apiVersion":"v1","kind":"XList"}`,
		`{"apiVersion":"v1","kind":"XList","items":{}}`, `{"apiVersion":"v1","kind":"XList","items":[1]}`, `{"apiVersion":"v1","kind":"XList","items":[null]}`,
		`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}`,
		`{"apiVersion":"a/b/c","kind":"X"}`,
		`{"apiVersion":"v1","kind":"Deep","d":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		`{"apiVersion":"v1","kind":"Deep","d":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	}
	for name, target := range targets() {
		t.Run(name, func(t *testing.T) {
			for _, document := range documents {
				compare(t, document, target)
			}
		})
	}
}

func TestStatusOfAnotherGroupIsAnObject(t *testing.T) {
	object, _, err := fast(false).Serializer.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Status","status":{"code":410}}`), nil, nil)
	if _, ok := object.(*unstructured.Unstructured); !ok || err != nil {
		t.Errorf("decoded a %T, %v", object, err)
	}
}

// value draws a JSON value of a bounded depth.
func value(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.String().Draw(t, "string")
	case 1:
		return rapid.Int64().Draw(t, "int")
	case 2:
		return rapid.Float64Range(-1e300, 1e300).Draw(t, "float")
	case 3:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "literal")
	case 4:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range list {
			list[i] = value(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "size") {
		key := rapid.SampledFrom([]string{"metadata", "items", "managedFields", "kind", "apiVersion", "spec", "é", "a\"b"}).Draw(t, "key")
		object[key] = value(t, depth-1)
	}
	return object
}

func TestDecodesAnyDocumentAsClientGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document, _ := value(t, 4).(map[string]any)
		if document == nil {
			document = map[string]any{}
		}
		if rapid.Bool().Draw(t, "complete") {
			document["apiVersion"], document["kind"] = "v1", "Thing"
		}
		data, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 9).Draw(t, "damage") == 0 {
			data = data[:rapid.IntRange(0, len(data)).Draw(t, "cut")]
		}
		compare(t, string(data), targets()[rapid.SampledFrom([]string{"object", "list", "any"}).Draw(t, "target")])
	})
}

func TestLeanObjectsHaveNoManagedFields(t *testing.T) {
	const data = `{"apiVersion":"v1","kind":"XList","metadata":{"managedFields":[1]},"items":[
		{"metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:x":{}}}]},"managedFields":1,"spec":{"metadata":{"managedFields":[2]},"items":[{"metadata":{"managedFields":3}}]}}]}`
	var list unstructured.UnstructuredList
	if _, _, err := fast(true).Serializer.Decode([]byte(data), nil, &list); err != nil {
		t.Fatal(err)
	}
	want := []unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "X", "metadata": map[string]any{"name": "a"}, "managedFields": int64(1),
		"spec": map[string]any{"metadata": map[string]any{"managedFields": []any{int64(2)}}, "items": []any{map[string]any{"metadata": map[string]any{"managedFields": int64(3)}}}},
	}}}
	if diff := cmp.Diff(want, list.Items); diff != "" {
		t.Error(diff)
	}
}

func TestDecodesEventsAsClientGo(t *testing.T) {
	for _, data := range []string{
		`{"type":"ADDED","object":{"kind":"X","apiVersion":"v1"}}`, `{"object":{},"type":"BOOKMARK"}`, `{"type":"\u0041DDED","object":{},"more":[1]}`,
		`{"type":"ADDED"}`, `{"object":{}}`, `{"type":1,"object":{}}`, `{"type":"ERROR","object":null}`, `[]`, ``, `{"type":"ADDED","object":`,
	} {
		var want, got metav1.WatchEvent
		_, _, wantErr := plain().StreamSerializer.Serializer.Decode([]byte(data), nil, &want)
		_, _, gotErr := fast(false).StreamSerializer.Serializer.Decode([]byte(data), nil, &got)
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Errorf("%s: the error is %v, not %v", data, gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
			t.Errorf("%s: (-client-go +wire)\n%s", data, diff)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(deployment)
	for name, info := range map[string]runtime.SerializerInfo{"client-go": plain(), "wire": fast(false), "lean": fast(true)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := info.Serializer.Decode(data, nil, &unstructured.Unstructured{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

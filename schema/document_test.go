package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
)

// shopDocument is the document of a made-up aggregated API, in what documents of API servers do to confuse.
const shopDocument = `{
 "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1"},
 "paths": {
  "/apis/shop.example.com/v1/": {"get": {"description": "get available resources"}},
  "/apis/shop.example.com/v1/orders": {"get": {"x-kubernetes-action": "list", "x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Order", "version": "v1"}}},
  "/apis/shop.example.com/v1/namespaces/{namespace}/orders": {"parameters": [{"name": "namespace"}], "post": {"x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Order", "version": "v1"}}},
  "/apis/shop.example.com/v1/namespaces/{namespace}/orders/{name}/scale": {"get": {"x-kubernetes-group-version-kind": {"group": "autoscaling", "kind": "Scale", "version": "v1"}}},
  "/apis/shop.example.com/v1/namespaces/{namespace}/orders/{name}/status": {"get": {"x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Order", "version": "v1"}}},
  "/apis/shop.example.com/v1/namespaces/{namespace}/orders/{name}/cancel": {"post": {"x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Cancellation", "version": "v1"}}},
  "/apis/shop.example.com/v1/stores/{name}": {"get": {"x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Store", "version": "v1"}}},
  "/apis/shop.example.com/v1/ghosts": {"get": {"x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Ghost", "version": "v1"}}},
  "/apis/shop.example.com/v1/watch/stores": {"get": {"x-kubernetes-group-version-kind": {"group": "shop.example.com", "kind": "Store", "version": "v1"}}}
 },
 "components": {"securitySchemes": {"x": {"type": "apiKey"}}, "schemas": {
  "shop.Order": {"type": "object", "description": "An \"order\" {", "required": ["spec"],
   "properties": {
    "spec": {"allOf": [{"$ref": "#/components/schemas/shop.Spec"}], "default": {}},
    "loose": {"allOf": [{"$ref": "#/components/schemas/shop.Spec"}], "nullable": true},
    "raw": {"$ref": "#/components/schemas/shop.Raw"},
    "any": {"description": "no type"},
    "lost": {"$ref": "#/components/schemas/shop.Nowhere"}
   }, "x-kubernetes-group-version-kind": [{"group": "shop.example.com", "kind": "Order", "version": "v1"}]},
  "shop.OrderList": {"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/shop.Order"}}},
   "x-kubernetes-group-version-kind": [{"group": "shop.example.com", "kind": "OrderList", "version": "v1"}]},
  "shop.Spec": {"type": "object", "properties": {
    "children": {"type": "array", "items": {"$ref": "#/components/schemas/shop.Spec"}},
    "cpu": {"$ref": "#/components/schemas/Quantity"}, "port": {"$ref": "#/components/schemas/IntOrString"},
    "at": {"$ref": "#/components/schemas/Time"}, "key": {"type": "string", "format": "byte"}
   }},
  "shop.Raw": {"type": "object"},
  "shop.Store": {"type": "object", "properties": {"self": {"$ref": "#/components/schemas/shop.Self"}}, "x-kubernetes-group-version-kind": [{"group": "shop.example.com", "kind": "Store", "version": "v1"}]},
  "shop.Self": {"$ref": "#/components/schemas/shop.Self"},
  "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
  "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
  "Time": {"type": "string", "format": "date-time"}
 }}
}`

func shop(kind string) kschema.GroupVersionKind {
	return kschema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: kind}
}

func parse(t *testing.T, text string) *Document {
	t.Helper()
	document, err := ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestDocumentKind(t *testing.T) {
	kind, err := parse(t, shopDocument).Kind(shop("Order"))
	if err != nil {
		t.Fatal(err)
	}
	if kind.Resource != "orders" || !kind.Namespaced {
		t.Errorf("got plural %q, namespaced %v; want orders, namespaced: the list across namespaces and subresources do not count", kind.Resource, kind.Namespaced)
	}
	spec := kind.Schema.Properties["spec"]
	if children := spec.Properties["children"]; children.Items != spec {
		t.Error("a recursive component is not a cyclic pointer")
	}
	want := map[string]*Node{
		"children": spec.Properties["children"],
		"cpu":      {IntOrString: true}, "port": {IntOrString: true},
		"at": {Type: "string", Format: "date-time"}, "key": {Type: "string", Format: "byte"},
	}
	if diff := cmp.Diff(want, spec.Properties, byIdentity(spec)); diff != "" {
		t.Errorf("the component's fields (-want +got):\n%s", diff)
	}
	loose := kind.Schema.Properties["loose"]
	if !loose.Nullable || spec.Nullable || loose.Properties["cpu"] != spec.Properties["cpu"] {
		t.Error("what stands beside a reference changes the component itself, or loses its fields")
	}
	for field, want := range map[string]*Node{"raw": {Type: "object", PreserveUnknown: true}, "any": {PreserveUnknown: true}, "lost": {PreserveUnknown: true}} {
		if diff := cmp.Diff(want, kind.Schema.Properties[field]); diff != "" {
			t.Errorf("field %s (-want +got):\n%s", field, diff)
		}
	}
	checkNode(t, kind.Schema)
}

// byIdentity compares recursive nodes by pointer.
func byIdentity(cyclic *Node) cmp.Option {
	return cmp.FilterValues(func(a, b *Node) bool { return a == cyclic || b == cyclic }, cmp.Comparer(func(a, b *Node) bool { return a == b }))
}

func TestDocumentServes(t *testing.T) {
	document := parse(t, shopDocument)
	cases := map[string]struct {
		gvk    kschema.GroupVersionKind
		reason string
		served bool
	}{
		"List":        {shop("OrderList"), "a list is not a kind of its own", false},
		"Subresource": {shop("Cancellation"), "a kind that is only the body of a subresource cannot be applied", false},
		"Scale":       {kschema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, "nor can one of another group", false},
		"Unknown":     {shop("Nothing"), "not in the document", false},
		"OnlyByName":  {shop("Store"), "a resource that cannot be listed", true},
		"NoSchema":    {shop("Ghost"), "a resource that no component describes", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kind, err := document.Kind(c.gvk)
			var missing *NotFoundError
			switch {
			case !c.served && (!errors.As(err, &missing) || missing.GVK != c.gvk):
				t.Errorf("%s: got %v, %v; want a NotFoundError", c.reason, kind, err)
			case c.served && (err != nil || kind.Namespaced || kind.Resource != strings.ToLower(c.gvk.Kind)+"s"):
				t.Errorf("%s: got %v, %v; want a cluster-scoped kind", c.reason, kind, err)
			}
			if err == nil {
				checkNode(t, kind.Schema)
			}
		})
	}
}

func TestDocumentConvertsOnlyWhatIsReached(t *testing.T) {
	document := parse(t, shopDocument)
	if _, err := document.Kind(shop("Store")); err != nil {
		t.Fatal(err)
	}
	if _, converted := document.nodes["shop.Spec"]; converted {
		t.Error("a component that Store does not reach was converted")
	}
}

func TestDocumentKeepsNothingOfItsSource(t *testing.T) {
	source := []byte(shopDocument)
	document, err := ParseDocument(source)
	if err != nil {
		t.Fatal(err)
	}
	for i := range source {
		source[i] = 'x'
	}
	if _, err := document.Kind(shop("Order")); err != nil {
		t.Errorf("after its source was overwritten: %v", err)
	}
}

func TestDocumentWithABrokenComponent(t *testing.T) {
	document := parse(t, strings.Replace(shopDocument, `"shop.Raw": {"type": "object"}`, `"shop.Raw": {"type": "object", "nullable": tru}`, 1))
	for range 2 {
		if _, err := document.Kind(shop("Order")); err == nil || !strings.Contains(err.Error(), "shop.Raw") {
			t.Errorf("got %v, want an error that names the component", err)
		}
	}
	if _, err := document.Kind(shop("Store")); err != nil {
		t.Errorf("a kind that does not reach the broken component: %v", err)
	}
}

func TestDocumentIsSafeForConcurrentUse(t *testing.T) {
	document := parse(t, shopDocument)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for _, kind := range []string{"Order", "Store", "Ghost", "Nothing"} {
				if got, err := document.Kind(shop(kind)); err == nil {
					fingerprint(got.Schema, "", false)
				}
			}
		})
	}
	running.Wait()
}

func TestParseDocumentErrors(t *testing.T) {
	for name, text := range map[string]string{"Empty": "", "NoObject": "[]", "Cut": shopDocument[:len(shopDocument)/2], "Text": "404 page not found"} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseDocument([]byte(text)); err == nil {
				t.Error("want an error")
			}
		})
	}
}

// documentText draws a document with three kinds, A to C, of components that refer to each other in whatever way.
func documentText(t *rapid.T, plain bool) []byte {
	components, paths := map[string]any{}, map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		gvk := map[string]any{"group": "shop.example.com", "version": "v1", "kind": strings.ToUpper(name)}
		component := schemaText(2, plain).Draw(t, name)
		component["x-kubernetes-group-version-kind"] = []any{gvk}
		components[name] = component
		paths["/apis/shop.example.com/v1/"+name] = map[string]any{"get": map[string]any{"x-kubernetes-group-version-kind": gvk}}
	}
	text, err := json.Marshal(map[string]any{"paths": paths, "components": map[string]any{"schemas": components}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fingerprints resolves the kinds in the given order and holds their schemas against the rules.
func fingerprints(t *rapid.T, text []byte, order ...string) map[string]string {
	document, err := ParseDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range order {
		kind, err := document.Kind(shop(name))
		if err != nil {
			t.Fatal(err)
		}
		checkNode(t, kind.Schema)
		found[name] = kind.Fingerprint
	}
	return found
}

// TestDocumentsOfAnyShape: even an allOf that contains itself gives proper nodes, and the same ones each time.
func TestDocumentsOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := documentText(t, false)
		if diff := cmp.Diff(fingerprints(t, text, "A", "B", "C"), fingerprints(t, text, "A", "B", "C")); diff != "" {
			t.Fatalf("the same document read twice differs: %s", diff)
		}
	})
}

// TestKindsDoNotDependOnTheOrderOfQuestions, however they refer to each other and to themselves.
func TestKindsDoNotDependOnTheOrderOfQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := documentText(t, true)
		if diff := cmp.Diff(fingerprints(t, text, "A", "B", "C"), fingerprints(t, text, "C", "B", "A")); diff != "" {
			t.Fatalf("asked for in another order: %s", diff)
		}
	})
}

package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func crdOf(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatalf("the test's CRD: %v", err)
	}
	return crd
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, externalDocs: {url: x}, required: [spec], properties: {metadata: {type: object}, spec: {type: object, properties: {size: {type: integer}}}}}}
  - {name: v1, served: true, storage: false}
  - {name: v1alpha1, served: false, storage: false}
`

func TestFromCRD(t *testing.T) {
	kinds, err := FromCRD(crdOf(t, widgets))
	if err != nil {
		t.Fatal(err)
	}
	object := func(version string, root *Node) *Kind {
		root.Type = "object"
		if root.Properties == nil {
			root.Properties = map[string]*Node{}
		}
		root.Properties["apiVersion"], root.Properties["kind"], root.Properties["metadata"] = &Node{Type: "string"}, &Node{Type: "string"}, ObjectMeta()
		return &Kind{
			GVK: kschema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Widget"}, Resource: "widgets",
			Schema: root, Fingerprint: fingerprint(root, "widgets", false),
		}
	}
	want := []*Kind{
		object("v2", &Node{Required: []string{"spec"}, Properties: map[string]*Node{
			"spec": {Type: "object", Properties: map[string]*Node{"size": {Type: "integer"}}},
		}}),
		object("v1", &Node{PreserveUnknown: true}),
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("one kind for each served version, with a typed metadata; a version without schema is open (-want +got):\n%s", diff)
	}
}

func TestFromCRDLeavesSharedNodesAlone(t *testing.T) {
	for range 2 { // the root of such a CRD is a node that all schemas share
		if _, err := FromCRD(crdOf(t, strings.ReplaceAll(widgets, "served: false", "served: true"))); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(&Node{PreserveUnknown: true}, anything); diff != "" {
		t.Errorf("the shared node for anything has changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Node{Type: "object", PreserveUnknown: true}, anyField); diff != "" {
		t.Errorf("the shared node for any object has changed (-want +got):\n%s", diff)
	}
}

func TestFromCRDOldPreserveUnknownFields(t *testing.T) {
	kinds, err := FromCRD(crdOf(t, strings.Replace(widgets, "scope: Cluster", "scope: Namespaced\n  preserveUnknownFields: true", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !kinds[0].Schema.PreserveUnknown || !kinds[0].Namespaced {
		t.Errorf("got preserve-unknown %v, namespaced %v; want both", kinds[0].Schema.PreserveUnknown, kinds[0].Namespaced)
	}
}

func TestFromCRDErrors(t *testing.T) {
	cases := map[string]struct {
		old, new, want string
	}{
		"Group":    {"group: example.com", "group: ''", "spec.group"},
		"Kind":     {"kind: Widget,", "", "spec.names.kind"},
		"Plural":   {"plural: widgets,", "", "spec.names.plural"},
		"Scope":    {"scope: Cluster", "scope: Galaxy", `"Galaxy", must be Namespaced or Cluster`},
		"Versions": {widgets[strings.Index(widgets, "  versions:"):], "", "spec.versions"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := FromCRD(crdOf(t, strings.Replace(widgets, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "widgets.example.com") {
				t.Errorf("got %v, want an error that names the CRD and %s", err, c.want)
			}
		})
	}
	if _, err := FromCRD(nil); err == nil {
		t.Error("no CRD at all: want an error")
	}
}

package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestLabelValue(t *testing.T) {
	cases := []struct {
		reason, value, want string
	}{
		{"a short one stays", "shop", "shop"},
		{"63 letters stay", strings.Repeat("a", 63), strings.Repeat("a", 63)},
		{"64 letters are hashed", strings.Repeat("a", 64), "h-ffe054fe7ae0cb6dc65c3af9b61d5209f439851d"},
		{"none stays none", "", ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := LabelValue(c.value); got != c.want {
				t.Errorf("LabelValue = %q, want %q", got, c.want)
			}
		})
	}
}

func TestLabelValueOfANameIsALabelValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?){0,4}`).Draw(t, "name")
		if errs := validation.IsValidLabelValue(LabelValue(name)); len(errs) > 0 {
			t.Fatalf("LabelValue(%q) = %q: %v", name, LabelValue(name), errs)
		}
	})
}

// A field that the author left out must not come back as null or empty: the rules of the CRD ask with has() what is there.
func TestWhatIsLeftOutStaysOut(t *testing.T) {
	cases := []struct {
		reason string
		value  any
		want   string
	}{
		{"a reference has no template", Resource{ID: "a", ExternalRef: &ExternalRef{APIVersion: "v1", Kind: "K", Metadata: ExternalRefMetadata{Name: "x"}}},
			`{"id":"a","externalRef":{"apiVersion":"v1","kind":"K","metadata":{"name":"x"}}}`},
		{"a template has no reference", Resource{ID: "a", Template: runtime.RawExtension{Raw: []byte(`{}`)}}, `{"id":"a","template":{}}`},
		{"an empty selector is one", ExternalRefMetadata{Selector: &runtime.RawExtension{Raw: []byte(`{}`)}}, `{"selector":{}}`},
		{"a schema without fields", Schema{Kind: "A", APIVersion: "v1"}, `{"kind":"A","apiVersion":"v1"}`},
		{"no status", ResourceGraphDefinition{TypeMeta: metav1.TypeMeta{Kind: "K"}, Spec: ResourceGraphDefinitionSpec{Schema: &Schema{}}},
			`{"kind":"K","metadata":{},"spec":{"schema":{"kind":"","apiVersion":""}}}`},
		{"an empty message replaces the one before", Condition{Type: "Ready", Status: "True", Reason: "Ready"}, `{"type":"Ready","status":"True","reason":"Ready","message":""}`},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			got, err := json.Marshal(c.value)
			if err != nil {
				t.Fatalf("Marshal: %v", err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTypesAreRegistered(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatalf("AddToScheme: %v", err)
	}
	object, err := scheme.New(GroupVersion.WithKind(ResourceGraphDefinitionKind))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if _, ok := object.(*ResourceGraphDefinition); !ok {
		t.Errorf("New gives a %T", object)
	}
}

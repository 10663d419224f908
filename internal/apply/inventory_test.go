package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"kro.run/kro/api/v1alpha1"
)

func TestSetID(t *testing.T) {
	tests := map[string]struct {
		reason                       string
		name, namespace, kind, group string
		want                         string
	}{
		"Namespaced": {
			reason: "the id must be the one that other releases wrote on the same instance",
			name:   "i", namespace: "ns", kind: "Test", group: "kro.run",
			want: "applyset-pII89pbr4RmmqhJ-_v8C3xxaRTIMV-K8-4I9Tv4dHX4-v1",
		},
		"OtherKind": {
			reason: "two instances of one name must not share a set",
			name:   "lamp", namespace: "inst-applyset-id", kind: "Lamp", group: "inst-applyset-id.example.com",
			want: "applyset-SIXAm6wuP_maZ3BmOyBpE0Hhnirk_lo9oslgvABtExc-v1",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := SetID(tc.name, tc.namespace, tc.kind, tc.group); got != tc.want {
				t.Errorf("%s\nSetID(...): got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAnnotations(t *testing.T) {
	inventory := Inventory{
		ID:         "applyset-x-v1",
		GroupKinds: []kschema.GroupKind{{Kind: "Secret"}, {Group: "rbac.authorization.k8s.io", Kind: "Role"}, {Kind: "ConfigMap"}, {Kind: "Secret"}},
		Namespaces: []string{"b", "a", "b"},
	}
	want := map[string]string{
		v1alpha1.ApplySetToolingAnnotation:    "kro/v1",
		v1alpha1.ApplySetGroupKindsAnnotation: "ConfigMap,Role.rbac.authorization.k8s.io,Secret",
		v1alpha1.ApplySetNamespacesAnnotation: "a,b",
		v1alpha1.InventoryHashAnnotation:      inventory.Hash(),
	}
	if diff := cmp.Diff(want, inventory.Annotations("kro/v1")); diff != "" {
		t.Errorf("Annotations: lists must be sorted and free of duplicates: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "a", "b"}, inventory.Namespaces); diff != "" {
		t.Errorf("Annotations must not change the inventory: -want, +got:\n%s", diff)
	}
	if got := (Inventory{ID: "x"}).Annotations("kro/v1")[v1alpha1.ApplySetNamespacesAnnotation]; got != "" {
		t.Errorf("an inventory without namespaces: got %q, want an empty annotation", got)
	}
}

func TestReadInventory(t *testing.T) {
	id := SetID("i", "ns", "Test", "kro.run")
	sound := Inventory{ID: id, GroupKinds: []kschema.GroupKind{{Kind: "ConfigMap"}, {Group: "apps", Kind: "Deployment"}}, Namespaces: []string{"other"}}
	type edit func(labels, annotations map[string]string)
	tests := map[string]struct {
		reason  string
		edit    edit
		want    Inventory
		wantErr string
	}{
		"Sound": {
			reason: "what Annotations wrote must be read back",
			edit:   func(_, _ map[string]string) {},
			want:   sound,
		},
		"NoHash": {
			reason: "older releases wrote no hash",
			edit:   func(_, a map[string]string) { delete(a, v1alpha1.InventoryHashAnnotation) },
			want:   sound,
		},
		"Empty": {
			reason: "an instance without children yet has empty lists",
			edit: func(_, a map[string]string) {
				for k, v := range (Inventory{ID: id}).Annotations("kro/devel") {
					a[k] = v
				}
			},
			want: Inventory{ID: id},
		},
		"WrongID": {
			reason:  "an id copied from another instance would delete the children of that one",
			edit:    func(l, _ map[string]string) { l[v1alpha1.ApplySetIDLabel] = "applyset-x-v1" },
			wantErr: `invalid applyset.kubernetes.io/id label: got "applyset-x-v1", want "` + id + `"`,
		},
		"NoID": {
			reason:  "a lost label is reported with the value to repair it",
			edit:    func(l, _ map[string]string) { delete(l, v1alpha1.ApplySetIDLabel) },
			wantErr: `invalid applyset.kubernetes.io/id label: got "", want "` + id + `"`,
		},
		"ForeignTool": {
			reason:  "the set of another tool is not kro's to delete",
			edit:    func(_, a map[string]string) { a[v1alpha1.ApplySetToolingAnnotation] = "kubectl/v1.30" },
			wantErr: `invalid applyset.kubernetes.io/tooling annotation: "kubectl/v1.30" is not owned by kro`,
		},
		"NoGroupKinds": {
			reason:  "a missing list is not an empty one",
			edit:    func(_, a map[string]string) { delete(a, v1alpha1.ApplySetGroupKindsAnnotation) },
			wantErr: "missing required applyset.kubernetes.io/contains-group-kinds annotation",
		},
		"NoNamespaces": {
			reason:  "a missing list is not an empty one",
			edit:    func(_, a map[string]string) { delete(a, v1alpha1.ApplySetNamespacesAnnotation) },
			wantErr: "missing required applyset.kubernetes.io/additional-namespaces annotation",
		},
		"EmptyGroupKind": {
			reason:  "a stray comma",
			edit:    func(_, a map[string]string) { a[v1alpha1.ApplySetGroupKindsAnnotation] = "ConfigMap,,Secret" },
			wantErr: "invalid applyset.kubernetes.io/contains-group-kinds annotation: contains an empty group-kind",
		},
		"BadKind": {
			reason:  "a text that is no kind",
			edit:    func(_, a map[string]string) { a[v1alpha1.ApplySetGroupKindsAnnotation] = "Config Map" },
			wantErr: `invalid applyset.kubernetes.io/contains-group-kinds annotation: invalid kind "Config Map"`,
		},
		"BadGroup": {
			reason: "a text that is no group",
			edit:   func(_, a map[string]string) { a[v1alpha1.ApplySetGroupKindsAnnotation] = "Deployment.Apps" },
			wantErr: `invalid applyset.kubernetes.io/contains-group-kinds annotation: invalid group "Apps": a lowercase RFC 1123 subdomain must consist of ` +
				`lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', ` +
				`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		},
		"BadNamespace": {
			reason: "a text that is no namespace",
			edit:   func(_, a map[string]string) { a[v1alpha1.ApplySetNamespacesAnnotation] = "a_b" },
			wantErr: `invalid applyset.kubernetes.io/additional-namespaces annotation: invalid namespace "a_b": a lowercase RFC 1123 label must consist of ` +
				`lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', ` +
				`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		},
		"Tampered": {
			reason: "the hash notices an edit that is well-formed",
			edit:   func(_, a map[string]string) { a[v1alpha1.ApplySetGroupKindsAnnotation] = "Secret" },
			wantErr: `invalid internal.kro.run/applyset-inventory-hash annotation: got "` + sound.Hash() + `", want "` +
				Inventory{ID: id, GroupKinds: []kschema.GroupKind{{Kind: "Secret"}}, Namespaces: []string{"other"}}.Hash() + `"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			labels, annotations := map[string]string{v1alpha1.ApplySetIDLabel: id}, sound.Annotations("kro/devel")
			tc.edit(labels, annotations)
			got, err := ReadInventory(instance(labels, annotations))
			if diff := cmp.Diff(tc.wantErr, text(err)); diff != "" {
				t.Errorf("%s\nReadInventory error: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nReadInventory: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHasInventory(t *testing.T) {
	tests := map[string]struct {
		labels, annotations map[string]string
		want                bool
	}{
		"Nothing":      {labels: map[string]string{v1alpha1.OwnedLabel: "true"}, annotations: map[string]string{"a": "b"}},
		"OnlyID":       {labels: map[string]string{v1alpha1.ApplySetIDLabel: ""}, want: true},
		"OnlyHash":     {annotations: map[string]string{v1alpha1.InventoryHashAnnotation: ""}, want: true},
		"OnlyTooling":  {annotations: map[string]string{v1alpha1.ApplySetToolingAnnotation: "x"}, want: true},
		"OnlyKinds":    {annotations: map[string]string{v1alpha1.ApplySetGroupKindsAnnotation: ""}, want: true},
		"OnlySpaces":   {annotations: map[string]string{v1alpha1.ApplySetNamespacesAnnotation: ""}, want: true},
		"PartOfOnly":   {labels: map[string]string{v1alpha1.PartOfLabel: "an instance may itself be a child"}},
		"BareInstance": {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HasInventory(instance(tc.labels, tc.annotations)); got != tc.want {
				t.Errorf("HasInventory: got %t, want %t", got, tc.want)
			}
		})
	}
}

// Whatever was written can be read, covers both sides of a union, and does not depend on order.
func TestInventoryProperties(t *testing.T) {
	names := rapid.StringMatching(`[a-z]([a-z0-9-]{0,6}[a-z0-9])?`)
	kinds := rapid.Custom(func(t *rapid.T) kschema.GroupKind {
		return kschema.GroupKind{
			Kind:  rapid.StringMatching(`[A-Z][A-Za-z0-9]{0,6}`).Draw(t, "kind"),
			Group: rapid.SampledFrom([]string{"", "apps", "example.com"}).Draw(t, "group"),
		}
	})
	id := SetID("i", "ns", "Test", "kro.run")
	inventories := rapid.Custom(func(t *rapid.T) Inventory {
		return Inventory{
			ID:         id,
			GroupKinds: rapid.SliceOfN(kinds, 0, 5).Draw(t, "kinds"),
			Namespaces: rapid.SliceOfN(names, 0, 5).Draw(t, "namespaces"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := inventories.Draw(t, "a"), inventories.Draw(t, "b")
		union := a.Union(b)
		read, err := ReadInventory(instance(map[string]string{v1alpha1.ApplySetIDLabel: id}, union.Annotations("kro/devel")))
		if err != nil {
			t.Fatalf("ReadInventory: %v", err)
		}
		if !read.Equal(union) || !b.Union(a).Equal(union) || !union.Union(a).Equal(union) || read.Hash() != union.Hash() {
			t.Fatalf("union %v, read %v", union, read)
		}
	})
}

func instance(labels, annotations map[string]string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kro.run/v1alpha1", "kind": "Test"}}
	obj.SetName("i")
	obj.SetNamespace("ns")
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return obj
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

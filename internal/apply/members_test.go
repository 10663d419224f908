package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
)

func TestNextWave(t *testing.T) {
	tests := map[string]struct {
		reason   string
		members  []*unstructured.Unstructured
		wantWave int
		want     []string
	}{
		"None": {
			reason: "nothing is left",
		},
		"Highest": {
			reason:   "dependents carry the highest number and go first, in an order that does not change",
			members:  []*unstructured.Unstructured{member("d", "2"), member("c", "10"), member("a", "1"), member("b", "10")},
			wantWave: 10,
			want:     []string{"b", "c"},
		},
		"InvalidLast": {
			reason:   "an order that was edited away must neither block nor come early",
			members:  []*unstructured.Unstructured{member("none", ""), member("word", "last"), member("low", "1")},
			wantWave: 1,
			want:     []string{"low"},
		},
		"OnlyInvalid": {
			reason:  "everything without a valid order is one wave, the last",
			members: []*unstructured.Unstructured{member("word", "last"), member("minus", "-3"), member("none", "")},
			want:    []string{"minus", "none", "word"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			wave, objs := NextWave(tc.members)
			var names []string
			for _, obj := range objs {
				names = append(names, obj.GetName())
			}
			if diff := cmp.Diff(tc.want, names); diff != "" || wave != tc.wantWave {
				t.Errorf("%s\nNextWave: wave %d, want %d; -want, +got:\n%s", tc.reason, wave, tc.wantWave, diff)
			}
		})
	}
}

func TestConflict(t *testing.T) {
	tests := map[string]struct {
		reason    string
		namespace string
		owner     string
		want      string
	}{
		"Own":    {reason: "a member of the set", namespace: "ns", owner: "applyset-mine-v1"},
		"Nobody": {reason: "an object of no set may be taken", namespace: "ns"},
		"Other": {
			reason: "an object of another set may not", namespace: "ns", owner: "applyset-theirs-v1",
			want: `resource belongs to a different ApplySet: ns/flag (/v1, Kind=ConfigMap) belongs to ApplySet "applyset-theirs-v1", cannot reassign to "applyset-mine-v1"`,
		},
		"OtherClusterScoped": {
			reason: "a cluster-scoped object has no namespace to show", owner: "applyset-theirs-v1",
			want: `resource belongs to a different ApplySet: flag (/v1, Kind=ConfigMap) belongs to ApplySet "applyset-theirs-v1", cannot reassign to "applyset-mine-v1"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := member("flag", "1")
			obj.SetNamespace(tc.namespace)
			if tc.owner != "" {
				obj.SetLabels(map[string]string{v1alpha1.PartOfLabel: tc.owner})
			}
			err := Conflict(obj, "applyset-mine-v1")
			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Errorf("%s\nConflict: -want, +got:\n%s", tc.reason, diff)
			}
			var ownership *OwnershipError
			if errors.As(err, &ownership) != (tc.want != "") {
				t.Errorf("%s\nConflict: got %T, want *OwnershipError or nil", tc.reason, err)
			}
		})
	}
}

func member(name, order string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetName(name)
	if order != "" {
		obj.SetAnnotations(map[string]string{v1alpha1.ApplyOrderAnnotation: order})
	}
	return obj
}

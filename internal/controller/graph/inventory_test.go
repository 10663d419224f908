package graph

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
	"kro.run/kro/schema"
)

// fixed is a cluster that serves ConfigMaps, whose one cache shows what the test says.
type fixed struct {
	follow.Caches
	shown moment
}

// EnsureFor implements Caches.
func (f *fixed) EnsureFor(watch.Source, string, watch.Interest, func(watch.Event)) executor.Store {
	return f.shown
}

// Mapping implements Kinds.
func (f *fixed) Mapping(gk kschema.GroupKind) (kschema.GroupVersionResource, bool, error) {
	if gk.Kind != "ConfigMap" {
		return kschema.GroupVersionResource{}, false, &schema.NotFoundError{GVK: gk.WithVersion("v1")}
	}
	return kschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true, nil
}

// Resolve implements Kinds.
func (f *fixed) Resolve(kschema.GroupVersionKind) (*schema.Kind, error) { return nil, nil }

// configMap is an object of a Graph.
func configMap(name, uid, graph string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kschema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	o.SetNamespace("default")
	o.SetName(name)
	o.SetUID(executor.UID(uid))
	o.SetLabels(map[string]string{v1alpha1.OwnedLabel: "true", v1alpha1.InstanceIDLabel: graph})
	return o
}

// applied is an object as the server shows it after the Graph graph-1 has applied it.
func applied(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: executor.TemplateManager("graph-1"), Operation: metav1.ManagedFieldsOperationApply}})
	return o
}

func TestLocate(t *testing.T) {
	entry := func(kind, uid string) v1alpha1.ManagedResource {
		return v1alpha1.ManagedResource{APIVersion: "v1", Kind: kind, Namespace: "default", Name: "a", UID: uid}
	}
	ours := configMap("a", "1", "graph-1")
	cases := []struct {
		reason       string
		entry        v1alpha1.ManagedResource
		shown, there *unstructured.Unstructured
		followed     string
		found        bool
		reads        int
	}{
		{"the cache shows it", entry("ConfigMap", "1"), ours, ours, "", true, 0},
		{"the cache does not, but it is there", entry("ConfigMap", "1"), nil, ours, "", true, 1},
		{"it is gone", entry("ConfigMap", "1"), nil, nil, "", false, 1},
		{"the cache has shown its end", entry("ConfigMap", "1"), nil, nil, "1", false, 0},
		{"the cache has shown the end of another", entry("ConfigMap", "1"), nil, nil, "2", false, 1},
		{"somebody made it anew", entry("ConfigMap", "1"), configMap("a", "2", "graph-1"), configMap("a", "2", "graph-1"), "", false, 1},
		{"the Graph made it anew", entry("ConfigMap", "1"), configMap("a", "2", "graph-1"), applied(configMap("a", "2", "graph-1")), "", true, 1},
		{"what the Graph made anew is gone again", entry("ConfigMap", "1"), configMap("a", "2", "graph-1"), nil, "", false, 2},
		{"it is another Graph's", entry("ConfigMap", "1"), configMap("a", "1", "graph-2"), nil, "", false, 0},
		{"an intent that was carried out", entry("ConfigMap", ""), nil, ours, "", true, 1},
		{"an intent that was not is asked for each time", entry("ConfigMap", ""), nil, nil, "", false, 2},
		{"the kind is gone", entry("Gadget", "1"), nil, nil, "", false, 0},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			f := &fixed{}
			if c.shown != nil {
				f.shown.objects = []*unstructured.Unstructured{c.shown}
			}
			var there []runtime.Object
			if c.there != nil {
				there = append(there, c.there)
			}
			server := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), there...)
			p := &pass{
				Controller: &Controller{Deps: Deps{Caches: f, Kinds: f, Log: logr.Discard()}}, key: demo, client: server,
				state: &state{uid: "graph-1", followed: map[executor.UID]bool{executor.UID(c.followed): c.followed != ""}, deleted: map[executor.UID]bool{}},
			}
			p.stores = &stores{pass: p, ctx: context.Background()}
			member, _, err := p.locate(t.Context(), c.entry)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := p.locate(t.Context(), c.entry); err != nil {
				t.Fatal(err)
			}
			reads := len(server.Actions())
			if c.there != nil {
				reads = min(reads, 1) // one that no watch shows is asked for each time
			}
			if (member != nil) != c.found || reads != c.reads {
				t.Errorf("found %t with %d reads, want %t with %d", member != nil, reads, c.found, c.reads)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		reason string
		err    error
		want   string
	}{
		{"an object of another Graph", &executor.ForeignError{}, "FieldManagerConflict"},
		{"a field of another manager", &executor.ManagerConflictError{}, "FieldManagerConflict"},
		{"anything else", context.Canceled, "ApplyFailed"},
	} {
		equal(t, c.reason, c.want, reasonOfError(c.err))
	}
}

func TestAccounts(t *testing.T) {
	equal(t, "none named", "system:serviceaccount:ns:default", userOf("ns", &v1alpha1.GraphSpec{}))
	equal(t, "one named", "system:serviceaccount:ns:worker", userOf("ns", &v1alpha1.GraphSpec{ServiceAccountName: "worker"}))
}

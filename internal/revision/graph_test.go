package revision

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
)

func TestGraphName(t *testing.T) {
	long := strings.Repeat("a", 253)
	cases := []struct {
		reason, namespace, name string
		n                       int64
		want                    string
	}{
		{"five digits", "default", "shop", 7, "default.shop-g00007"},
		{"more digits", "default", "shop", 1234567, "default.shop-g1234567"},
		{"dots in the name belong to it", "a", "b.c", 1, "a.b.c-g00001"},
		{"too long", "default", long, 1, "default." + long[:229] + "-g00001-"},
		{"a cut behind a dot", "n", strings.Repeat("a", 234) + "." + strings.Repeat("b", 18), 1, "n." + strings.Repeat("a", 234) + "-g00001-"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			got := GraphName(types.NamespacedName{Namespace: c.namespace, Name: c.name}, c.n)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("GraphName = %s, want %s", got, c.want)
			}
			if faults := validation.IsDNS1123Subdomain(got); len(faults) > 0 {
				t.Errorf("%s is no name: %v", got, faults)
			}
			if got == Name(c.namespace+"."+c.name, c.n) {
				t.Errorf("%s is the name of a revision of a definition too", got)
			}
		})
	}
}

func TestHashGraph(t *testing.T) {
	const spec = `
nodes:
- {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, readyWhen: ["${1 == 1}", "${2 == 2}"]}
- {id: b, ref: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {matchLabels: {x: y}}}}}
- {id: c, graph: {nodes: [{id: d, def: {x: 1}}, {id: e, def: {x: 2}}]}}`
	cases := []struct {
		reason, from, to string
		same             bool
	}{
		{"white space", "x: 1", "x:   1", true},
		{"order of conditions", `"${1 == 1}", "${2 == 2}"`, `"${2 == 2}", "${1 == 1}"`, true},
		{"order of keys", "apiVersion: v1, kind: ConfigMap, metadata: {name: a}", "kind: ConfigMap, metadata: {name: a}, apiVersion: v1", true},
		{"watch is a ref", "ref:", "watch:", true},
		{"default account written out", "\nnodes:", "\nserviceAccountName: default\nnodes:", true},
		{"default policy written out", "id: a,", "id: a, deletionPolicy: Delete,", true},
		{"another account", "\nnodes:", "\nserviceAccountName: worker\nnodes:", false},
		{"another policy", "id: a,", "id: a, deletionPolicy: Orphaned,", false},
		{"another id", "id: a,", "id: z,", false},
		{"a value", "name: a", "name: z", false},
		{"a nested value", "x: 2", "x: 3", false},
		{"another selector", "x: y", "x: z", false},
		{"external fields", "id: a,", "id: a, externalFields: [data],", false},
	}
	base := hashOfText(t, spec)
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if !strings.Contains(spec, c.from) {
				t.Fatalf("nothing to replace: %s", c.from)
			}
			if got := hashOfText(t, strings.Replace(spec, c.from, c.to, 1)); (got == base) != c.same {
				t.Errorf("hash %s, base %s, want the same: %t", got, base, c.same)
			}
		})
	}
	reordered := strings.Join([]string{"nodes:", strings.Split(spec, "\n")[4], strings.Split(spec, "\n")[3], strings.Split(spec, "\n")[2]}, "\n")
	if got := hashOfText(t, reordered); got != base {
		t.Errorf("order of nodes: hash %s, base %s", got, base)
	}
}

func hashOfText(t *testing.T, text string) string {
	t.Helper()
	var spec v1alpha1.GraphSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	hash, err := HashGraph(&spec)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestARevisionOfAGraphKeepsTheSpecWordForWord(t *testing.T) {
	spec := map[string]any{"nodes": []any{map[string]any{"id": "a", "def": map[string]any{"x": "1"}}}, "ofALaterRelease": true}
	shop := types.NamespacedName{Namespace: "default", Name: "shop"}
	r, err := NewGraph(shop, "uid-1", 4, spec, "0123456789abcdef", 7, "v1")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(r.Spec.Graph.Spec.Raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, got); diff != "" {
		t.Error(diff)
	}
	if r.Name != "default.shop-g00007" || r.Spec.Snapshot.Name != "default/shop" || r.Spec.Snapshot.Generation != 4 || r.Spec.Revision != 7 {
		t.Errorf("revision %+v", r)
	}
	if want := hashOfText(t, `nodes: [{id: a, def: {x: "1"}}]`); HashOfGraph(r) != want {
		t.Errorf("HashOfGraph = %s, want %s", HashOfGraph(r), want)
	}
}

func TestNothingButAGraphHasAGraphsHash(t *testing.T) {
	if got := HashOfGraph(nil); got != "" {
		t.Errorf("HashOfGraph(nil) = %q", got)
	}
	r, err := New(&v1alpha1.ResourceGraphDefinition{}, 1, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if got := HashOfGraph(r); got != "" {
		t.Errorf("HashOfGraph of a definition's revision = %q", got)
	}
}

// Controllers of other releases compile the snapshot of every revision, and it must stay what all of them accept.
func TestTheSnapshotOfAGraphIsADefinitionOfNothing(t *testing.T) {
	r, err := NewGraph(types.NamespacedName{Namespace: "default", Name: "shop"}, "uid-1", 1, map[string]any{}, "", 1, "v1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Spec.Snapshot.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"schema":{"kind":"Graph","apiVersion":"v1alpha1","scope":"Namespaced"}}`; string(got) != want {
		t.Errorf("snapshot.spec = %s, want %s", got, want)
	}
	spec := r.Spec.Snapshot.Spec
	if program, faults := graph.Compile(graph.FromDefinition("default/shop", &spec), graph.Env{}); program == nil || len(faults) > 0 {
		t.Errorf("it does not compile: %v", faults)
	}
}

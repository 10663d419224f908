package programs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
)

// program has the nodes a, b, c in this order; edges say what each depends on.
func program(edges map[int][]int) *graph.Program {
	p := &graph.Program{}
	for i, id := range []string{"a", "b", "c"} {
		p.Nodes = append(p.Nodes, &graph.Node{ID: id, Index: i, Dependencies: edges[i]})
	}
	return p
}

func document(ids ...string) *v1alpha1.ResourceGraphDefinitionSpec {
	spec := &v1alpha1.ResourceGraphDefinitionSpec{}
	for _, id := range ids {
		spec.Resources = append(spec.Resources, &v1alpha1.Resource{ID: id})
	}
	return spec
}

func TestTopology(t *testing.T) {
	cases := map[string]struct {
		edges    map[int][]int
		document []string
		want     []string
	}{
		"without edges the document decides":                {nil, []string{"c", "a", "b"}, []string{"c", "a", "b"}},
		"dependencies come first":                           {map[int][]int{0: {2}}, []string{"a", "b", "c"}, []string{"b", "c", "a"}},
		"a node comes as soon as its dependencies allow it": {map[int][]int{0: {1}}, []string{"a", "b", "c"}, []string{"b", "a", "c"}},
	}
	for reason, c := range cases {
		order, _ := Topology(program(c.edges), document(c.document...))
		if diff := cmp.Diff(c.want, order); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	_, resources := Topology(program(map[int][]int{1: {0, 2}}), document("c", "b", "a"))
	want := []v1alpha1.ResourceInformation{{ID: "b", Dependencies: []v1alpha1.Dependency{{ID: "c"}, {ID: "a"}}}}
	if diff := cmp.Diff(want, resources); diff != "" {
		t.Errorf("only nodes with dependencies are listed (-want +got):\n%s", diff)
	}
}

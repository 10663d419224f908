package programs

import (
	"slices"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
)

// The order that a status shows follows the document. A document whose resources were only moved about has the same revision, and its program may have
// been compiled from the earlier arrangement, so the order is not that of the program.

// Topology returns what a status shows of a program: the ids in topological order, those first that come first in the document, and what each
// depends on.
func Topology(program *graph.Program, spec *v1alpha1.ResourceGraphDefinitionSpec) (order []string, resources []v1alpha1.ResourceInformation) {
	place := map[string]int{}
	for i, r := range spec.Resources {
		if r != nil {
			place[r.ID] = i
		}
	}
	pending := slices.Clone(program.Nodes)
	slices.SortStableFunc(pending, func(a, b *graph.Node) int { return place[a.ID] - place[b.ID] })
	done := make([]bool, len(program.Nodes))
	for len(pending) > 0 {
		next := slices.IndexFunc(pending, func(n *graph.Node) bool {
			return !slices.ContainsFunc(n.Dependencies, func(d int) bool { return !done[d] })
		})
		if next < 0 { // not in a compiled program, which has no cycles
			break
		}
		n := pending[next]
		pending = slices.Delete(pending, next, next+1)
		done[n.Index] = true
		order = append(order, n.ID)
		if info, ok := dependencies(program, n, place); ok {
			resources = append(resources, info)
		}
	}
	return order, resources
}

func dependencies(program *graph.Program, n *graph.Node, place map[string]int) (v1alpha1.ResourceInformation, bool) {
	info := v1alpha1.ResourceInformation{ID: n.ID}
	for _, d := range n.Dependencies {
		info.Dependencies = append(info.Dependencies, v1alpha1.Dependency{ID: program.Nodes[d].ID})
	}
	slices.SortStableFunc(info.Dependencies, func(a, b v1alpha1.Dependency) int { return place[a.ID] - place[b.ID] })
	return info, len(info.Dependencies) > 0
}

package graph

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTopologicalOrder(t *testing.T) {
	cases := map[string]struct {
		reason string
		edges  [][]int
		want   []int
	}{
		"Empty":      {"no vertices, no order", nil, []int{}},
		"Free":       {"free vertices keep the order of the document", [][]int{nil, nil, nil}, []int{0, 1, 2}},
		"Backwards":  {"dependencies come first, whatever the document says", [][]int{{1}, {2}, nil}, []int{2, 1, 0}},
		"EarlyFirst": {"a vertex that becomes free goes before later ones", [][]int{{2}, nil, nil, {0}}, []int{1, 2, 0, 3}},
		"Cycle":      {"what hangs on a cycle is missing", [][]int{{1}, {0}, nil, {1}}, []int{2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, topologicalOrder(tc.edges)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWaves(t *testing.T) {
	cases := map[string]struct {
		reason string
		edges  [][]int
		want   []int
		layers int
	}{
		"Documented": {"a←b, c alone: what nobody depends on has the highest number", [][]int{nil, {0}, nil}, []int{1, 2, 2}, 2},
		"Chain":      {"the root of the deepest chain has 1", [][]int{nil, {0}, {1}, nil}, []int{1, 2, 3, 3}, 3},
		"Shortcut":   {"the longest way counts", [][]int{nil, {0}, {0, 1}}, []int{1, 2, 3}, 3},
		"Empty":      {"no vertices, no layers", nil, []int{}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, layers := waves(tc.edges, topologicalOrder(tc.edges))
			if diff := cmp.Diff(tc.want, got); diff != "" || layers != tc.layers {
				t.Errorf("%s: %d layers, want %d; -want, +got:\n%s", tc.reason, layers, tc.layers, diff)
			}
		})
	}
}

func TestCycles(t *testing.T) {
	cases := map[string]struct {
		reason string
		edges  [][]int
		want   [][]int
	}{
		"None":     {"a tree has no cycle", [][]int{nil, {0}, {0}}, nil},
		"Two":      {"each component is told once, from its lowest vertex", [][]int{{1}, {0}, {3}, {2}, {0, 2}}, [][]int{{0, 1, 0}, {2, 3, 2}}},
		"Shortest": {"the shortest way round is told", [][]int{{1, 2}, {2}, {0}}, [][]int{{0, 2, 0}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, cycles(tc.edges)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOrderProperties holds for every graph: the order is complete without cycles, dependencies come first and are in
// a lower wave, and either the order is complete or there is a cycle to show.
func TestOrderProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		edges := make([][]int, n)
		for v := range edges {
			for w := range edges {
				if v != w && rapid.IntRange(0, 5).Draw(t, "edge") == 0 {
					edges[v] = append(edges[v], w)
				}
			}
		}
		order := topologicalOrder(edges)
		found := cycles(edges)
		if (len(order) == n) != (len(found) == 0) {
			t.Fatalf("order %v of %d vertices, cycles %v", order, n, found)
		}
		for _, cycle := range found {
			for i := 1; i < len(cycle); i++ {
				if !slices.Contains(edges[cycle[i-1]], cycle[i]) {
					t.Fatalf("%v is no cycle of %v", cycle, edges)
				}
			}
		}
		if len(found) > 0 {
			return
		}
		numbers, layers := waves(edges, order)
		position := make([]int, n)
		for i, v := range order {
			position[v] = i
		}
		for v, deps := range edges {
			if numbers[v] < 1 || numbers[v] > layers {
				t.Fatalf("wave %d of %d layers", numbers[v], layers)
			}
			for _, d := range deps {
				if position[d] >= position[v] || numbers[d] >= numbers[v] {
					t.Fatalf("%d depends on %d: positions %d, %d; waves %d, %d", v, d, position[v], position[d], numbers[v], numbers[d])
				}
			}
		}
	})
}

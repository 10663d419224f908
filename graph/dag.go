package graph

import (
	"container/heap"
	"slices"
)

// The order of a graph, in terms of numbered vertices only: edges[v] lists the vertices that v depends on, ascending
// and unique. Lower numbers come first wherever the edges leave a choice, so the order follows the document.

// topologicalOrder lists all vertices, dependencies first, in O((V+E) log V). Vertices on a cycle, or that depend on
// one, are missing from the result.
func topologicalOrder(edges [][]int) []int {
	dependents := reverse(edges)
	open := make([]int, len(edges))
	ready := &intHeap{}
	for v, deps := range edges {
		open[v] = len(deps)
		if len(deps) == 0 {
			*ready = append(*ready, v) // ascending, so already a heap
		}
	}
	order := make([]int, 0, len(edges))
	for ready.Len() > 0 {
		v := heap.Pop(ready).(int)
		order = append(order, v)
		for _, w := range dependents[v] {
			if open[w]--; open[w] == 0 {
				heap.Push(ready, w)
			}
		}
	}
	return order
}

// reverse turns dependencies into dependents.
func reverse(edges [][]int) [][]int {
	reversed := make([][]int, len(edges))
	for v, deps := range edges {
		for _, d := range deps {
			reversed[d] = append(reversed[d], v)
		}
	}
	return reversed
}

// waves numbers the vertices of an acyclic graph by peeling off those that nobody depends on: the first layer peeled
// gets the highest number, the last one 1. It returns the number of layers too.
func waves(edges [][]int, order []int) (numbers []int, layers int) {
	depth := make([]int, len(edges)) // the longest chain of dependents above the vertex
	for i := len(order) - 1; i >= 0; i-- {
		v := order[i]
		layers = max(layers, depth[v]+1)
		for _, d := range edges[v] {
			depth[d] = max(depth[d], depth[v]+1)
		}
	}
	for v := range depth {
		depth[v] = layers - depth[v]
	}
	return depth, layers
}

// cycles returns one shortest cycle of every strongly connected component, each starting and ending with the lowest
// vertex of its component, ordered by that vertex. Each vertex of a cycle depends on the next.
func cycles(edges [][]int) [][]int {
	var found [][]int
	taken := make([]bool, len(edges))
	for v := range edges {
		if taken[v] {
			continue
		}
		path := shortestCycle(edges, v)
		if path == nil {
			continue
		}
		found = append(found, path)
		forward, backward := reachable(edges, v), reachable(reverse(edges), v)
		for w := range taken {
			taken[w] = taken[w] || forward[w] && backward[w]
		}
	}
	return found
}

// shortestCycle finds the way from a vertex back to itself, breadth first; nil when there is none.
func shortestCycle(edges [][]int, start int) []int {
	previous := make([]int, len(edges))
	for v := range previous {
		previous[v] = -1
	}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, d := range edges[v] {
			if d == start {
				path := []int{start}
				for w := v; w != start; w = previous[w] {
					path = append(path, w)
				}
				path = append(path, start)
				slices.Reverse(path)
				return path
			}
			if previous[d] < 0 {
				previous[d] = v
				queue = append(queue, d)
			}
		}
	}
	return nil
}

func reachable(edges [][]int, start int) []bool {
	seen := make([]bool, len(edges))
	for stack := []int{start}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		stack = append(stack, edges[v]...)
	}
	return seen
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(v any)        { *h = append(*h, v.(int)) }
func (h *intHeap) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	*h = (*h)[:last]
	return v
}

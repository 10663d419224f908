// Package graph runs the examples of examples/graph, and what must hold for every Graph, on a real API server with the real controller.
package graph

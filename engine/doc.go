// Package engine says what a compiled definition does with one instance: the plan, a pure function.
//
// In comes a [graph.Program], the instance, and, piece by piece, what was observed of the objects it leads to; out come
// the objects to apply, the references to read, and in the end an [Outcome]: the state of each node, whether the rest
// may be pruned, and the status. There is no I/O, no clock and no goroutine in here; the same input gives the same
// output. The executor, `kro render`, the tests and the simulator all drive the same [Pass].
//
// A pass is a conversation:
//
//	pass := engine.Begin(program, instance, options)
//	for tasks := pass.Advance(ctx); len(tasks) > 0; tasks = pass.Advance(ctx) {
//		// carry the tasks out, and tell the pass:
//		pass.Applied(node, item, object)  // or Refused, Deleting, Found, Unreadable
//	}
//	outcome := pass.Outcome()
//
// Advance hands a node out as soon as everything it refers to is there, so a driver that answers tasks as their results
// arrive walks the graph as a wavefront, in one pass, however deep it is.
package engine

// Package executor carries the plan of one instance out: it drives an [engine.Pass] as a wavefront.
//
// In comes a pass, the [Owner] (the instance as owner of its objects) and the current inventory; out go the fewest
// requests that bring the server to what the pass wants. The executor decides nothing about the graph. It decides
// whether an object has to be sent at all (memory.go), whether it may be (ownership, run.go), writes the inventory
// before the objects it names, and deletes what is no longer wanted (retire.go).
//
// A node is applied as soon as what it refers to is there: the server's answer is told to the pass and frees its
// dependents. Independent nodes and items go at the same time, bounded over all instances by Executor.Slots.
package executor

// Command soak shows that nothing that goes wrong leaves a trace: it runs instances of a graph, and every tenth as a Graph
// of the same nodes, for a while on a real API server, breaks things all the time, stops, waits, and compares what is there with what an undisturbed controller would
// have made.
//
//	go run ./test/soak -binary bin/kro -n 1000 -duration 1h
//
// Broken are: the controller (SIGKILL, SIGTERM), the API server (likewise), the rules (an admission policy refuses the
// controller's writes for a while). Meanwhile people create, edit, suspend and delete instances; another client edits and
// deletes their objects, takes their labels, holds them by a finalizer; the definition gets new revisions, and the object
// that all instances read gets new data.
//
// At the end there must be: no object of an instance that is gone, no difference between what is there and what should be,
// no write while nothing changes, and no more memory in the last quarter than in the first.
//
// What should be there is computed here (expect.go), from the instances, the definition and the settings as the server has
// them at the end: so it does not matter which of the many requests came through. The code that computes it is not kro's.
//
// Everything random comes from the seed, which is printed; -seed repeats the same decisions, though not the same timing.
package main

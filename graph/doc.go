// Package graph decides whether a definition is valid and turns it into a Program.
//
// In comes a Source, the neutral form of a document that declares a graph of objects (FromDefinition makes one of a
// ResourceGraphDefinition), and an Env, which knows the schemas of the kinds that the document names. Out goes either
// a *Program, which is immutable, complete and safe to share, or Diagnostics: every fault found, in document order,
// each with its place in the document. Admission, the controllers, the command line and the tests all go through
// Compile, so what one of them accepts no other refuses.
//
// A Program holds the nodes of the graph (Node) with their compiled templates (Value), conditions and iterators, the
// order in which they are applied and deleted, the CustomResourceDefinition of the API that the definition creates
// (Instance), and the projection of the nodes into the status of an instance (Projection). What it does not hold is
// any state: evaluating a Program against an instance is the work of package engine.
//
// The package does no I/O and reads no clock; the same Source and the same schemas give the same Program, or the same
// Diagnostics, to the byte.
package graph

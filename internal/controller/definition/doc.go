// Package definition takes care of ResourceGraphDefinitions: it has each one compiled, numbered as a GraphRevision, published as a CRD and served.
//
// In come definitions, their revisions, the CRDs of the cluster and news from the compiled programs; out go GraphRevisions, generated CRDs, orders to the
// instance controller, and one status write a definition when something changed. A reconcile is the list of steps in reconcile.go, each in a file of
// its own:
//
//	gather    the revisions that exist (revisions.go)
//	check     whether the document compiles (check.go)
//	number    the document: the revision it has, or a new one (number.go)
//	choose    the program to serve: the newest that works, never nothing while one worked (choose.go)
//	publish   the CRD of that program (publish.go)
//	serve     the instances (serve.go)
//	retire    revisions that are no longer kept (retire.go)
//
// Two rules hold throughout. What works goes on working: a document that does not compile, a CRD that is refused, a kind that has gone are told in the
// conditions and leave the instances with what they had. And nothing polls: every wait ends with an event (events.go).
//
// A definition that is deleted (deletion.go) stays, and goes on serving, until its last instance has gone.
package definition

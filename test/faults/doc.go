// Package faults lives the life of one owner (an instance, or a Graph) through an API server that fails at the n-th request, for every n: the request is refused,
// or carried out and its answer lost, or the controller is killed (kill -9) before or after it. Whatever happens, the end must be the same, object by object, with
// the status of the owner and what is contributed to objects of others, and nothing may be left behind but what is declared to stay.
//
// There are a few stories, so that every kind of node is in one. Counted are all requests about the owner and its objects, reads too; watches, leases, events and
// discovery are not. Each n has one fault that the controller survives and one that kills it; with FAULTS=all in the environment (make faults), every one. A life under a fault may take other requests than an undisturbed one, so that some n may not be reached; that is no failure.
package faults

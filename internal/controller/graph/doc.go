// Package graph serves Graphs: graphs of objects without an API of their own.
//
// In come the Graphs of the cluster, the compiled nodes of each (internal/programs), and the caches; out go their objects, through the same engine and
// executor as those of instances. What differs from an instance:
//
//   - A Graph acts as a ServiceAccount of its namespace, by impersonation (identity.go). What that account may not watch is not watched for it
//     (review.go).
//   - What it owns stands in its status, object by object, and is written there before the object is (inventory.go). Deletion works from the status
//     alone (deletion.go): no graph, no expression and no cache can stand in its way.
//   - Dependents go on as soon as what they refer to is there, ready or not (engine.GateScope).
//
// Events wake a Graph: of itself, of its objects, of what it reads and contributes to, of kinds that it misses. Failures are tried again, between 1 s and
// 5 min later. Nothing polls.
package graph

// Package programs keeps the compiled definitions of this process.
//
// In come specs of definitions, each named by its definition and the hash of the spec, and news that a kind of the cluster has changed. Out go
// Results: the program of a spec, or why there is none. A spec is compiled once, however many controllers ask for it, and again only when a kind
// that it used, or missed, has changed; subscribers are told when that made a difference.
//
// A program that worked is never taken away: when a spec no longer compiles because a kind changed, its Result carries the faults and the last
// program both, and whoever serves instances goes on with it.
package programs

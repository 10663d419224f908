// Package revision decides about GraphRevisions: what their identity is, which number and name comes next, whose they are, which may go.
//
// Everything here is a pure function of definitions and revisions. Controllers and the command line call it and get the same answers; whoever reads and writes
// objects does so elsewhere.
package revision

// Package audit counts API requests by who sent them, from the audit log of a kube-apiserver.
//
// In come the lines of the log: a Log is the io.Writer that they are written to. Out come Counts: requests by verb and
// resource of one user, between two moments. Watches and leases are left out everywhere: they last, or tick, and tell
// nothing about the work done.
//
// A request shows in the log a moment after it has been answered. Barrier closes that gap.
package audit

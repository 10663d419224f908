// Package faults runs the life of one instance through an API server that fails at the n-th write, for every n: the
// request is refused, or carried out and its answer lost, or the controller is killed before or after it. Whatever
// happens, the end must be the same, object by object, and nothing may be left behind.
package faults

// Package process runs programs as children that do not outlive the program that started them, and tells what they cost.
//
// In comes a command line and a log file; out comes a Process that can be stopped, killed, and asked for its CPU time and
// memory. A child has its own process group, so that Ctrl-C in a terminal reaches only the parent, which then ends its
// children in the order that it needs. Should the parent itself be killed, the system ends the children (Linux).
package process

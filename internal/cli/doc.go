// Package cli is the command line of kro, one file a command.
//
// In come the arguments of the process; out goes its exit code. `kro controller` puts the house together: it reads the options (options.go), makes the
// clients and connects the rooms to each other (controller.go, wiring.go); what happens then is theirs.
package cli

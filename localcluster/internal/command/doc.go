// Package command is the command line of localcluster: up, down, status and run
// for people and the Makefile, controller-manager and simulate for the processes
// that a plane is made of. Each file is one command; what they do is in packages
// plane, objects and simulator.
package command

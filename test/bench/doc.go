// Command bench measures a controller that takes the flags of `kro controller`: what it asks of the API server, and how
// long it takes, against a control plane that bench starts for the run and removes after it.
//
//	go run ./test/bench -binary bin/kro -n 1000
//
// The measured graph is a chain of three objects, ConfigMap → Deployment → Service, each of which refers to the one before.
// Beside the controller stands the floor: a client that sends only the writes that any implementation must send (one
// metadata patch, three applies and one status write an instance), on the same machine and server, in the same run. Times
// are compared with it, so that they mean the same on every machine.
//
// Rules of counting. Requests are those of the controller's user in the audit log; watches and leases are left out; a
// refused request counts. A scenario lasts until its effect can be seen by a watch; its requests, and the controller's CPU
// time, are counted until the controller has been quiet for two seconds, so that work put off is not lost.
//
// The program reads top to bottom: main.go (command line), run.go (one size: plane, scenarios, report), scenarios.go (the
// list), one file a group of scenarios, report.go and table.go (what comes out), bounds.go (what must not get worse).
package main

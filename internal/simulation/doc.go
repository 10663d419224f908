// Package simulation runs a front door of kro (the controller of instances, or of Graphs) against an API server in memory, in one goroutine, through
// generated graphs and generated histories with faults. It is for tests only.
//
// In come a [Door], which is the real controller with its queue and its caches replaced, and what rapid draws. A [World] is the server, the caches of the
// present controller, everybody else who writes (the user, the kubelet, somebody who should not), and the properties:
//
//   - at each write (checks.go): the inventory names what is written; nothing of another owner is touched; nothing is pruned in a pass in which a write
//     failed or something that a node needs is missing; what declares that it stays is not deleted; waves go in order;
//   - at the end (run.go): the objects, the contributions and the status are those of an undisturbed run; then nothing more is written, also not after a
//     restart; a deletion leaves nothing but what is declared to stay, and gives back what was contributed.
package simulation

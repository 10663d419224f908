// Package apply knows the protocol by which kro owns objects, and decides; it talks to no server.
//
// The children of an instance are an ApplySet (KEP-3659) and the instance is its parent. Its inventory stands in annotations of the instance:
// which group-kinds, and which namespaces besides the instance's own, its children may be in. It is written before the objects that it names, so
// that deletion finds them from the instance alone, after any crash.
//
// Who comes in: the executor and the instance controller, with objects they have read. What goes out: the inventory to write (Inventory), whether an
// object may be taken (Conflict), which objects to delete next (NextWave), and whether an apply would change anything (ContentHash, Contains).
package apply

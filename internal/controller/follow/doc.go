// Package follow has an owner of objects, an instance or a Graph, looked at again when something moves that it depends on. Both controllers follow alike:
// their own objects through one cache a kind, what they read through a cache of its own, what belongs to others until it is free.
package follow

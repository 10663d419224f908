// Package watch is the informer fleet: everything that kro knows about a cluster comes in here.
//
// Who comes in: controllers ask a Fleet for a Source, that is a kind, narrowed to a namespace, a name or a label selector, and say who they
// are (an owner) and what to call when something happens. What goes out: a Store, the present state of that Source, and Events.
//
// A Source is watched once, however many owners ask for it, and as long as one of them is left. Owners are named, so that one may leave while
// another comes at the same moment and the informer stays. A Source that cannot be read (its kind is not installed, the right is missing) says so
// in Store.Err, is tried again with backoff, and disturbs nobody else.
//
// # Own writes
//
// A controller that has just written an object knows more than its cache does. Store.Record puts the object that the server returned in front of
// the cache until the cache has caught up, which resource versions decide: they are numbers that grow within one resource (KEP-5504). The event of
// such a write is not forwarded: it tells its writer nothing. As the event may overtake the answer to the request that caused it,
// Store.Expect keeps the events of one object back while a write to it is under way.
//
// # What is kept
//
// Objects lose metadata.managedFields before they are stored, which is often half of them, and share the memory of strings and of whole branches that
// are equal from object to object. They are shared and must not be changed. The annotation kubectl.kubernetes.io/last-applied-configuration is
// kept: kro's own objects do not carry it, and on the objects of others it is data that an expression may read.
//
// # Concurrency
//
// Ensure, Release, Kick and all methods of Store may be called from anywhere, also from within an event function, and never wait for the network. The
// events of a Source are delivered one after the other, in order, on the goroutine that reads its watch: an event function must return at once
// (put a key in a queue). Record and settle may call event functions as well, on the goroutine of the writer, so a writer must hold no lock that an
// event function takes. An event function that has been released may still be called with an event that was under way.
//
// # A kind that is gone
//
// When the server says twice in a row that it does not serve a kind, the objects of that kind are taken for gone, and events say so. It is what a
// deleted CRD looks like. It is also what an API server looks like that is far behind its peers: before something is given up for good because it is
// gone (a finalizer, say), ask the server.
package watch

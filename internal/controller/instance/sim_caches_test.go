package instance

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// simCaches are the caches of one controller over a simServer. Each store reads the server's history at its own pace, so
// that what it shows may be old, and stores may disagree.
type simCaches struct {
	server *simServer
	stores map[watch.Source]*simStore
	order  []*simStore
}

var _ Caches = (*simCaches)(nil)

func newSimCaches(server *simServer) *simCaches {
	return &simCaches{server: server, stores: map[watch.Source]*simStore{}}
}

type simOwner struct {
	interest watch.Interest
	on       func(watch.Event)
}

// Ensure implements Caches.
func (c *simCaches) Ensure(src watch.Source, owner string, on func(watch.Event)) executor.Store {
	return c.EnsureFor(src, owner, watch.Interest{}, on)
}

// EnsureFor implements Caches. A new source starts with what is on the server, as a list would.
func (c *simCaches) EnsureFor(src watch.Source, owner string, only watch.Interest, on func(watch.Event)) executor.Store {
	s := c.stores[src]
	if s == nil {
		s = &simStore{caches: c, source: src, owners: map[string]simOwner{}, seen: map[executor.Key]*unstructured.Unstructured{},
			own: map[executor.Key]*unstructured.Unstructured{}, done: make(chan struct{})}
		close(s.done)
		for s.pending() {
			s.step(false)
		}
		c.stores[src] = s
		c.order = append(c.order, s)
	}
	s.owners[owner] = simOwner{interest: only, on: on}
	return s
}

// Release implements Caches.
func (c *simCaches) Release(src watch.Source, owner string) {
	if s := c.stores[src]; s != nil {
		delete(s.owners, owner)
	}
}

// ReleaseOwner implements Caches.
func (c *simCaches) ReleaseOwner(owner string) {
	for _, s := range c.order {
		delete(s.owners, owner)
	}
}

// simStore is one cache.
type simStore struct {
	caches *simCaches
	source watch.Source
	owners map[string]simOwner
	at     int // position in the history
	seen   map[executor.Key]*unstructured.Unstructured
	own    map[executor.Key]*unstructured.Unstructured // own writes that the cache has not caught up with
	done   chan struct{}
}

func (s *simStore) pending() bool { return s.at < len(s.caches.server.history) }

// step reads one event of the history and tells the owners.
func (s *simStore) step(tell bool) {
	e := s.caches.server.history[s.at]
	s.at++
	if e.key.GVR != s.source.GVR || s.source.Namespace != "" && e.key.Namespace != s.source.Namespace || s.source.Name != "" && e.key.Name != s.source.Name {
		return
	}
	old := s.seen[e.key]
	matches := !e.deleted && s.selects(e.object)
	own := s.own[e.key]
	if own != nil && simVersion(e.object) >= simVersion(own) {
		delete(s.own, e.key)
	}
	event := watch.Event{Source: s.source, Old: old}
	switch {
	case matches:
		s.seen[e.key] = e.object
		event.New = e.object
	case old != nil:
		delete(s.seen, e.key)
	default:
		return
	}
	// What an own write has overtaken is known to its writer: the answer held it.
	if !tell || own != nil && event.New != nil && simVersion(e.object) <= simVersion(own) {
		return
	}
	for _, name := range slices.Sorted(mapKeys(s.owners)) {
		if o := s.owners[name]; concerns(o.interest, event) {
			o.on(event)
		}
	}
}

func concerns(i watch.Interest, e watch.Event) bool {
	if i.Index == "" {
		return true
	}
	for _, o := range []*unstructured.Unstructured{e.Old, e.New} {
		if o != nil && indexed(i.Index, o) == i.Value {
			return true
		}
	}
	return false
}

func indexed(index string, o *unstructured.Unstructured) string {
	switch index {
	case watch.IndexInstanceID:
		return o.GetLabels()[v1alpha1.InstanceIDLabel]
	case watch.IndexPartOf:
		return o.GetLabels()[v1alpha1.PartOfLabel]
	}
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

func (s *simStore) selects(o *unstructured.Unstructured) bool {
	selector, err := labels.Parse(s.source.Selector)
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}

func simVersion(o *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(o.GetResourceVersion())
	return n
}

func mapKeys[K cmp.Ordered, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Synced implements executor.Store.
func (s *simStore) Synced() bool { return true }

// Err implements executor.Store.
func (s *simStore) Err() error { return nil }

// Done implements executor.Store.
func (s *simStore) Done() <-chan struct{} { return s.done }

// Get implements executor.Store.
func (s *simStore) Get(namespace, name string) (*unstructured.Unstructured, bool) {
	key := executor.Key{GVR: s.source.GVR, Namespace: namespace, Name: name}
	if own := s.own[key]; own != nil {
		return own, true
	}
	o := s.seen[key]
	return o, o != nil
}

// List implements executor.Store.
func (s *simStore) List() []*unstructured.Unstructured {
	merged := map[string]*unstructured.Unstructured{}
	for k, o := range s.seen {
		merged[k.Namespace+"/"+k.Name] = o
	}
	for k, o := range s.own {
		merged[k.Namespace+"/"+k.Name] = o
	}
	var out []*unstructured.Unstructured
	for _, k := range slices.Sorted(mapKeys(merged)) {
		out = append(out, merged[k])
	}
	return out
}

// ByIndex implements executor.Store.
func (s *simStore) ByIndex(index, value string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range s.List() {
		if indexed(index, o) == value {
			out = append(out, o)
		}
	}
	return out
}

// Record implements executor.Store.
func (s *simStore) Record(o *unstructured.Unstructured) {
	key := executor.Key{GVR: s.source.GVR, Namespace: o.GetNamespace(), Name: o.GetName()}
	if seen := s.seen[key]; seen == nil || simVersion(seen) < simVersion(o) {
		if s.caught(key, simVersion(o)) {
			return
		}
		s.own[key] = o
	}
}

// caught tells that the history up to a version has been read already, so that an own write needs no stand-in.
func (s *simStore) caught(key executor.Key, version int) bool {
	for i := s.at - 1; i >= 0; i-- {
		e := s.caches.server.history[i]
		if simVersion(e.object) < version {
			return false
		}
		if e.key == key {
			return true
		}
	}
	return false
}

// Expect implements executor.Store.
func (s *simStore) Expect(string, string) func() { return func() {} }

// simQueue is a queue whose delays are over whenever the simulation says so.
type simQueue struct {
	due     []key
	delayed []key
}

func (q *simQueue) Add(k key) {
	if !slices.Contains(q.due, k) {
		q.due = append(q.due, k)
	}
}

func (q *simQueue) AddAfter(k key, _ time.Duration) {
	if !slices.Contains(q.delayed, k) {
		q.delayed = append(q.delayed, k)
	}
}

// elapse lets all delays run out.
func (q *simQueue) elapse() {
	for _, k := range q.delayed {
		q.Add(k)
	}
	q.delayed = nil
}

func (q *simQueue) Get() (key, bool) {
	if len(q.due) == 0 {
		return key{}, true
	}
	k := q.due[0]
	q.due = q.due[1:]
	return k, false
}

func (q *simQueue) Done(key)           {}
func (q *simQueue) Len() int           { return len(q.due) }
func (q *simQueue) ShutDown()          {}
func (q *simQueue) ShutDownWithDrain() {}
func (q *simQueue) ShuttingDown() bool { return false }

package simulation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// Caches are the caches of one controller over a Server. Each store reads the server's history at its own pace, so
// that what it shows may be old, and stores may disagree.
type Caches struct {
	server *Server
	stores map[watch.Source]*store
	order  []*store
}

// NewCaches returns caches that hold nothing yet.
func NewCaches(server *Server) *Caches {
	return &Caches{server: server, stores: map[watch.Source]*store{}}
}

type interested struct {
	interest watch.Interest
	on       func(watch.Event)
}

// Ensure implements Caches.
func (c *Caches) Ensure(src watch.Source, owner string, on func(watch.Event)) executor.Store {
	return c.EnsureFor(src, owner, watch.Interest{}, on)
}

// EnsureFor implements Caches. A new source starts with what is on the server, as a list would.
func (c *Caches) EnsureFor(src watch.Source, owner string, only watch.Interest, on func(watch.Event)) executor.Store {
	s := c.stores[src]
	if s == nil {
		s = &store{caches: c, source: src, owners: map[string]interested{}, seen: map[executor.Key]*unstructured.Unstructured{},
			own: map[executor.Key]*unstructured.Unstructured{}, done: make(chan struct{})}
		close(s.done)
		for s.pending() {
			s.step(false)
		}
		c.stores[src] = s
		c.order = append(c.order, s)
	}
	s.owners[owner] = interested{interest: only, on: on}
	return s
}

// Release implements Caches.
func (c *Caches) Release(src watch.Source, owner string) {
	if s := c.stores[src]; s != nil {
		delete(s.owners, owner)
		c.sweep()
	}
}

// ReleaseOwner implements Caches.
func (c *Caches) ReleaseOwner(owner string) {
	for _, s := range c.order {
		delete(s.owners, owner)
	}
	c.sweep()
}

// sweep ends the watches that nobody wants any more.
func (c *Caches) sweep() {
	c.order = slices.DeleteFunc(c.order, func(s *store) bool {
		if len(s.owners) == 0 {
			delete(c.stores, s.source)
		}
		return len(s.owners) == 0
	})
}

// followedBy are the sources that owners whose name holds the text follow.
func (c *Caches) followedBy(text string) []string {
	var out []string
	for _, s := range c.order {
		for owner := range s.owners {
			if strings.Contains(owner, text) {
				out = append(out, s.source.String()+" by "+owner)
			}
		}
	}
	return out
}

// CatchUp lets every cache read everything, and tells whether any had something to read.
func (c *Caches) CatchUp() (moved bool) {
	for _, s := range slices.Clone(c.order) {
		for s.pending() {
			s.step(true)
			moved = true
		}
	}
	return moved
}

// store is one cache.
type store struct {
	caches *Caches
	source watch.Source
	owners map[string]interested
	at     int // position in the history
	seen   map[executor.Key]*unstructured.Unstructured
	own    map[executor.Key]*unstructured.Unstructured // own writes that the cache has not caught up with
	done   chan struct{}
}

func (s *store) pending() bool { return s.at < len(s.caches.server.history) }

// step reads one event of the history and tells the owners.
func (s *store) step(tell bool) {
	e := s.caches.server.history[s.at]
	s.at++
	if e.key.GVR != s.source.GVR || s.source.Namespace != "" && e.key.Namespace != s.source.Namespace || s.source.Name != "" && e.key.Name != s.source.Name {
		return
	}
	old := s.seen[e.key]
	matches := !e.deleted && s.selects(e.object)
	own := s.own[e.key]
	if own != nil && version(e.object) >= version(own) {
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
	if !tell || own != nil && event.New != nil && version(e.object) <= version(own) {
		return
	}
	s.tell(event)
}

// lose is a watch that breaks and is begun anew with a list: what happened in between shows as one change, or not at all.
func (s *store) lose() {
	before := map[executor.Key]*unstructured.Unstructured{}
	maps.Copy(before, s.seen)
	maps.Copy(before, s.own)
	own := s.own
	s.own = map[executor.Key]*unstructured.Unstructured{}
	for s.pending() {
		s.step(false)
	}
	keys := maps.Clone(before)
	maps.Copy(keys, s.seen)
	for _, key := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		was, is := before[key], s.seen[key]
		if was != nil && is != nil && version(was) == version(is) || is != nil && own[key] != nil && version(is) <= version(own[key]) {
			continue
		}
		s.tell(watch.Event{Source: s.source, Old: was, New: is})
	}
}

func (s *store) tell(event watch.Event) {
	for _, name := range slices.Sorted(maps.Keys(s.owners)) {
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

func (s *store) selects(o *unstructured.Unstructured) bool {
	selector, err := labels.Parse(s.source.Selector)
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}

func compareKeys(a, b executor.Key) int {
	return strings.Compare(a.GVR.Resource+"/"+a.Namespace+"/"+a.Name, b.GVR.Resource+"/"+b.Namespace+"/"+b.Name)
}

func version(o *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(o.GetResourceVersion())
	return n
}

// Synced implements executor.Store.
func (s *store) Synced() bool { return true }

// Err implements executor.Store.
func (s *store) Err() error {
	if s.caches.server.gone[s.source.GVR] {
		return &watch.SourceError{Source: s.source, Err: notServed(s.source.GVR)}
	}
	return nil
}

// Done implements executor.Store.
func (s *store) Done() <-chan struct{} { return s.done }

// Get implements executor.Store.
func (s *store) Get(namespace, name string) (*unstructured.Unstructured, bool) {
	key := executor.Key{GVR: s.source.GVR, Namespace: namespace, Name: name}
	if own := s.own[key]; own != nil {
		return own, true
	}
	o := s.seen[key]
	return o, o != nil
}

// List implements executor.Store.
func (s *store) List() []*unstructured.Unstructured {
	merged := map[string]*unstructured.Unstructured{}
	for k, o := range s.seen {
		merged[k.Namespace+"/"+k.Name] = o
	}
	for k, o := range s.own {
		merged[k.Namespace+"/"+k.Name] = o
	}
	var out []*unstructured.Unstructured
	for _, k := range slices.Sorted(maps.Keys(merged)) {
		out = append(out, merged[k])
	}
	return out
}

// ByIndex implements executor.Store.
func (s *store) ByIndex(index, value string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range s.List() {
		if indexed(index, o) == value {
			out = append(out, o)
		}
	}
	return out
}

// Record implements executor.Store.
func (s *store) Record(o *unstructured.Unstructured) {
	key := executor.Key{GVR: s.source.GVR, Namespace: o.GetNamespace(), Name: o.GetName()}
	if seen := s.seen[key]; seen == nil || version(seen) < version(o) {
		if s.caught(key, version(o)) {
			return
		}
		s.own[key] = o
	}
}

// caught tells that the history up to a version has been read already, so that an own write needs no stand-in.
func (s *store) caught(key executor.Key, upTo int) bool {
	for i := s.at - 1; i >= 0; i-- {
		e := s.caches.server.history[i]
		if version(e.object) < upTo {
			return false
		}
		if e.key == key {
			return true
		}
	}
	return false
}

// Expect implements executor.Store.
func (s *store) Expect(string, string) func() { return func() {} }

package instance

import (
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/graph"
	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// stores gives the executor the caches of the fleet, and makes their events wake the instance.
type stores struct {
	pass *pass
	used map[watch.Source]bool
}

var _ executor.Stores = (*stores)(nil)

// Members implements executor.Stores. The instance is woken by changes of the members of its ApplySet only. They are known by the set, not
// by the UID of the instance: one restored from a backup has children of its former self to wait for.
func (s *stores) Members(gvr kschema.GroupVersionResource) executor.Store {
	source := follow.Members(gvr)
	interest := watch.Interest{Index: watch.IndexPartOf, Value: s.pass.owner().SetID}
	s.pass.state.held.add(s.pass.key.GVR, source)
	return s.pass.Caches.EnsureFor(source, ownerName(s.pass.state.uid), interest, s.pass.wake())
}

// External implements executor.Stores. The instance is woken by every change of what it reads.
func (s *stores) External(gvr kschema.GroupVersionResource, target executor.Target) executor.Store {
	source := watch.Source{GVR: gvr, Namespace: target.Namespace, Name: target.Name, Selector: target.Selector}
	if s.used == nil {
		s.used = map[watch.Source]bool{}
	}
	s.used[source] = true
	s.pass.state.externals[source] = true
	s.pass.state.held.add(s.pass.key.GVR, source)
	return s.pass.Caches.Ensure(source, ownerName(s.pass.state.uid), s.pass.wake())
}

// commit lets go of the references that the instance no longer reads. It is called after a pass without failure: a
// pass that failed half-way does not know what it would have read.
func (s *stores) commit() {
	for source := range s.pass.state.externals {
		if !s.used[source] {
			s.pass.Caches.Release(source, ownerName(s.pass.state.uid))
			s.pass.state.held.drop(s.pass.key.GVR, source)
			delete(s.pass.state.externals, source)
		}
	}
}

func (p *pass) wake() func(watch.Event) {
	queue, k := p.queue, p.key
	return func(watch.Event) { queue.Add(k) }
}

// awaitCaches tells whether the pass has to wait for caches that are being read, and has the instance woken when they
// are. A cache that cannot be read is not waited for: what depends on it fails by itself and says why.
func (p *pass) awaitCaches(program *graph.Program) (bool, error) {
	resources, err := p.resources(p.inventory().GroupKinds)
	if err != nil {
		return false, err
	}
	for _, gvr := range append(memberResources(program), resources...) {
		store := p.stores.Members(gvr)
		if !store.Synced() && store.Err() == nil {
			p.wakeWhen(store.Done())
			return true, nil
		}
	}
	return false, nil
}

// wakeWhen puts the instance into the queue when a cache has been read.
func (p *pass) wakeWhen(done <-chan struct{}) {
	queue, k := p.queue, p.key
	follow.When(done, p.stopped, func() { queue.Add(k) })
}

// watchContested has the instance woken when an object that belongs to somebody else changes or goes.
func (p *pass) watchContested(contested []executor.Key) {
	p.state.contested.Follow(p.Caches, ownerName(p.state.uid), contested, p.wake())
}

package graph

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// stores gives the executor the caches of the fleet, and makes their events wake the Graph.
//
// The cache of what kro owns is used without asking for rights: what a Graph gets to see of it are objects that it applied itself, and whose other objects are.
// What a Graph merely reads may be anything, so there the rights of its account count.
type stores struct {
	pass *pass
	// ctx bounds the questions about rights.
	ctx  context.Context
	used map[watch.Source]bool
	// unread tells that something could be neither watched nor read, for a reason that may pass. No event tells when it does.
	unread bool
	// unwatched tells that something was read that the account may not watch. No event tells when it changes, or comes.
	unwatched bool
}

var _ executor.Stores = (*stores)(nil)

// Members implements executor.Stores. The Graph is woken by changes of its own objects only.
func (s *stores) Members(gvr kschema.GroupVersionResource) executor.Store {
	interest := watch.Interest{Index: watch.IndexInstanceID, Value: string(s.pass.state.uid)}
	return s.pass.Caches.EnsureFor(follow.Members(gvr), ownerName(s.pass.state.uid), interest, s.pass.wake())
}

// External implements executor.Stores. The Graph is woken by every change of what it reads. What its account may not watch is read once, as that account.
func (s *stores) External(gvr kschema.GroupVersionResource, target executor.Target) executor.Store {
	p := s.pass
	source := watch.Source{GVR: gvr, Namespace: target.Namespace, Name: target.Name, Selector: target.Selector}
	if err := p.reviews.mayWatch(s.ctx, p.client, p.user, gvr, target); err != nil {
		if p.state.externals[source] {
			p.Caches.Release(source, ownerName(p.state.uid))
			delete(p.state.externals, source)
		}
		read := s.readOnce(gvr, target, err)
		s.unread = s.unread || read.err != nil && !apierrors.IsForbidden(read.err)
		s.unwatched = s.unwatched || read.err == nil
		return read
	}
	s.used[source] = true
	known := p.state.externals[source]
	p.state.externals[source] = true
	store := p.Caches.Ensure(source, ownerName(p.state.uid), p.wake())
	if !known && !store.Synced() {
		p.wakeWhen(store.Done()) // a list of nothing gives no event
	}
	return store
}

// commit lets go of the references that the Graph no longer reads. It is called after a pass without failure: a pass that failed half-way does not know what
// it would have read.
func (s *stores) commit() {
	for source := range s.pass.state.externals {
		if !s.used[source] {
			s.pass.Caches.Release(source, ownerName(s.pass.state.uid))
			delete(s.pass.state.externals, source)
		}
	}
}

// readOnce reads, as the account of the Graph, what that account may not watch. When it may not read it either, the error says which right is missing.
func (s *stores) readOnce(gvr kschema.GroupVersionResource, target executor.Target, denied error) moment {
	if !apierrors.IsForbidden(denied) {
		return moment{err: denied}
	}
	var client interface {
		List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error)
		Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error)
	} = s.pass.client.Resource(gvr)
	if target.Namespace != "" {
		client = s.pass.client.Resource(gvr).Namespace(target.Namespace)
	}
	if target.Name != "" {
		object, err := client.Get(s.ctx, target.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return moment{}
		case err != nil:
			return moment{err: err}
		}
		return moment{objects: []*unstructured.Unstructured{object}}
	}
	list, err := client.List(s.ctx, metav1.ListOptions{LabelSelector: target.Selector, FieldSelector: fields.Everything().String()})
	if err != nil {
		return moment{err: err}
	}
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return moment{objects: objects}
}

// moment is a store of what was read once.
type moment struct {
	objects []*unstructured.Unstructured
	err     error
}

var read = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Synced implements executor.Store.
func (m moment) Synced() bool { return m.err == nil }

// Err implements executor.Store.
func (m moment) Err() error { return m.err }

// Done implements executor.Store.
func (m moment) Done() <-chan struct{} { return read }

// Get implements executor.Store.
func (m moment) Get(namespace, name string) (*unstructured.Unstructured, bool) {
	for _, o := range m.objects {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o, true
		}
	}
	return nil, false
}

// ByIndex implements executor.Store.
func (m moment) ByIndex(string, string) []*unstructured.Unstructured { return nil }

// List implements executor.Store.
func (m moment) List() []*unstructured.Unstructured { return m.objects }

// Record implements executor.Store.
func (m moment) Record(*unstructured.Unstructured) {}

// Expect implements executor.Store.
func (m moment) Expect(string, string) func() { return func() {} }

func (p *pass) wake() func(watch.Event) {
	queue, k := p.queue, p.key
	return func(watch.Event) { queue.Add(k) }
}

// wakeWhen puts the Graph into the queue when a cache has been read.
func (p *pass) wakeWhen(done <-chan struct{}) {
	queue, k := p.queue, p.key
	follow.When(done, p.stopped, func() { queue.Add(k) })
}

// watchContested has the Graph woken when an object that belongs to somebody else changes or goes.
func (p *pass) watchContested(contested []executor.Key) {
	p.state.contested.Follow(p.Caches, ownerName(p.state.uid), contested, p.wake())
}

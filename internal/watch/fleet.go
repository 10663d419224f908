package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Fleet runs one informer for each Source that somebody asked for.
type Fleet struct {
	client  dynamic.Interface
	log     logr.Logger
	opts    Options
	compact *compactor

	mu        sync.Mutex
	informers map[Source]*informer
	// owned is which sources each owner has asked for.
	owned map[string]map[Source]struct{}
	// ctx is nil before Start; stopped is set when it has ended.
	ctx     context.Context
	stopped bool
	running sync.WaitGroup
}

// New makes a Fleet that reads through client. Nothing is read before Start.
func New(client dynamic.Interface, log logr.Logger, opts Options) *Fleet {
	return &Fleet{
		client: client, log: log, opts: opts.withDefaults(), compact: newCompactor(),
		informers: map[Source]*informer{}, owned: map[string]map[Source]struct{}{},
	}
}

// Start runs the fleet until ctx ends, then stops every informer and waits for it. Sources may be asked for before and after. A fleet runs once.
func (f *Fleet) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	if f.ctx != nil {
		f.mu.Unlock()
		return errors.New("start the informer fleet: it has been started before")
	}
	f.ctx = ctx
	for _, i := range f.informers {
		f.launch(i)
	}
	f.mu.Unlock()

	<-ctx.Done()
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

// Ensure watches src on behalf of owner, and calls on with its events. The same owner again replaces its function. It does not block: Store.Done
// tells when the source has been read.
//
// The objects of the first read are events too (Old is nil). An owner that joins a source that has been read already gets no events for what is
// there: it reads the Store.
func (f *Fleet) Ensure(src Source, owner string, on func(Event)) *Store {
	return f.EnsureFor(src, owner, Interest{}, on)
}

// EnsureFor is Ensure for an owner that wants only some events: those of objects that only describes. One owner has one interest in a source; asking
// again replaces it.
func (f *Fleet) EnsureFor(src Source, owner string, only Interest, on func(Event)) *Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.informers[src]
	if i == nil {
		i = f.newInformer(src)
		f.informers[src] = i
		f.opts.Hooks.Watches(len(f.informers))
	}
	if f.owned[owner] == nil {
		f.owned[owner] = map[Source]struct{}{}
	}
	f.owned[owner][src] = struct{}{}
	// The owner is in place before anything is read, so it misses no event.
	i.store.subscribe(owner, only, on)
	if !i.launched {
		f.launch(i)
	}
	return i.store
}

// launch runs an informer, once the fleet runs. The lock must be held.
func (f *Fleet) launch(i *informer) {
	if f.stopped {
		i.store.fail(errStopped)
		return
	}
	if f.ctx == nil {
		return
	}
	ctx, stop := context.WithCancel(f.ctx)
	i.launched, i.stop = true, stop
	f.running.Go(func() {
		defer stop()
		i.run(ctx)
	})
}

// Release takes owner off src. When nobody is left the informer is stopped, and the Store no longer follows the cluster.
func (f *Fleet) Release(src Source, owner string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release(src, owner)
}

// ReleaseOwner takes owner off every source.
func (f *Fleet) ReleaseOwner(owner string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for src := range f.owned[owner] {
		f.release(src, owner)
	}
}

// release is Release under the lock. Whether anybody is left is decided under the same lock under which somebody comes, so an informer that is wanted
// is never stopped.
func (f *Fleet) release(src Source, owner string) {
	if _, ok := f.owned[owner][src]; !ok {
		return
	}
	delete(f.owned[owner], src)
	if len(f.owned[owner]) == 0 {
		delete(f.owned, owner)
	}
	i := f.informers[src]
	if i.store.unsubscribe(owner) > 0 {
		return
	}
	delete(f.informers, src)
	if i.launched {
		i.stop()
	} else {
		i.store.fail(errStopped)
	}
	f.opts.Hooks.Watches(len(f.informers))
}

// Kick tries the failing sources of a resource again at once, in whatever version: call it when a CRD appears, is established, or goes.
func (f *Fleet) Kick(gr kschema.GroupResource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for src, i := range f.informers {
		if src.GVR.GroupResource() == gr {
			i.retry()
		}
	}
}

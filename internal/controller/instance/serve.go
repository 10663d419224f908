package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/graph"
	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/watch"
)

// Definition is what a definition wants its instances to be.
type Definition struct {
	Name string
	UID  types.UID
	// Kind is the kind of the instances. It may be left out when there is a Program.
	Kind graph.InstanceKind
	// Program is what instances run; nil when nothing compiled, then Reason says why.
	Program  *graph.Program
	Revision int64
	Reason   string
	// Adopt "false" refuses to take over existing objects that belong to nobody (annotation kro.run/adopt).
	Adopt string
}

// kind is one served kind of instances.
type kind struct {
	definition Definition
	gvk        kschema.GroupVersionKind
	namespaced bool
	store      executor.Store
	source     watch.Source
	// events writes the events about the instances; nil when there are to be none.
	events Recorder
	log    logr.Logger
	// settled tells that the caches of instances and children have been read, so that reconciling makes sense.
	settled bool
}

// servePatience is how long Serve waits to learn whether instances can be watched.
const servePatience = 5 * time.Second

// Serve keeps the instances of a definition in the state that its Program says. It may be called as often as one likes:
// the instances are woken only when something changed. It fails when the instances cannot be watched.
func (c *Controller) Serve(ctx context.Context, d Definition) error {
	if d.Program != nil {
		i := d.Program.Instance
		d.Kind = graph.InstanceKind{GVK: i.GVK, Resource: i.Resource, Namespaced: i.Namespaced}
	}
	gvr := d.Kind.Resource
	if gvr.Resource == "" {
		return fmt.Errorf("definition %s names no kind to serve", d.Name)
	}
	c.mu.Lock()
	k := c.kinds[gvr]
	if k != nil && k.definition == d && k.settled {
		c.mu.Unlock()
		return k.store.Err()
	}
	if k == nil {
		k = &kind{source: instanceSource(gvr), gvk: d.Kind.GVK, namespaced: d.Kind.Namespaced}
		k.store = c.Caches.Ensure(k.source, definitionOwner(d.Name), c.instanceChanged)
		k.log = c.Log.WithName(gvr.Resource+"-controller").WithValues(
			"controller", gvr.Resource, "controllerGroup", k.gvk.Group, "controllerKind", k.gvk.Kind)
		if c.Options.Events && c.Events != nil {
			k.events = c.Events(component(gvr))
		}
		c.kinds[gvr] = k
		metrics.HandlerAttached()
		metrics.SetServedKinds(len(c.kinds))
	}
	k.definition = d
	c.mu.Unlock()

	for _, member := range memberResources(d.Program) {
		c.Caches.EnsureFor(follow.Members(member), definitionOwner(d.Name), nobody, func(watch.Event) {})
	}
	if d.Program != nil {
		if err := c.await(ctx, k.store); err != nil {
			return err
		}
	}
	go c.settle(gvr, d)
	return nil
}

// component is the source that the events about the instances of a kind name.
func component(gvr kschema.GroupVersionResource) string {
	return "kro/" + gvr.GroupResource().String() + "-controller"
}

// await waits until the instances have been listed once, or until it is clear that they cannot be.
func (c *Controller) await(ctx context.Context, store executor.Store) error {
	deadline := c.Clock.After(servePatience)
	tick := c.Clock.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-store.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return store.Err()
		case <-tick.C():
			if err := store.Err(); apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				return err
			}
		}
	}
}

// settle waits for the caches of children and then wakes all instances. A cache that cannot be read does not hold them
// up: what depends on it says so in its condition.
func (c *Controller) settle(gvr kschema.GroupVersionResource, d Definition) {
	deadline := c.Clock.After(servePatience)
	c.mu.Lock()
	served := c.kinds[gvr]
	c.mu.Unlock()
	if served == nil {
		return // withdrawn meanwhile
	}
	select {
	case <-served.store.Done():
	case <-deadline:
	case <-c.stopped:
		return
	}
	for _, member := range memberResources(d.Program) {
		store := c.Caches.EnsureFor(follow.Members(member), definitionOwner(d.Name), nobody, func(watch.Event) {})
		select {
		case <-store.Done():
		case <-deadline:
		case <-c.stopped:
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kinds[gvr]; k != nil && k.definition == d {
		k.settled = true
		c.wakeAll(gvr, k)
	}
}

func (c *Controller) wakeAll(gvr kschema.GroupVersionResource, k *kind) {
	for _, o := range k.store.List() {
		c.queue.Add(key{GVR: gvr, Namespace: o.GetNamespace(), Name: o.GetName()})
	}
}

// Withdraw stops serving the instances of a definition. They and their objects stay as they are.
func (c *Controller) Withdraw(definition string) {
	c.mu.Lock()
	withdrawn := map[kschema.GroupVersionResource]kschema.GroupVersionKind{}
	for gvr, k := range c.kinds {
		if k.definition.Name == definition {
			delete(c.kinds, gvr)
			metrics.HandlerDetached()
			withdrawn[gvr] = k.gvk
		}
	}
	metrics.SetServedKinds(len(c.kinds))
	var gone []*state
	for k, s := range c.states {
		if c.kinds[k.GVR] == nil {
			gone = append(gone, s)
			delete(c.states, k)
		}
	}
	c.mu.Unlock()
	for _, s := range gone {
		c.release(s)
	}
	c.Caches.ReleaseOwner(definitionOwner(definition))
	for gvr, gvk := range withdrawn {
		metrics.ForgetKind(gvr, gvk)
	}
}

// Instances counts the instances of a definition; synced is false while they are not known.
func (c *Controller) Instances(definition string) (n int, synced bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kinds {
		if k.definition.Name == definition {
			return len(k.store.List()), k.store.Synced()
		}
	}
	return 0, false
}

// instanceChanged puts an instance into the queue.
func (c *Controller) instanceChanged(e watch.Event) {
	o := e.Object()
	k := key{GVR: e.Source.GVR, Namespace: o.GetNamespace(), Name: o.GetName()}
	c.queue.Add(k)
	if e.New != nil {
		return
	}
	c.mu.Lock()
	onGone, served := c.onGone, c.kinds[e.Source.GVR]
	c.mu.Unlock()
	if onGone != nil && served != nil {
		onGone(served.definition.Name)
	}
}

// definitionOwner is the name of a definition as an owner of watches.
func definitionOwner(name string) string { return "definition/" + name }

// nobody is the interest of an owner that keeps a watch alive without wanting its events.
var nobody = watch.Interest{Index: watch.IndexInstanceID, Value: "\x00"}

// instanceSource is the watch of the instances of a kind.
func instanceSource(gvr kschema.GroupVersionResource) watch.Source {
	return watch.Source{GVR: gvr, Anew: true}
}

// memberResources are the resources of the objects that a program creates, each once.
func memberResources(p *graph.Program) []kschema.GroupVersionResource {
	var out []kschema.GroupVersionResource
	if p == nil {
		return nil
	}
	seen := map[kschema.GroupVersionResource]bool{}
	for _, n := range p.Nodes {
		if n.Kind == graph.Template && !seen[n.Resource] {
			seen[n.Resource] = true
			out = append(out, n.Resource)
		}
	}
	return out
}

package graph

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/watch"
	"kro.run/kro/schema"
)

// resource is where Graphs are served.
var resource = v1alpha1.GroupVersion.WithResource("graphs")

// Kinds finds the resources of kinds. A kind that is not served is a *schema.NotFoundError.
type Kinds interface {
	Mapping(gk kschema.GroupKind) (gvr kschema.GroupVersionResource, namespaced bool, err error)
	schema.Resolver
}

// Deps are what the controller works with.
type Deps struct {
	// Client reads and writes the Graphs themselves, as the controller.
	Client dynamic.Interface
	// As gives a client that acts as a user. All objects of a Graph are read and written through one.
	As func(user string) (dynamic.Interface, error)
	// Revisions reads GraphRevisions from a cache, which has the index definition.ByDefinition, and writes them to the server, as the controller.
	Revisions client.Client
	// Caches hold what is known of the cluster.
	Caches follow.Caches
	Kinds  Kinds
	// Programs compiles Graphs. It must not be shared with definitions: Graphs are named namespace/name in it.
	Programs *programs.Store
	// Recorder writes events about Graphs when Options.Events is set.
	Recorder events.EventRecorder
	Log      logr.Logger
	Clock    clock.WithTicker
	Options  Options
}

// Options tune the controller. Zero values mean the defaults that are named.
type Options struct {
	// Workers is how many Graphs are reconciled at the same time. Default 4.
	Workers int
	// ApplyConcurrency bounds the writes under way over all Graphs. Default 20.
	ApplyConcurrency int
	// RetryMin and RetryMax bound the delay after a failure. Defaults 1 s and 5 min.
	RetryMin, RetryMax time.Duration
	// MaxCollectionSize bounds the items of one forEach. Default 1000.
	MaxCollectionSize int
	// MaxRevisions is how many revisions of a Graph are kept; 0 or less keeps all.
	MaxRevisions int
	// Events, EventsOfBirth and ConditionMetrics are as for instances: an event for each change of a condition, also for conditions that are True from the start, and
	// the age of each condition as a metric.
	Events, EventsOfBirth, ConditionMetrics bool
	// NeverAdopt refuses to take over existing objects that belong to nobody.
	NeverAdopt bool
	// Self is the user that the controller itself is; a Graph may not act as it. When empty nothing is refused.
	Self string
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.ApplyConcurrency <= 0 {
		o.ApplyConcurrency = 20
	}
	if o.RetryMin <= 0 {
		o.RetryMin = time.Second
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 5 * time.Minute
	}
	return o
}

// Controller serves Graphs. Use New; it is a Runnable of a controller-runtime manager and needs leader election.
type Controller struct {
	Deps
	executor *executor.Executor
	reviews  *reviews
	clients  *clients
	queue    workqueue.TypedDelayingInterface[types.NamespacedName]
	stopped  chan struct{}
	store    executor.Store // the Graphs

	mu     sync.Mutex
	states map[types.NamespacedName]*state
	// waiting are the Graphs that miss a kind which an expression gave.
	waiting map[kschema.GroupKind]map[types.NamespacedName]bool
}

// state is what is remembered of one Graph between reconciles. All of it can be lost.
type state struct {
	uid      executor.UID
	failures int
	history  history
	// compiled is the hash of the spec whose program is kept.
	compiled string
	// externals are what its references read and its patches contribute to, contested the objects of others that it wants.
	externals map[watch.Source]bool
	contested follow.Contested
	brake     executor.Brake
	// followed are the objects, of those being deleted, whose end the cache will show or has shown.
	followed map[executor.UID]bool
	// deleted are those of them that the server has agreed to delete.
	deleted map[executor.UID]bool
	// waveSince is when the present wave of a deletion was started, and wave which objects it holds.
	waveSince time.Time
	wave      string
}

// New returns a controller that has read nothing yet.
func New(deps Deps) *Controller {
	deps.Options = deps.Options.withDefaults()
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	c := &Controller{
		Deps: deps,
		executor: &executor.Executor{
			Memory:       executor.NewMemory(),
			Slots:        make(chan struct{}, deps.Options.ApplyConcurrency),
			ReadPatience: 2 * time.Second,
		},
		clients: newClients(deps.As),
		reviews: newReviews(deps.Clock),
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.NamespacedName]{
			Name: "graph-controller-queue", Clock: deps.Clock,
		}),
		stopped: make(chan struct{}),
		states:  map[types.NamespacedName]*state{},
		waiting: map[kschema.GroupKind]map[types.NamespacedName]bool{},
	}
	deps.Programs.Subscribe(func(change programs.Change) {
		if !change.First { // the first result is asked for by the reconcile itself
			c.queue.Add(parseName(change.Definition))
		}
	})
	return c
}

// NeedLeaderElection makes a manager start the controller on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start works the queue until ctx ends, and returns when the last reconcile has.
func (c *Controller) Start(ctx context.Context) error {
	if c.Options.Self == "" {
		c.Log.Info("The controller does not know its own account, so Graphs that act as it are not refused", "flags", "--controller-namespace, --controller-service-account")
	}
	c.store = c.Caches.Ensure(watch.Source{GVR: resource, Anew: true}, "graphs", func(e watch.Event) {
		c.queue.Add(types.NamespacedName{Namespace: e.Object().GetNamespace(), Name: e.Object().GetName()})
	})
	for _, g := range c.store.List() { // a cache that somebody else has read before tells nothing of what is there
		c.queue.Add(types.NamespacedName{Namespace: g.GetNamespace(), Name: g.GetName()})
	}
	var workers sync.WaitGroup
	workers.Go(func() { c.sweepLeft(ctx) })
	for range c.Options.Workers {
		workers.Go(func() {
			for c.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	close(c.stopped)
	c.queue.ShutDown()
	workers.Wait()
	return nil
}

// KindChanged tells that a kind appeared, went or changed. It does not block.
func (c *Controller) KindChanged(gk kschema.GroupKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.waiting[gk] {
		c.queue.Add(k)
	}
	delete(c.waiting, gk)
}

// await has a Graph woken when one of the kinds appears.
func (c *Controller) await(k types.NamespacedName, missing []kschema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gvk := range missing {
		if c.waiting[gvk.GroupKind()] == nil {
			c.waiting[gvk.GroupKind()] = map[types.NamespacedName]bool{}
		}
		c.waiting[gvk.GroupKind()][k] = true
	}
}

// stateOf returns the memory of a Graph; a new Graph of an old name starts afresh.
func (c *Controller) stateOf(k types.NamespacedName, graph *unstructured.Unstructured) *state {
	c.mu.Lock()
	s := c.states[k]
	if s != nil && s.uid == graph.GetUID() {
		c.mu.Unlock()
		return s
	}
	fresh := &state{
		uid:       graph.GetUID(),
		externals: map[watch.Source]bool{}, followed: map[executor.UID]bool{}, deleted: map[executor.UID]bool{},
	}
	c.states[k] = fresh
	c.mu.Unlock()
	if s != nil {
		c.release(s)
	}
	return fresh
}

// gone cleans up behind a Graph that is not there any more.
func (c *Controller) gone(ctx context.Context, k types.NamespacedName) error {
	c.mu.Lock()
	var known history
	if s := c.states[k]; s != nil {
		known = s.history
	}
	c.mu.Unlock()
	c.forget(k)
	if known.dropped {
		return nil
	}
	return c.sweep(ctx, k, known.present)
}

// forget drops all memory of a Graph that is gone.
func (c *Controller) forget(k types.NamespacedName) {
	c.mu.Lock()
	s := c.states[k]
	delete(c.states, k)
	for _, graphs := range c.waiting {
		delete(graphs, k)
	}
	c.mu.Unlock()
	c.Programs.Retain(k.String())
	metrics.ForgetInstance(resource, k.Namespace, k.Name)
	if s != nil {
		c.release(s)
	}
}

func (c *Controller) release(s *state) {
	c.executor.Memory.Forget(string(s.uid))
	c.Caches.ReleaseOwner(ownerName(s.uid))
	s.contested.Release(c.Caches, ownerName(s.uid))
}

// ownerName is the name of a Graph as an owner of watches.
func ownerName(uid executor.UID) string { return "graph/" + string(uid) }

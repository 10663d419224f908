package instance

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// Mapper finds the resource of a kind. A kind that is gone is a *schema.NotFoundError.
type Mapper interface {
	Mapping(gk kschema.GroupKind) (gvr kschema.GroupVersionResource, namespaced bool, err error)
}

// Recorder writes events about objects; record.EventRecorder does.
type Recorder interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Deps are what the controller works with.
type Deps struct {
	Client dynamic.Interface
	// Caches hold what is known of the cluster: follow.Fleet(…) of an informer fleet.
	Caches follow.Caches
	Kinds  Mapper
	// Events gives the recorder of events for a component, which they name as their source. It is asked for one a kind when Options.Events is set.
	Events func(component string) Recorder
	// Log is that of the process. Each kind has a name of its own under it.
	Log     logr.Logger
	Clock   clock.WithTicker
	Options Options
}

// Options tune the controller. Zero values mean the defaults that are named.
type Options struct {
	// Workers is how many instances are reconciled at the same time. Default 16.
	Workers int
	// ApplyConcurrency bounds the writes under way over all instances. Default 20.
	ApplyConcurrency int
	// RetryMin and RetryMax bound the delay after a failure. Defaults 200 ms and 5 min.
	RetryMin, RetryMax time.Duration
	// MaxCollectionSize bounds the items of one forEach. Default 1000.
	MaxCollectionSize int
	// StatusGraph puts the state of each node into status.graph.
	StatusGraph bool
	// NeverAdopt refuses to take over existing objects that belong to nobody.
	NeverAdopt bool
	// Events emits an event for each change of a condition.
	Events bool
	// EventsOfBirth emits events also for conditions that are True from the start, which is what nearly all are.
	EventsOfBirth bool
	// ConditionMetrics shows the age of each condition as a metric.
	ConditionMetrics bool
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.ApplyConcurrency <= 0 {
		o.ApplyConcurrency = 20
	}
	if o.RetryMin <= 0 {
		o.RetryMin = 200 * time.Millisecond
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 5 * time.Minute
	}
	return o
}

// key is one instance in the queue.
type key struct {
	GVR             kschema.GroupVersionResource
	Namespace, Name string
}

// Controller serves instances. Use New; it is a Runnable of a controller-runtime manager and needs leader election.
type Controller struct {
	Deps
	executor *executor.Executor
	queue    workqueue.TypedDelayingInterface[key]
	stopped  chan struct{}

	mu     sync.Mutex
	kinds  map[kschema.GroupVersionResource]*kind
	states map[key]*state
	onGone func(definition string)
}

// state is what is remembered of one instance between reconciles. All of it can be lost.
type state struct {
	parent   kschema.GroupVersionResource
	uid      executor.UID
	failures int
	// externals are what its references read, contested the objects of others that it wants.
	externals map[watch.Source]bool
	contested follow.Contested
	held      holdings
	brake     executor.Brake
	// accounted says that a deletion has made sure that the caches show all children.
	accounted bool
	// waveSince is when the present wave of a deletion was started, and wave which objects it holds.
	waveSince time.Time
	wave      string
}

// New returns a controller that serves nothing yet.
func New(deps Deps) *Controller {
	deps.Options = deps.Options.withDefaults()
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	return &Controller{
		Deps: deps,
		executor: &executor.Executor{
			Server:       executor.Live{Client: deps.Client},
			Memory:       executor.NewMemory(),
			Slots:        make(chan struct{}, deps.Options.ApplyConcurrency),
			ReadPatience: 2 * time.Second,
		},
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{
			Name: "dynamic-controller-queue", Clock: deps.Clock,
		}),
		stopped: make(chan struct{}),
		kinds:   map[kschema.GroupVersionResource]*kind{},
		states:  map[key]*state{},
	}
}

// NeedLeaderElection makes a manager start the controller on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start works the queue until ctx ends, and returns when the last reconcile has.
func (c *Controller) Start(ctx context.Context) error {
	var workers sync.WaitGroup
	for range c.Options.Workers {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for c.work(ctx) {
			}
		}()
	}
	<-ctx.Done()
	close(c.stopped)
	c.queue.ShutDown()
	workers.Wait()
	return nil
}

// OnInstanceGone registers a function that is called when an instance of a definition has gone. It must not block.
func (c *Controller) OnInstanceGone(f func(definition string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onGone = f
}

// stateOf returns the memory of an instance; a new instance of an old name starts afresh.
func (c *Controller) stateOf(k key, instance *unstructured.Unstructured) *state {
	c.mu.Lock()
	s := c.states[k]
	if s != nil && s.uid == instance.GetUID() {
		c.mu.Unlock()
		return s
	}
	fresh := &state{
		parent: k.GVR, uid: instance.GetUID(),
		externals: map[watch.Source]bool{},
	}
	c.states[k] = fresh
	c.mu.Unlock()
	if s != nil {
		c.release(s)
	}
	return fresh
}

// forget drops all memory of an instance that is gone.
func (c *Controller) forget(k key) {
	c.mu.Lock()
	s := c.states[k]
	delete(c.states, k)
	c.mu.Unlock()
	if s != nil {
		c.release(s)
	}
}

func (c *Controller) release(s *state) {
	c.executor.Memory.Forget(string(s.uid))
	c.Caches.ReleaseOwner(ownerName(s.uid))
	s.contested.Release(c.Caches, ownerName(s.uid))
	s.held.close(s.parent)
}

// ownerName is the name of an instance as an owner of watches.
func ownerName(uid executor.UID) string { return "instance/" + string(uid) }

package definition

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/programs"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// Delays after a failure of a definition.
const (
	retryMin = 50 * time.Millisecond
	retryMax = 5 * time.Minute
)

// Register adds the controller to a manager and lets the events reach it. What does not come through the manager's caches comes through
// CRDChanged, which the owner of the catalog must call.
func (c *Controller) Register(mgr ctrl.Manager) error {
	c.Programs.Subscribe(func(change programs.Change) {
		if !change.First {
			c.waker.wake(change.Definition)
		}
	})
	c.Instances.OnInstanceGone(c.instanceGone)
	return ctrl.NewControllerManagedBy(mgr).
		Named("ResourceGraphDefinition").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: c.Options.Workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryMin, retryMax),
		}).
		For(&v1alpha1.ResourceGraphDefinition{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: c.definitionChanged})).
		Watches(&internalv1alpha1.GraphRevision{}, handler.EnqueueRequestsFromMapFunc(definitionOf), builder.WithPredicates(predicate.Funcs{
			CreateFunc: c.revisionCreated, UpdateFunc: revisionChanged, DeleteFunc: c.revisionGone,
		})).
		WatchesRawSource(&catalogSource{waker: c.waker, catalog: c.Catalog}).
		Complete(c)
}

// definitionChanged leaves out what the controller itself writes, and other metadata that means nothing to it.
func (c *Controller) definitionChanged(e event.UpdateEvent) bool {
	allows := func(o client.Object) bool {
		return o.GetAnnotations()[v1alpha1.AllowBreakingChangesAnnotation] == "true"
	}
	adopt := func(o client.Object) string { return o.GetAnnotations()[v1alpha1.AdoptAnnotation] }
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
		allows(e.ObjectOld) != allows(e.ObjectNew) ||
		adopt(e.ObjectOld) != adopt(e.ObjectNew)
}

func (c *Controller) revisionCreated(e event.CreateEvent) bool {
	revision, ok := e.Object.(*internalv1alpha1.GraphRevision)
	return !ok || !c.notes.isIssued(revision)
}

// revisionChanged leaves out status and finalizers, which are the business of the revision controller.
func revisionChanged(e event.UpdateEvent) bool {
	return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
		!equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
}

func (c *Controller) revisionGone(e event.DeleteEvent) bool {
	if revision, ok := e.Object.(*internalv1alpha1.GraphRevision); ok {
		c.notes.gone(revision)
	}
	return true
}

func definitionOf(_ context.Context, o client.Object) []reconcile.Request {
	revision, ok := o.(*internalv1alpha1.GraphRevision)
	if !ok || revision.Spec.Graph != nil { // of a Graph
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: revision.Spec.Snapshot.Name}}}
}

// CRDChanged wakes the definitions that make, or would like to make, a CRD that changed. It does not block.
func (c *Controller) CRDChanged(change kinds.Change) {
	c.waker.wake(c.notes.claimants(change.Name)...)
}

// instanceGone wakes a definition that waits for its last instance.
func (c *Controller) instanceGone(definition string) {
	if c.notes.isLeaving(definition) {
		c.waker.wake(definition)
	}
}

// waker puts definitions into the queue from outside of the manager's caches.
type waker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// wake does nothing before the controller starts: it goes through all definitions then.
func (w *waker) wake(definitions ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		return
	}
	for _, name := range definitions {
		w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
}

// catalogSource lends the queue to the waker, and holds the controller until the CRDs of the cluster are known.
type catalogSource struct {
	waker   *waker
	catalog Catalog
}

// Start implements source.Source.
func (s *catalogSource) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.waker.mu.Lock()
	defer s.waker.mu.Unlock()
	s.waker.queue = queue
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *catalogSource) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { return s.catalog.Synced(), nil })
	if err != nil {
		return fmt.Errorf("waiting for the list of CustomResourceDefinitions: %w", err)
	}
	return nil
}

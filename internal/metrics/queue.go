package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Requeue says how an instance came back to the queue.
type Requeue string

// The values of the type label of dynamic_controller_requeue_total.
const (
	// RequeueNone: a terminal error, the instance waits for an event.
	RequeueNone Requeue = "no_requeue"
	// RequeueNow: at once.
	RequeueNow Requeue = "requeue"
	// RequeueAfter: after a delay that the reconcile asked for.
	RequeueAfter Requeue = "requeue_after"
	// RequeueRateLimited: after the back-off of a failure.
	RequeueRateLimited Requeue = "rate_limited"
)

// The metrics of the one queue that all instances share.
var (
	queueReconciles = counter("dynamic_controller_reconcile_total", "Reconciles of instances.", "gvr")
	queueRequeues   = counter("dynamic_controller_requeue_total", "Instances put back into the queue, by cause.", "gvr", "type")
	queueDuration   = histogram("dynamic_controller_reconcile_duration_seconds", "Time that a reconcile of an instance took.", slow, "gvr")
	queueErrors     = counter("dynamic_controller_handler_errors_total", "Reconciles of instances that ended in an error.", "gvr")
	queuePanics     = counter("dynamic_controller_reconcile_panics_total", "Reconciles of instances that panicked; the panic was caught.", "gvr")
	queueLength     = gauge("dynamic_controller_queue_length", "Instances waiting in the queue.")
	servedKinds     = gauge("dynamic_controller_gvr_count", "Instance kinds that are served.")
	handlers        = gauge("dynamic_controller_handler_count_total", "Event handlers attached to informers.", "type")
	handlerAttached = counter("dynamic_controller_handler_attach_total", "Event handlers attached.", "type")
	handlerDetached = counter("dynamic_controller_handler_detach_total", "Event handlers detached.", "type")
)

// parents is the type label of the handlers that watch instances.
const parents = "parent"

// QueueReconciled counts a reconcile of an instance of gvr and the time it took.
func QueueReconciled(gvr kschema.GroupVersionResource, took time.Duration) {
	queueReconciles.WithLabelValues(slashed(gvr)).Inc()
	observe(queueDuration, took, slashed(gvr))
}

// QueueRequeued counts an instance that went back into the queue.
func QueueRequeued(gvr kschema.GroupVersionResource, how Requeue) {
	queueRequeues.WithLabelValues(slashed(gvr), string(how)).Inc()
}

// QueueFailed counts a reconcile that ended in an error.
func QueueFailed(gvr kschema.GroupVersionResource) {
	queueErrors.WithLabelValues(slashed(gvr)).Inc()
}

// QueuePanicked counts a reconcile that panicked.
func QueuePanicked(gvr kschema.GroupVersionResource) {
	queuePanics.WithLabelValues(slashed(gvr)).Inc()
}

// SetQueueLength tells how many instances wait in the queue.
func SetQueueLength(n int) {
	queueLength.WithLabelValues().Set(float64(n))
}

// SetServedKinds tells how many instance kinds are served.
func SetServedKinds(n int) {
	servedKinds.WithLabelValues().Set(float64(n))
}

// HandlerAttached counts a served kind whose instances began to be watched.
func HandlerAttached() {
	handlerAttached.WithLabelValues(parents).Inc()
	handlers.WithLabelValues(parents).Inc()
}

// HandlerDetached counts a served kind whose instances are no longer watched.
func HandlerDetached() {
	handlerDetached.WithLabelValues(parents).Inc()
	handlers.WithLabelValues(parents).Dec()
}

// ForgetKind drops all series of a kind that is no longer served.
func ForgetKind(gvr kschema.GroupVersionResource, gvk kschema.GroupVersionKind) {
	for _, label := range []string{slashed(gvr), gvr.String(), gvk.String()} {
		match := prometheus.Labels{"gvr": label}
		for _, c := range []*prometheus.CounterVec{
			queueReconciles, queueRequeues, queueErrors, queuePanics,
			instanceTransitions, instanceReconciles, instanceErrors, graphResolved, graphPending, graphFailed,
		} {
			c.DeletePartialMatch(match)
		}
		queueDuration.DeletePartialMatch(match)
		instanceDuration.DeletePartialMatch(match)
	}
	informed := prometheus.Labels{"gvr": gvr.String()}
	informerSync.DeletePartialMatch(informed)
	informerEvents.DeletePartialMatch(informed)
	instanceWatches.DeletePartialMatch(prometheus.Labels{"parent_gvr": gvr.String()})
	conditionAges.forgetKind(gvr)
}

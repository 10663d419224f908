package metrics

import (
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// GraphFailure says why an instance has no graph to run.
type GraphFailure string

// The values of the reason label of instance_graph_resolution_failures_total.
const (
	// GraphNotAvailable: there is no revision at all.
	GraphNotAvailable GraphFailure = "not_available"
	// GraphFailed: there are revisions and none compiles.
	GraphFailed GraphFailure = "failed"
	// GraphUnknown: anything else.
	GraphUnknown GraphFailure = "unknown_state"
)

// The metrics of single instances.
var (
	instanceTransitions = counter("instance_state_transitions_total", "Changes of an instance's state.", "gvr", "from_state", "to_state")
	instanceDuration    = histogram("instance_reconcile_duration_seconds", "Time that a reconcile of an instance took.", slow, "gvr")
	instanceReconciles  = counter("instance_reconcile_total", "Reconciles of instances.", "gvr")
	instanceErrors      = counter("instance_reconcile_errors_total", "Reconciles of instances that ended in an error that waiting does not mend.", "gvr")
	graphResolved       = counter("instance_graph_resolution_success_total", "Reconciles that found a graph to run.", "gvr")
	graphPending        = counter("instance_graph_resolution_pending_total", "Reconciles that had to wait for a graph.", "gvr")
	graphFailed         = counter("instance_graph_resolution_failures_total", "Reconciles that found no graph to run, by cause.", "gvr", "reason")
)

// InstanceReconciled counts a reconcile and the time it took. Waiting and retryable apply failures are no errors.
func InstanceReconciled(gvr kschema.GroupVersionResource, took time.Duration, failed bool) {
	instanceReconciles.WithLabelValues(gvr.String()).Inc()
	observe(instanceDuration, took, gvr.String())
	if failed {
		instanceErrors.WithLabelValues(gvr.String()).Inc()
	}
}

// InstanceStateChanged counts a change of status.state; from is empty for a new instance. The label gvr holds the kind: other releases have it so,
// and dashboards with it.
func InstanceStateChanged(gvk kschema.GroupVersionKind, from, to string) {
	instanceTransitions.WithLabelValues(gvk.String(), from, to).Inc()
}

// GraphResolved counts a reconcile that found a graph to run.
func GraphResolved(gvr kschema.GroupVersionResource) {
	graphResolved.WithLabelValues(gvr.String()).Inc()
}

// GraphPending counts a reconcile that had to wait for a graph.
func GraphPending(gvr kschema.GroupVersionResource) {
	graphPending.WithLabelValues(gvr.String()).Inc()
}

// GraphUnresolved counts a reconcile that found no graph to run.
func GraphUnresolved(gvr kschema.GroupVersionResource, why GraphFailure) {
	graphFailed.WithLabelValues(gvr.String(), string(why)).Inc()
}

package metrics

import "time"

// The metrics of Graphs. None has the name of a Graph in it: there may be thousands, and they come and go.
var (
	graphReconciles = counter("graph_reconcile_total", "Reconciles of Graphs.")
	graphErrors     = counter("graph_reconcile_errors_total", "Reconciles of Graphs that ended in an error.")
	graphDuration   = histogram("graph_reconcile_duration_seconds", "Time that a reconcile of a Graph took.", slow)
	graphQueue      = gauge("graph_queue_length", "Graphs waiting in the queue.")
)

// GraphReconciled counts a reconcile of a Graph and the time it took.
func GraphReconciled(took time.Duration, failed bool) {
	graphReconciles.WithLabelValues().Inc()
	observe(graphDuration, took)
	if failed {
		graphErrors.WithLabelValues().Inc()
	}
}

// SetGraphQueueLength tells how many Graphs wait in the queue.
func SetGraphQueueLength(n int) { graphQueue.WithLabelValues().Set(float64(n)) }

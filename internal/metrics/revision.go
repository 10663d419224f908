package metrics

import "time"

// RevisionState is the state of a compiled graph in memory.
type RevisionState string

// The values of the state, from and to labels of the registry metrics.
const (
	RevisionPending RevisionState = "pending"
	RevisionActive  RevisionState = "active"
	RevisionFailed  RevisionState = "failed"
)

// The metrics of GraphRevisions and of the compiled graphs in memory.
var (
	compilations        = counter("graph_revision_compile_total", "Compilations of revisions.", "result")
	compilationDuration = histogram("graph_revision_compile_duration_seconds", "Time that the compilation of a revision took.", slow, "result")
	statusErrors        = counter("graph_revision_status_update_errors_total", "Status writes of revisions that failed.")
	deferred            = counter("graph_revision_activation_deferred_total", "Revisions whose verdict could not be recorded yet.")
	finalizerEvictions  = counter("graph_revision_finalizer_evictions_total", "Revisions that went with their finalizer.")
	registryEntries     = gauge("graph_revision_registry_entries", "Revisions whose graph is in memory.", "state")
	registryMoves       = counter("graph_revision_registry_transitions_total", "Changes of state of graphs in memory.", "from", "to")
	registryEvictions   = counter("graph_revision_registry_evictions_total", "Graphs dropped from memory.")
)

// RevisionCompiled counts the compilation of a revision and the time it took.
func RevisionCompiled(took time.Duration, failed bool) {
	result := "success"
	if failed {
		result = "failed"
	}
	compilations.WithLabelValues(result).Inc()
	observe(compilationDuration, took, result)
}

// RevisionStatusFailed counts a status write that failed: the verdict is recorded later.
func RevisionStatusFailed() {
	statusErrors.WithLabelValues().Inc()
	deferred.WithLabelValues().Inc()
}

// RevisionEvicted counts a revision that went with its finalizer.
func RevisionEvicted() {
	finalizerEvictions.WithLabelValues().Inc()
}

// RegistryEntered counts a graph that came into memory.
func RegistryEntered(state RevisionState) {
	registryEntries.WithLabelValues(string(state)).Inc()
}

// RegistryMoved counts a graph in memory that changed state.
func RegistryMoved(from, to RevisionState) {
	if from == to {
		return
	}
	registryMoves.WithLabelValues(string(from), string(to)).Inc()
	registryEntries.WithLabelValues(string(from)).Dec()
	registryEntries.WithLabelValues(string(to)).Inc()
}

// RegistryEvicted counts a graph that was dropped from memory.
func RegistryEvicted(state RevisionState) {
	registryEvictions.WithLabelValues().Inc()
	registryEntries.WithLabelValues(string(state)).Dec()
}

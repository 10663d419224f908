package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// IssueReason says why a revision was issued.
type IssueReason string

// The values of the reason label of rgd_graph_revision_issue_total.
const (
	IssueNoRevision  IssueReason = "no_revision"
	IssueSpecChanged IssueReason = "spec_changed"
)

// WaitReason says what a definition waits for.
type WaitReason string

// The values of the reason label of rgd_graph_revision_wait_total.
const (
	WaitWarmingUp WaitReason = "warming_up"
	WaitCompiling WaitReason = "compiling"
	WaitSettling  WaitReason = "settling"
)

// Resolution is the outcome of the search for the revision to serve.
type Resolution string

// The values of the result label of rgd_graph_revision_resolution_total.
const (
	ResolutionServe  Resolution = "serve"
	ResolutionIssue  Resolution = "issue"
	ResolutionWait   Resolution = "wait"
	ResolutionFailed Resolution = "failed"
)

// MissReason says which compiled graph was not in memory.
type MissReason string

// The values of the reason label of rgd_graph_revision_registry_miss_total.
const (
	MissNotWarmed      MissReason = "latest_not_warmed"
	MissRuntimeMissing MissReason = "runtime_entry_missing"
)

// The metrics of ResourceGraphDefinitions.
var (
	builds           = counter("rgd_graph_build_total", "Compilations of a definition.", "name")
	buildErrors      = counter("rgd_graph_build_errors_total", "Compilations of a definition that failed.", "name")
	buildDuration    = histogram("rgd_graph_build_duration_seconds", "Time that the compilation of a definition took.", slow, "name")
	definitionStates = counter("rgd_state_transitions_total", "Changes of a definition's state.", "name", "from", "to")
	deletions        = counter("rgd_deletions_total", "Definitions deleted.", "name")
	deletionDuration = histogram("rgd_deletion_duration_seconds", "Time from the deletion mark to the end of a definition.", slow, "name")
	issues           = counter("rgd_graph_revision_issue_total", "Revisions issued.", "reason")
	waits            = counter("rgd_graph_revision_wait_total", "Reconciles that had to wait for a revision.", "reason")
	resolutions      = counter("rgd_graph_revision_resolution_total", "Searches for the revision to serve, by outcome.", "result")
	registryMisses   = counter("rgd_graph_revision_registry_miss_total", "Compiled graphs that were not in memory.", "reason")
	retired          = counter("rgd_graph_revision_gc_deleted_total", "Revisions deleted by retention.")
	retireErrors     = counter("rgd_graph_revision_gc_errors_total", "Revisions that retention could not delete.")
)

// DefinitionCompiled counts a compilation of a definition and the time it took.
func DefinitionCompiled(name string, took time.Duration, failed bool) {
	builds.WithLabelValues(name).Inc()
	observe(buildDuration, took, name)
	if failed {
		buildErrors.WithLabelValues(name).Inc()
	}
}

// DefinitionStateChanged counts a change of status.state; from is empty for a new definition.
func DefinitionStateChanged(name, from, to string) {
	definitionStates.WithLabelValues(name, from, to).Inc()
}

// DefinitionDeleted counts a deletion and the time it took, and drops the other series of the definition.
func DefinitionDeleted(name string, took time.Duration) {
	match := prometheus.Labels{"name": name}
	builds.DeletePartialMatch(match)
	buildErrors.DeletePartialMatch(match)
	buildDuration.DeletePartialMatch(match)
	definitionStates.DeletePartialMatch(match)
	deletions.WithLabelValues(name).Inc()
	observe(deletionDuration, took, name)
}

// RevisionIssued counts a new revision.
func RevisionIssued(why IssueReason) {
	issues.WithLabelValues(string(why)).Inc()
}

// RevisionAwaited counts a reconcile that had to wait for a revision.
func RevisionAwaited(why WaitReason) {
	waits.WithLabelValues(string(why)).Inc()
}

// RevisionResolved counts the outcome of a search for the revision to serve.
func RevisionResolved(result Resolution) {
	resolutions.WithLabelValues(string(result)).Inc()
}

// RegistryMissed counts a compiled graph that was not in memory and had to be compiled.
func RegistryMissed(why MissReason) {
	registryMisses.WithLabelValues(string(why)).Inc()
}

// RevisionRetired counts a revision that retention deleted, or could not delete.
func RevisionRetired(err error) {
	if err != nil {
		retireErrors.WithLabelValues().Inc()
		return
	}
	retired.WithLabelValues().Inc()
}

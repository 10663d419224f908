package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of the work on a single graph: nodes and their expressions.
var (
	nodeEvaluations   = counter("runtime_node_eval_total", "Evaluations of nodes.")
	nodeErrors        = counter("runtime_node_eval_errors_total", "Evaluations of nodes that failed.")
	nodeDuration      = histogram("runtime_node_eval_duration_seconds", "Time that the evaluation of a node took.", prometheus.DefBuckets)
	runtimes          = counter("runtime_creation_total", "Passes over the graph of an instance.")
	runtimeDuration   = histogram("runtime_creation_duration_seconds", "Time to prepare a pass over the graph of an instance.", prometheus.DefBuckets)
	ignoreChecks      = counter("runtime_node_ignored_check_total", "Questions whether a node is excluded.")
	ignored           = counter("runtime_node_ignored_total", "Nodes that were excluded.")
	readyChecks       = counter("runtime_node_ready_check_total", "Questions whether a node is ready.")
	notReady          = counter("runtime_node_not_ready_total", "Nodes that were not ready.")
	collectionSize    = histogram("runtime_collection_size", "Items of collections.", prometheus.ExponentialBuckets(1, 2, 10))
	celEvaluations    = counter("cel_expr_eval_total", "Evaluations of CEL expressions.")
	celEvaluationTime = histogram("cel_expr_eval_duration_seconds", "Time that the evaluation of a CEL expression took.", prometheus.DefBuckets)
)

// Those without labels are looked up once: they are counted for every node of every pass.
var (
	nodeEvaluationsOne, nodeErrorsOne = nodeEvaluations.WithLabelValues(), nodeErrors.WithLabelValues()
	nodeDurationOne                   = nodeDuration.WithLabelValues()
	ignoreChecksOne, ignoredOne       = ignoreChecks.WithLabelValues(), ignored.WithLabelValues()
	readyChecksOne, notReadyOne       = readyChecks.WithLabelValues(), notReady.WithLabelValues()
	celEvaluationsOne                 = celEvaluations.WithLabelValues()
	celEvaluationTimeOne              = celEvaluationTime.WithLabelValues()
)

// NodeEvaluated counts the evaluation of a node and the time it took.
func NodeEvaluated(took time.Duration, failed bool) {
	nodeEvaluationsOne.Inc()
	nodeDurationOne.Observe(took.Seconds())
	if failed {
		nodeErrorsOne.Inc()
	}
}

// PassPrepared counts a pass over the graph of an instance and the time its preparation took.
func PassPrepared(took time.Duration) {
	runtimes.WithLabelValues().Inc()
	observe(runtimeDuration, took)
}

// InclusionChecked counts the question whether a node is excluded, and its answer.
func InclusionChecked(excluded bool) {
	ignoreChecksOne.Inc()
	if excluded {
		ignoredOne.Inc()
	}
}

// ReadinessChecked counts the question whether a node is ready, and its answer.
func ReadinessChecked(ready bool) {
	readyChecksOne.Inc()
	if !ready {
		notReadyOne.Inc()
	}
}

// CollectionSized records how many items a collection has.
func CollectionSized(n int) {
	collectionSize.WithLabelValues().Observe(float64(n))
}

// ExpressionsEvaluated counts so many evaluations of CEL expressions and the time they took together. Expressions take microseconds, less than
// reading the clock twice should cost them: callers measure a batch.
func ExpressionsEvaluated(n int, took time.Duration) {
	if n <= 0 {
		return
	}
	celEvaluationsOne.Add(float64(n))
	celEvaluationTimeOne.Observe(took.Seconds() / float64(n))
}

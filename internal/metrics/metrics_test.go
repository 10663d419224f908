package metrics

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientmetrics "k8s.io/client-go/tools/metrics"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var apps = kschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "apps"}

// touchAll writes every metric once, so that the registry shows it.
func touchAll() {
	second := time.Second
	GraphReconciled(second, true)
	SetGraphQueueLength(1)
	QueueReconciled(apps, second)
	QueueRequeued(apps, RequeueRateLimited)
	QueueFailed(apps)
	QueuePanicked(apps)
	SetQueueLength(1)
	SetServedKinds(1)
	HandlerAttached()
	HandlerDetached()
	InformerSynced(apps, second)
	InformerEvent(apps, "add")
	SetWatches(1)
	AddInstanceWatches(apps, 1)
	AddWatchRequests(apps, WatchScalar, 1)
	Routed(apps, 1)
	InstanceReconciled(apps, second, true)
	InstanceStateChanged(kschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, "", "ACTIVE")
	GraphResolved(apps)
	GraphPending(apps)
	GraphUnresolved(apps, GraphFailed)
	SetConditions(apps, "default", "a", []ConditionStatus{{Type: "Ready", Status: "True", Reason: "Ready", Since: time.Now()}})
	NodeEvaluated(second, true)
	PassPrepared(second)
	InclusionChecked(true)
	ReadinessChecked(false)
	CollectionSized(3)
	ExpressionsEvaluated(2, second)
	DefinitionCompiled("d", second, true)
	DefinitionStateChanged("d", "", "Active")
	DefinitionDeleted("gone", second)
	RevisionIssued(IssueNoRevision)
	RevisionAwaited(WaitSettling)
	RevisionResolved(ResolutionServe)
	RegistryMissed(MissNotWarmed)
	RevisionRetired(nil)
	RevisionRetired(errors.New("no"))
	RevisionCompiled(second, false)
	RevisionStatusFailed()
	RevisionEvicted()
	RegistryEntered(RevisionActive)
	RegistryMoved(RevisionActive, RevisionFailed)
	RegistryEvicted(RevisionFailed)
	SchemaHit()
	SchemaMiss()
	SchemaEvicted()
	SchemaShared()
	SchemaFailed()
	SetSchemas(1)
	SchemaFetched(second)
	RegisterClient()
	ctx, u := context.Background(), url.URL{Host: "h"}
	clientmetrics.RequestLatency.Observe(ctx, "GET", u, second)
	clientmetrics.RateLimiterLatency.Observe(ctx, "GET", u, second)
	clientmetrics.RequestSize.Observe(ctx, "GET", "h", 1)
	clientmetrics.ResponseSize.Observe(ctx, "GET", "h", 1)
	clientmetrics.RequestRetry.IncrementRetry(ctx, "500", "GET", "h")
}

// TestNames keeps the names and labels that dashboards know.
func TestNames(t *testing.T) {
	want := strings.Fields(`
		cel_expr_eval_duration_seconds{} cel_expr_eval_total{}
		dynamic_controller_gvr_count{} dynamic_controller_handler_attach_total{type} dynamic_controller_handler_count_total{type}
		dynamic_controller_handler_detach_total{type} dynamic_controller_handler_errors_total{gvr}
		dynamic_controller_informer_events_total{event_type,gvr} dynamic_controller_informer_sync_duration_seconds{gvr}
		dynamic_controller_instance_watch_count{parent_gvr} dynamic_controller_queue_length{}
		dynamic_controller_reconcile_duration_seconds{gvr} dynamic_controller_reconcile_panics_total{gvr} dynamic_controller_reconcile_total{gvr}
		dynamic_controller_requeue_total{gvr,type} dynamic_controller_route_match_total{gvr} dynamic_controller_route_total{gvr}
		dynamic_controller_watch_count{} dynamic_controller_watch_request_count{gvr,type}
		graph_queue_length{} graph_reconcile_duration_seconds{} graph_reconcile_errors_total{} graph_reconcile_total{}
		graph_revision_activation_deferred_total{} graph_revision_compile_duration_seconds{result} graph_revision_compile_total{result}
		graph_revision_finalizer_evictions_total{} graph_revision_registry_entries{state} graph_revision_registry_evictions_total{}
		graph_revision_registry_transitions_total{from,to} graph_revision_status_update_errors_total{}
		instance_condition_current_status_seconds{condition_status,condition_type,gvr,name,namespace,reason}
		instance_graph_resolution_failures_total{gvr,reason} instance_graph_resolution_pending_total{gvr}
		instance_graph_resolution_success_total{gvr} instance_reconcile_duration_seconds{gvr} instance_reconcile_errors_total{gvr}
		instance_reconcile_total{gvr} instance_state_transitions_total{from_state,gvr,to_state}
		rest_client_rate_limiter_duration_seconds{verb} rest_client_request_duration_seconds{verb} rest_client_request_retries_total{code,method}
		rest_client_request_size_bytes{verb} rest_client_response_size_bytes{verb}
		rgd_deletion_duration_seconds{name} rgd_deletions_total{name} rgd_graph_build_duration_seconds{name} rgd_graph_build_errors_total{name}
		rgd_graph_build_total{name} rgd_graph_revision_gc_deleted_total{} rgd_graph_revision_gc_errors_total{}
		rgd_graph_revision_issue_total{reason} rgd_graph_revision_registry_miss_total{reason} rgd_graph_revision_resolution_total{result}
		rgd_graph_revision_wait_total{reason} rgd_state_transitions_total{from,name,to}
		runtime_collection_size{} runtime_creation_duration_seconds{} runtime_creation_total{} runtime_node_eval_duration_seconds{}
		runtime_node_eval_errors_total{} runtime_node_eval_total{} runtime_node_ignored_check_total{} runtime_node_ignored_total{}
		runtime_node_not_ready_total{} runtime_node_ready_check_total{}
		schema_resolver_api_call_duration_seconds{} schema_resolver_cache_evictions_total{} schema_resolver_cache_hits_total{}
		schema_resolver_cache_misses_total{} schema_resolver_cache_size{} schema_resolver_errors_total{}
		schema_resolver_singleflight_deduplicated_total{}`)
	touchAll()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		name := family.GetName()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "controller_runtime_") ||
			strings.HasPrefix(name, "certwatcher_") || strings.HasPrefix(name, "workqueue_") || name == "rest_client_requests_total" {
			continue
		}
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		got = append(got, name+"{"+strings.Join(labels, ",")+"}")
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestSeriesOfADeletedDefinitionGo(t *testing.T) {
	DefinitionCompiled("short-lived", time.Second, false)
	DefinitionStateChanged("short-lived", "", "Active")
	before := testutil.CollectAndCount(builds)
	DefinitionDeleted("short-lived", time.Second)
	if after := testutil.CollectAndCount(builds); after != before-1 {
		t.Errorf("%d series of rgd_graph_build_total after the deletion, want %d", after, before-1)
	}
}

func TestConditionAges(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := newConditionCollector(func() time.Time { return now })
	c.set(apps, instanceKey{"ns", "a"}, []ConditionStatus{{"Ready", "True", "Ready", now.Add(-90 * time.Second)}})
	c.set(apps, instanceKey{"ns", "b"}, []ConditionStatus{{"Ready", "False", "Failed", now}})
	want := `
# HELP instance_condition_current_status_seconds Seconds since a condition of an instance took its status.
# TYPE instance_condition_current_status_seconds gauge
instance_condition_current_status_seconds{condition_status="False",condition_type="Ready",gvr="example.com/v1, Resource=apps",name="b",namespace="ns",reason="Failed"} 0
instance_condition_current_status_seconds{condition_status="True",condition_type="Ready",gvr="example.com/v1, Resource=apps",name="a",namespace="ns",reason="Ready"} 90
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	c.set(apps, instanceKey{"ns", "a"}, nil)
	if n := testutil.CollectAndCount(c); n != 1 {
		t.Errorf("%d series after an instance was forgotten, want 1", n)
	}
	c.forgetKind(apps)
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("%d series after the kind was forgotten, want 0", n)
	}
}

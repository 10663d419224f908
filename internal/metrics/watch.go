package metrics

import (
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// WatchType tells a watch of one object from a watch of many.
type WatchType string

// The values of the type label of dynamic_controller_watch_request_count.
const (
	WatchScalar     WatchType = "scalar"
	WatchCollection WatchType = "collection"
)

// The metrics of the informer fleet.
var (
	informerSync    = histogram("dynamic_controller_informer_sync_duration_seconds", "Time from the start of an informer to its first sync.", slow, "gvr")
	informerEvents  = counter("dynamic_controller_informer_events_total", "Events of informers of instances.", "gvr", "event_type")
	watches         = gauge("dynamic_controller_watch_count", "Informers that run.")
	instanceWatches = gauge("dynamic_controller_instance_watch_count", "Instances that watch something.", "parent_gvr")
	watchRequests   = gauge("dynamic_controller_watch_request_count", "Watches that instances hold.", "gvr", "type")
	routes          = counter("dynamic_controller_route_total", "Events of watched objects that were routed.", "gvr")
	routeMatches    = counter("dynamic_controller_route_match_total", "Instances that routed events woke.", "gvr")
)

// InformerSynced records how long an informer took to its first sync.
func InformerSynced(gvr kschema.GroupVersionResource, took time.Duration) {
	observe(informerSync, took, gvr.String())
}

// InformerEvent counts an event of an informer: add, update or delete.
func InformerEvent(gvr kschema.GroupVersionResource, event string) {
	informerEvents.WithLabelValues(gvr.String(), event).Inc()
}

// SetWatches tells how many informers run.
func SetWatches(n int) {
	watches.WithLabelValues().Set(float64(n))
}

// AddInstanceWatches changes the number of instances of a kind that watch something.
func AddInstanceWatches(parent kschema.GroupVersionResource, delta int) {
	instanceWatches.WithLabelValues(parent.String()).Add(float64(delta))
}

// AddWatchRequests changes the number of watches that instances hold on a kind.
func AddWatchRequests(gvr kschema.GroupVersionResource, typ WatchType, delta int) {
	watchRequests.WithLabelValues(gvr.String(), string(typ)).Add(float64(delta))
}

// Routed counts an event of a watched object that woke so many instances.
func Routed(gvr kschema.GroupVersionResource, woken int) {
	routes.WithLabelValues(gvr.String()).Inc()
	routeMatches.WithLabelValues(gvr.String()).Add(float64(woken))
}

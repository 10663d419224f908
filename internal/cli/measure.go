package cli

import (
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/watch"
)

// measureKinds lets the metrics see what the catalog of kinds does.
func measureKinds() kinds.Hooks {
	return kinds.Hooks{
		Hit:          metrics.SchemaHit,
		Miss:         metrics.SchemaMiss,
		Evicted:      metrics.SchemaEvicted,
		Deduplicated: metrics.SchemaShared,
		Failed:       metrics.SchemaFailed,
		Size:         metrics.SetSchemas,
		Call:         metrics.SchemaFetched,
	}
}

// measureWatches lets the metrics see what the informer fleet does.
func measureWatches() watch.Hooks {
	return watch.Hooks{
		Event:   metrics.InformerEvent,
		Routed:  metrics.Routed,
		Watches: metrics.SetWatches,
		Synced:  metrics.InformerSynced,
	}
}

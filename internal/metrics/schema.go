package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of the schemas that come from the cluster.
var (
	schemaHits      = counter("schema_resolver_cache_hits_total", "Schemas found in memory.")
	schemaMisses    = counter("schema_resolver_cache_misses_total", "Schemas that had to be fetched.")
	schemaEvictions = counter("schema_resolver_cache_evictions_total", "Schemas dropped from memory.")
	schemaShared    = counter("schema_resolver_singleflight_deduplicated_total", "Fetches of schemas that shared the answer of another one.")
	schemaErrors    = counter("schema_resolver_errors_total", "Fetches of schemas that failed.")
	schemaSize      = gauge("schema_resolver_cache_size", "Schemas in memory.")
	schemaCalls     = histogram("schema_resolver_api_call_duration_seconds", "Time that the fetch of a schema took.", prometheus.ExponentialBuckets(0.01, 2, 10))
)

// SchemaHit counts a schema that was in memory.
func SchemaHit() { schemaHits.WithLabelValues().Inc() }

// SchemaMiss counts a schema that had to be fetched.
func SchemaMiss() { schemaMisses.WithLabelValues().Inc() }

// SchemaEvicted counts a schema that was dropped from memory.
func SchemaEvicted() { schemaEvictions.WithLabelValues().Inc() }

// SchemaShared counts a fetch that shared the answer of another one.
func SchemaShared() { schemaShared.WithLabelValues().Inc() }

// SchemaFailed counts a fetch that failed.
func SchemaFailed() { schemaErrors.WithLabelValues().Inc() }

// SetSchemas tells how many schemas are in memory.
func SetSchemas(n int) { schemaSize.WithLabelValues().Set(float64(n)) }

// SchemaFetched records how long a fetch took.
func SchemaFetched(took time.Duration) { observe(schemaCalls, took) }

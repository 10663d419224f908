package instance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"kro.run/kro/cel"
	"kro.run/kro/engine"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/watch"
)

// gauge measures what one pass evaluates.
type gauge struct {
	clock       clock.PassiveClock
	began       time.Time
	expressions atomic.Int64
	spent       time.Duration
}

// measure begins to measure a pass. What the context returned evaluates is counted.
func (c *Controller) measure(ctx context.Context) (context.Context, *gauge) {
	g := &gauge{clock: c.Clock, began: c.Clock.Now()}
	return cel.Counting(ctx, &g.expressions), g
}

// prepared tells that the pass is about to walk its nodes.
func (g *gauge) prepared() { metrics.PassPrepared(g.clock.Since(g.began)) }

// meter is what the engine tells.
func (g *gauge) meter() engine.Meter {
	return engine.Meter{
		Node: func() func(error) {
			began := g.clock.Now()
			return func(err error) {
				took := g.clock.Since(began)
				g.spent += took
				metrics.NodeEvaluated(took, err != nil && !engine.IsPending(err))
			}
		},
		Inclusion:  metrics.InclusionChecked,
		Readiness:  metrics.ReadinessChecked,
		Collection: metrics.CollectionSized,
	}
}

// ended tells how many expressions were evaluated, and takes the time of the nodes for theirs.
func (g *gauge) ended() { metrics.ExpressionsEvaluated(int(g.expressions.Load()), g.spent) }

// holdings are the watches that an instance holds, for the metrics. It has a lock of its own: a kind may be withdrawn during a pass.
type holdings struct {
	mu      sync.Mutex
	sources map[watch.Source]bool
	closed  bool
}

// add counts a watch, once.
func (h *holdings) add(parent kschema.GroupVersionResource, source watch.Source) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.sources[source] {
		return
	}
	if len(h.sources) == 0 {
		h.sources = map[watch.Source]bool{}
		metrics.AddInstanceWatches(parent, 1)
	}
	h.sources[source] = true
	metrics.AddWatchRequests(source.GVR, watchType(source), 1)
}

// drop counts a watch that is no longer held.
func (h *holdings) drop(parent kschema.GroupVersionResource, source watch.Source) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(parent, source)
}

func (h *holdings) remove(parent kschema.GroupVersionResource, source watch.Source) {
	if !h.sources[source] {
		return
	}
	delete(h.sources, source)
	metrics.AddWatchRequests(source.GVR, watchType(source), -1)
	if len(h.sources) == 0 {
		metrics.AddInstanceWatches(parent, -1)
	}
}

// close drops all watches, for good.
func (h *holdings) close(parent kschema.GroupVersionResource) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for source := range h.sources {
		h.remove(parent, source)
	}
}

func watchType(source watch.Source) metrics.WatchType {
	if source.Name != "" {
		return metrics.WatchScalar
	}
	return metrics.WatchCollection
}

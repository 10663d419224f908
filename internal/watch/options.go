package watch

import (
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// Options tune a Fleet. The zero value is right for production.
type Options struct {
	// Backoff spaces the attempts to list and watch a source after failures. Default: 200 ms, doubled up to 30 s, with half as much again at
	// random. A source that worked for a while starts from the beginning.
	Backoff *wait.Backoff
	// Clock measures and waits. Default: the real one.
	Clock clock.WithTicker
	// Hooks are told what happens, for metrics.
	Hooks Hooks
}

// Hooks are called as things happen. They must not block. Each may be nil.
type Hooks struct {
	// Event: the watch of a resource brought a change, EventAdd, EventUpdate or EventDelete.
	Event func(gvr kschema.GroupVersionResource, kind string)
	// Routed: an event was looked up, and matched that many owners; 0 when it was left out as an own write or as no change.
	Routed func(gvr kschema.GroupVersionResource, owners int)
	// Watches: the number of sources that are watched is now n.
	Watches func(n int)
	// Synced: a source was read completely for the first time, d after it was asked for.
	Synced func(gvr kschema.GroupVersionResource, d time.Duration)
	// Failed: an attempt to list or watch failed.
	Failed func(gvr kschema.GroupVersionResource, err error)
}

// Kinds of events as Hooks.Event gets them.
const (
	EventAdd    = "add"
	EventUpdate = "update"
	EventDelete = "delete"
)

// defaultBackoff is client-go's for reflectors, but for a faster first attempt: a child whose kind has just been installed should not wait a second.
func defaultBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 32, Cap: 30 * time.Second}
}

// withDefaults fills in what the caller left out.
func (o Options) withDefaults() Options {
	if o.Backoff == nil {
		b := defaultBackoff()
		o.Backoff = &b
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Hooks.Event == nil {
		o.Hooks.Event = func(kschema.GroupVersionResource, string) {}
	}
	if o.Hooks.Routed == nil {
		o.Hooks.Routed = func(kschema.GroupVersionResource, int) {}
	}
	if o.Hooks.Watches == nil {
		o.Hooks.Watches = func(int) {}
	}
	if o.Hooks.Synced == nil {
		o.Hooks.Synced = func(kschema.GroupVersionResource, time.Duration) {}
	}
	if o.Hooks.Failed == nil {
		o.Hooks.Failed = func(kschema.GroupVersionResource, error) {}
	}
	return o
}
